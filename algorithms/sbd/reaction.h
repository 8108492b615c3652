/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reactions of a subflow to a detector's label.
 *
 * A reaction R is a struct R_state in private memory, public words below BRAID_VERDICT_WORD, parameters, and
 *
 *	void R_EVENT(struct braid_view *view, struct R_state *state, const struct R_params *params,
 *		     const struct braid_event *event, u32 set);
 *
 * for the events init, on_ack, on_loss, on_recovered, on_idle_restart, and for regroup: the group has changed. The set
 * is sbd_coupled's: with self alone in it a reaction equals its single-path base.
 */
#ifndef BRAID_SBD_REACTION_H
#define BRAID_SBD_REACTION_H

#include "../lia.h"
#include "../mpcubic.h"
#include "../olia.h"
#include "detector.h"

#define REACTION_IGNORES(name)                                                           \
	braid_inline void name(struct braid_view *view, void *state, const void *params, \
			       const struct braid_event *event, u32 set)                 \
	{                                                                                \
	}

/* LIA; alone Reno. */
BRAID_PARAMS(lia_reaction, LIA_PARAMS);

struct lia_reaction_state {
	struct lia_growth growth;
};

braid_inline void lia_reaction_on_ack(struct braid_view *view, struct lia_reaction_state *state,
				      const struct lia_reaction_params *params, const struct braid_event *event,
				      u32 set)
{
	u32 acked = braid_acked_in_avoidance(braid_self(view), event);

	lia_grow_in(view, &state->growth, set, params->rounding, acked);
}

braid_inline void lia_reaction_on_loss(struct braid_view *view, struct lia_reaction_state *state,
				       const struct lia_reaction_params *params, const struct braid_event *event,
				       u32 set)
{
	struct braid_subflow *self = braid_self(view);

	state->growth.counted = 0;
	braid_halve(self, &state->growth.carry, 2);
}

REACTION_IGNORES(lia_reaction_init)
REACTION_IGNORES(lia_reaction_on_recovered)
REACTION_IGNORES(lia_reaction_on_idle_restart)
REACTION_IGNORES(lia_reaction_regroup)

/* OLIA; alone Reno. */
BRAID_PARAMS(olia_reaction, OLIA_PARAMS);

struct olia_reaction_state {
	struct olia_growth growth;
};

braid_inline void olia_reaction_init(struct braid_view *view, struct olia_reaction_state *state,
				     const struct olia_reaction_params *params, const struct braid_event *event,
				     u32 set)
{
	olia_init_marks(view);
}

braid_inline void olia_reaction_on_ack(struct braid_view *view, struct olia_reaction_state *state,
				       const struct olia_reaction_params *params, const struct braid_event *event,
				       u32 set)
{
	u32 acked;

	olia_limit_slow_start_in(view, params->slow_start, set);
	acked = braid_acked_in_avoidance(braid_self(view), event);
	if (acked)
		olia_grow_in(view, &state->growth, set, params->rounding, acked);
}

braid_inline void olia_reaction_on_loss(struct braid_view *view, struct olia_reaction_state *state,
					const struct olia_reaction_params *params, const struct braid_event *event,
					u32 set)
{
	struct braid_subflow *self = braid_self(view);

	olia_mark_loss(view);
	braid_halve(self, &state->growth.carry, olia_ssthresh_floor_in(view, params->slow_start, set));
}

REACTION_IGNORES(olia_reaction_on_recovered)
REACTION_IGNORES(olia_reaction_on_idle_restart)
REACTION_IGNORES(olia_reaction_regroup)

/* MPCubic; alone CUBIC. */
BRAID_PARAMS(mpcubic_reaction, MPCUBIC_PARAMS);

struct mpcubic_reaction_state {
	struct mpcubic mpcubic;
};

braid_inline void mpcubic_reaction_init(struct braid_view *view, struct mpcubic_reaction_state *state,
					const struct mpcubic_reaction_params *params, const struct braid_event *event,
					u32 set)
{
	mpcubic_init(view, &state->mpcubic, event);
}

braid_inline void mpcubic_reaction_on_ack(struct braid_view *view, struct mpcubic_reaction_state *state,
					  const struct mpcubic_reaction_params *params, const struct braid_event *event,
					  u32 set)
{
	mpcubic_on_ack(view, &state->mpcubic, (const struct mpcubic_params *)params, event, set);
}

braid_inline void mpcubic_reaction_on_loss(struct braid_view *view, struct mpcubic_reaction_state *state,
					   const struct mpcubic_reaction_params *params,
					   const struct braid_event *event, u32 set)
{
	mpcubic_on_loss(view, &state->mpcubic, (const struct mpcubic_params *)params, event);
}

braid_inline void mpcubic_reaction_on_recovered(struct braid_view *view, struct mpcubic_reaction_state *state,
						const struct mpcubic_reaction_params *params,
						const struct braid_event *event, u32 set)
{
	mpcubic_on_recovered(&state->mpcubic, event);
}

braid_inline void mpcubic_reaction_on_idle_restart(struct braid_view *view, struct mpcubic_reaction_state *state,
						   const struct mpcubic_reaction_params *params,
						   const struct braid_event *event, u32 set)
{
	mpcubic_on_idle_restart(&state->mpcubic, event);
}

braid_inline void mpcubic_reaction_regroup(struct braid_view *view, struct mpcubic_reaction_state *state,
					   const struct mpcubic_reaction_params *params,
					   const struct braid_event *event, u32 set)
{
	mpcubic_regroup(&state->mpcubic);
}

/*
 * An algorithm from a detector and a reaction: its parameters are the reaction's and then the detector's. The detector
 * decides first, so that the reaction to the same event has the new group.
 */
#define SBD_ALGORITHM(name, table, flags, detector, first, reaction)                                               \
	BRAID_PARAMS(name, table);                                                                                 \
	struct name##_public {                                                                                     \
		struct sbd_public sbd;                                                                             \
	};                                                                                                         \
	struct name##_private {                                                                                    \
		struct reaction##_state reaction;                                                                  \
		struct detector##_state detector;                                                                  \
		u64 group; /* group known to the reaction */                                                       \
	};                                                                                                         \
	static void name##_init(struct braid_view *view, struct name##_private *priv,                              \
				const struct name##_params *params, const struct braid_event *event)               \
	{                                                                                                          \
		detector##_init(view, &priv->detector, SBD_PART(detector, params, first), event);                  \
		priv->group = sbd_group(braid_self(view));                                                         \
		reaction##_init(view, &priv->reaction, (const void *)params, event, sbd_coupled(view));            \
	}                                                                                                          \
	static u32 name##_set(struct braid_view *view, struct name##_private *priv,                                \
			      const struct name##_params *params, const struct braid_event *event)                 \
	{                                                                                                          \
		u32 group = sbd_group(braid_self(view)), set = sbd_coupled(view);                                  \
                                                                                                                   \
		if (group != priv->group)                                                                          \
			reaction##_regroup(view, &priv->reaction, (const void *)params, event, set);               \
		priv->group = group;                                                                               \
		return set;                                                                                        \
	}                                                                                                          \
	static void name##_on_ack(struct braid_view *view, struct name##_private *priv,                            \
				  const struct name##_params *params, const struct braid_event *event)             \
	{                                                                                                          \
		detector##_on_ack(view, &priv->detector, SBD_PART(detector, params, first), event);                \
		reaction##_on_ack(view, &priv->reaction, (const void *)params, event,                              \
				  name##_set(view, priv, params, event));                                          \
	}                                                                                                          \
	static void name##_on_loss(struct braid_view *view, struct name##_private *priv,                           \
				   const struct name##_params *params, const struct braid_event *event)            \
	{                                                                                                          \
		detector##_on_loss(view, &priv->detector, SBD_PART(detector, params, first), event);               \
		reaction##_on_loss(view, &priv->reaction, (const void *)params, event,                             \
				   name##_set(view, priv, params, event));                                         \
	}                                                                                                          \
	static void name##_on_recovered(struct braid_view *view, struct name##_private *priv,                      \
					const struct name##_params *params, const struct braid_event *event)       \
	{                                                                                                          \
		reaction##_on_recovered(view, &priv->reaction, (const void *)params, event, sbd_coupled(view));    \
	}                                                                                                          \
	static void name##_on_idle_restart(struct braid_view *view, struct name##_private *priv,                   \
					   const struct name##_params *params, const struct braid_event *event)    \
	{                                                                                                          \
		reaction##_on_idle_restart(view, &priv->reaction, (const void *)params, event, sbd_coupled(view)); \
	}                                                                                                          \
	BRAID_ALGORITHM(name, table, BRAID_DETECTS | (flags), name##_init, BRAID_IGNORE, name##_on_ack,            \
			name##_on_loss, name##_on_recovered, name##_on_idle_restart)

#endif
