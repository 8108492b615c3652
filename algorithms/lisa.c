// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * LISA, linked slow start (Barik et al. 2016), around another algorithm: a joining subflow takes its initial window
 * from the fastest sibling that is still in its initial slow start.
 *
 *	cwnd_m >= 20: give 10;  cwnd_m >= 6: give cwnd_m/2;  else give nothing, the new subflow gets 3
 *	cwnd_new = give, cwnd_m -= give, and m lets its window not grow for max(in_flight_m - cwnd_m, 0) packets
 *
 * The new subflow publishes the amount and the donor; the donor gives at its next ACK.
 */
#include "balia.h"
#include "lia.h"
#include "mpcubic.h"
#include "olia.h"

#define LISA_LIA 0u
#define LISA_OLIA 1u
#define LISA_BALIA 2u
#define LISA_MPCUBIC 3u
#define LISA_CUBIC 4u

#define LISA_PARAMS(P)                                                                       \
	P(cc, LISA_LIA, 0, 5, 1, "lia|olia|balia|mpcubic|cubic|reno",                        \
	  "the algorithm in congestion avoidance and at a loss, with its defaults")          \
	P(most, 10, 3, 100, 1, "packets", "maximum to give, if the donor has twice as many") \
	P(least, 3, 1, 3, 1, "packets", "initial window of a subflow if half of the donor's is smaller")

BRAID_PARAMS(lisa, LISA_PARAMS);

struct lisa_public {
	struct olia_marks marks;
	u64 taken_us;  /* when this subflow took its initial window from another; 0: never */
	u64 served_us; /* latest such time that this one, as donor, has served */
	u32 donor;     /* id of the donor */
	u32 taken;     /* packets */
};

/* The state of the chosen algorithm; each begins with the carry. */
union lisa_inner {
	s64 reno;
	struct lia_growth lia;
	struct olia_growth olia;
	s64 balia;
	struct mpcubic mpcubic;
};

struct lisa_private {
	union lisa_inner inner;
	u32 ignore; /* packets to be acknowledged before the window grows again */
	u32 reserved;
};

/* CUBIC is MPCubic without siblings. */
static u32 lisa_set(const struct braid_view *view, u32 cc)
{
	return cc == LISA_MPCUBIC ? braid_eligible(view) : 0;
}

static void lisa_inner_init(struct braid_view *view, union lisa_inner *inner, u32 cc, const struct braid_event *event)
{
	if (cc == LISA_OLIA)
		olia_init_marks(view);
	else if (cc == LISA_MPCUBIC || cc == LISA_CUBIC)
		mpcubic_init(view, &inner->mpcubic, event);
}

static void lisa_inner_on_ack(struct braid_view *view, union lisa_inner *inner, u32 cc, const struct braid_event *event)
{
	const struct mpcubic_params mpcubic = { MPCUBIC_PARAMS(BRAID_PARAM_INITIAL) };
	struct braid_subflow *self = braid_self(view);
	u32 acked;

	if (cc == LISA_MPCUBIC || cc == LISA_CUBIC) {
		mpcubic_on_ack(view, &inner->mpcubic, &mpcubic, event, lisa_set(view, cc));
		return;
	}
	acked = braid_acked_in_avoidance(self, event);
	if (cc == LISA_LIA)
		lia_grow(view, &inner->lia, LIA_EXACT, acked);
	else if (cc == LISA_OLIA)
		olia_grow(view, &inner->olia, OLIA_EXACT, acked);
	else if (cc == LISA_BALIA)
		balia_grow(view, &inner->balia, acked);
	else
		braid_grow(self, &inner->reno, (s64)braid_reno_increase(self->cwnd), acked);
}

static void lisa_inner_on_loss(struct braid_view *view, union lisa_inner *inner, u32 cc,
			       const struct braid_event *event)
{
	const struct mpcubic_params mpcubic = { MPCUBIC_PARAMS(BRAID_PARAM_INITIAL) };
	struct braid_subflow *self = braid_self(view);

	if (cc == LISA_MPCUBIC || cc == LISA_CUBIC) {
		mpcubic_on_loss(view, &inner->mpcubic, &mpcubic, event);
		return;
	}
	if (cc == LISA_BALIA) {
		balia_shrink(view, &inner->balia);
		return;
	}
	if (cc == LISA_OLIA)
		olia_mark_loss(view);
	braid_halve(self, &inner->reno, 2);
}

/* Whether subflow i is in its initial slow start and runs LISA, too: 1 or 0. */
static u32 lisa_is_candidate(const struct braid_view *view, u32 i)
{
	const struct braid_subflow *subflow = &view->subflow[i & (BRAID_MAX_SUBFLOWS - 1)];

	return braid_equal(subflow->ssthresh, BRAID_SSTHRESH_INFINITE) &
	       braid_below32(subflow->cwnd, subflow->ssthresh) &
	       braid_equal(subflow->flags & BRAID_SAME_ALGORITHM, BRAID_SAME_ALGORITHM) &
	       (1 ^ braid_equal(i, view->self));
}

/* Packets taken from a subflow that it has not given yet. The latest time goes to *latest_us. */
static u64 lisa_owed(const struct braid_view *view, u32 donor, u64 served_us, u64 *latest_us)
{
	u64 owed = 0;
	u32 i;

	for (i = 0; i < BRAID_MAX_SUBFLOWS && i < view->n; i++) {
		const struct braid_subflow *subflow = &view->subflow[i];
		const struct lisa_public *public = BRAID_PUBLIC(lisa, (struct braid_subflow *)subflow);
		u32 claims = braid_equal(subflow->flags & BRAID_SAME_ALGORITHM, BRAID_SAME_ALGORITHM) &
			     braid_equal(public->donor, donor) & braid_below(served_us, public->taken_us);

		owed += braid_select(claims, public->taken, 0);
		*latest_us = braid_max(*latest_us, braid_select(claims, public->taken_us, 0));
	}
	return owed;
}

/* The fastest sibling in initial slow start; BRAID_MAX_SUBFLOWS: none. */
static u32 lisa_donor(const struct braid_view *view)
{
	u64 window = 0, rtt = 1;
	u32 donor = BRAID_MAX_SUBFLOWS, eligible = braid_eligible(view), i;

	braid_for_each(i, eligible)
	{
		const struct braid_subflow *subflow = &view->subflow[i];
		u32 faster = lisa_is_candidate(view, i) & braid_below(window * subflow->srtt_us, subflow->cwnd * rtt);

		donor = (u32)braid_select(faster, i, donor);
		window = braid_select(faster, subflow->cwnd, window);
		rtt = braid_select(faster, subflow->srtt_us, rtt);
	}
	return donor;
}

/* A new subflow takes its initial window from a sibling, if one can give. */
static void lisa_take(struct braid_view *view, const struct lisa_params *params, u64 now_us)
{
	struct braid_subflow *self = braid_self(view);
	struct lisa_public *public = BRAID_PUBLIC(lisa, self);
	const struct braid_subflow *donor;
	u32 index = lisa_donor(view), left, give = 0;
	u64 latest_us = 0, owed;

	if (index == BRAID_MAX_SUBFLOWS)
		return;
	donor = &view->subflow[index & (BRAID_MAX_SUBFLOWS - 1)];
	owed = lisa_owed(view, donor->id, BRAID_PUBLIC(lisa, (struct braid_subflow *)donor)->served_us, &latest_us);
	left = (u32)braid_sub(donor->cwnd, owed);
	if (left >= 2 * params->most)
		give = params->most;
	else if (left >= 2 * params->least)
		give = left >> 1;
	self->cwnd = braid_min32(give ? give : params->least, braid_max32(self->cwnd_clamp, 1));
	if (give == 0)
		return;
	public->donor = donor->id;
	public->taken = give;
	public->taken_us = braid_max(now_us, 1);
}

/* The donor gives the taken packets, unless its initial slow start is over. */
static void lisa_give(struct braid_view *view, struct lisa_private *priv)
{
	struct braid_subflow *self = braid_self(view);
	struct lisa_public *public = BRAID_PUBLIC(lisa, self);
	u64 latest_us = public->served_us, owed = lisa_owed(view, self->id, latest_us, &latest_us);

	public->served_us = latest_us;
	if (owed == 0)
		return;
	self->cwnd = braid_max32((u32)braid_sub(self->cwnd, owed), 1);
	priv->ignore = (u32)braid_sub(self->in_flight, self->cwnd);
}

static void lisa_init(struct braid_view *view, struct lisa_private *priv, const struct lisa_params *params,
		      const struct braid_event *event)
{
	lisa_inner_init(view, &priv->inner, params->cc, event);
	lisa_take(view, params, event->now_us);
}

static void lisa_on_ack(struct braid_view *view, struct lisa_private *priv, const struct lisa_params *params,
			const struct braid_event *event)
{
	struct braid_event inner = *event;
	u32 ignored;

	if (braid_self(view)->ssthresh == BRAID_SSTHRESH_INFINITE) {
		lisa_give(view, priv);
		ignored = braid_min32(priv->ignore, event->grow);
		priv->ignore -= ignored;
		inner.grow -= ignored;
	}
	lisa_inner_on_ack(view, &priv->inner, params->cc, &inner);
}

static void lisa_on_loss(struct braid_view *view, struct lisa_private *priv, const struct lisa_params *params,
			 const struct braid_event *event)
{
	priv->ignore = 0;
	lisa_inner_on_loss(view, &priv->inner, params->cc, event);
}

static void lisa_on_recovered(struct braid_view *view, struct lisa_private *priv, const struct lisa_params *params,
			      const struct braid_event *event)
{
	if (params->cc == LISA_MPCUBIC || params->cc == LISA_CUBIC)
		mpcubic_on_recovered(&priv->inner.mpcubic, event);
}

static void lisa_on_idle_restart(struct braid_view *view, struct lisa_private *priv, const struct lisa_params *params,
				 const struct braid_event *event)
{
	if (params->cc == LISA_MPCUBIC || params->cc == LISA_CUBIC)
		mpcubic_on_idle_restart(&priv->inner.mpcubic, event);
}

BRAID_ALGORITHM(lisa, LISA_PARAMS,
		BRAID_RATES_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS | BRAID_NO_BYTES_OF_SIBLINGS | BRAID_RESTARTS_UNSEEN,
		lisa_init, BRAID_IGNORE, lisa_on_ack, lisa_on_loss, lisa_on_recovered, lisa_on_idle_restart)
