/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A reaction chosen by parameters: one for subflows that share a bottleneck, one for the others. If the second equals
 * the first alone, only the first exists. Otherwise the inactive one also gets losses.
 */
#ifndef BRAID_SBD_REACTIONS_H
#define BRAID_SBD_REACTIONS_H

#include "reaction.h"

enum reactions_in { REACTIONS_MPCUBIC, REACTIONS_OLIA, REACTIONS_LIA };
enum reactions_out { REACTIONS_CUBIC, REACTIONS_RENO };

#define REACTIONS_PARAMS(P)                                               \
	MPCUBIC_PARAMS(P)                                                 \
	P(in, REACTIONS_MPCUBIC, 0, REACTIONS_LIA, 1, "mpcubic|olia|lia", \
	  "growth of subflows that share a bottleneck")                   \
	P(out, REACTIONS_CUBIC, 0, REACTIONS_RENO, 1, "cubic|reno", "growth of the others")

BRAID_PARAMS(reactions, REACTIONS_PARAMS);

struct reactions_state {
	union {
		struct lia_reaction_state lia;
		struct olia_reaction_state olia;
	};
	struct mpcubic_reaction_state mpcubic;
};

/* Whether the present reaction is one by the cubic law. */
braid_inline u32 reactions_is_cubic(const struct braid_view *view, const struct reactions_params *params, u32 set)
{
	return braid_is_coupled(view, set) ? params->in == REACTIONS_MPCUBIC : params->out == REACTIONS_CUBIC;
}

/* Whether there are two reactions: a cubic law on one side only. */
braid_inline u32 reactions_are_two(const struct reactions_params *params)
{
	return (params->in == REACTIONS_MPCUBIC) != (params->out == REACTIONS_CUBIC);
}

/* Exact increases of AIMD. */
#define REACTIONS_AIMD(event_)                                                                            \
	braid_inline void reactions_aimd_##event_(struct braid_view *view, struct reactions_state *state, \
						  const struct reactions_params *params,                  \
						  const struct braid_event *event, u32 set)               \
	{                                                                                                 \
		const struct lia_reaction_params lia = { 0 };                                             \
		const struct olia_reaction_params olia = { 0 };                                           \
                                                                                                          \
		if (params->in == REACTIONS_OLIA)                                                         \
			olia_reaction_##event_(view, &state->olia, &olia, event, set);                    \
		else                                                                                      \
			lia_reaction_##event_(view, &state->lia, &lia, event, set);                       \
	}

/* The inactive one goes first: if both write a window, the other's counts. */
#define REACTIONS_EVENT(event_)                                                                                      \
	REACTIONS_AIMD(event_)                                                                                       \
	braid_inline void reactions_##event_(struct braid_view *view, struct reactions_state *state,                 \
					     const struct reactions_params *params, const struct braid_event *event, \
					     u32 set)                                                                \
	{                                                                                                            \
		const struct mpcubic_reaction_params *law = (const struct mpcubic_reaction_params *)params;          \
		u32 is_cubic = reactions_is_cubic(view, params, set), two = reactions_are_two(params);               \
                                                                                                                     \
		if (is_cubic && two)                                                                                 \
			reactions_aimd_##event_(view, state, params, event, set);                                    \
		if (is_cubic || two)                                                                                 \
			mpcubic_reaction_##event_(view, &state->mpcubic, law, event, set);                           \
		if (!is_cubic)                                                                                       \
			reactions_aimd_##event_(view, state, params, event, set);                                    \
	}

REACTIONS_EVENT(init)
REACTIONS_EVENT(on_loss)
REACTIONS_EVENT(on_recovered)
REACTIONS_EVENT(on_idle_restart)
REACTIONS_EVENT(regroup)

REACTIONS_AIMD(on_ack)

braid_inline void reactions_on_ack(struct braid_view *view, struct reactions_state *state,
				   const struct reactions_params *params, const struct braid_event *event, u32 set)
{
	if (reactions_is_cubic(view, params, set))
		mpcubic_reaction_on_ack(view, &state->mpcubic, (const struct mpcubic_reaction_params *)params, event,
					set);
	else
		reactions_aimd_on_ack(view, state, params, event, set);
}

#endif
