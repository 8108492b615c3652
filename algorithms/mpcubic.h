/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Le's MPCubic over any set of subflows, for every algorithm that couples CUBIC. The set, including self, has a bit for
 * each subflow of the view (braid_eligible makes one). Without other subflows it is CUBIC, bit for bit.
 */
#ifndef BRAID_MPCUBIC_H
#define BRAID_MPCUBIC_H

#include "cubic.h"
#include "lia.h"

#define MPCUBIC_TOTAL 0u
#define MPCUBIC_SQUARED 2u
#define MPCUBIC_LITERAL 1u

#define MPCUBIC_PARAMS(P)                                                                                             \
	CUBIC_LAW_PARAMS(P)                                                                                           \
	P(delta, MPCUBIC_TOTAL, 0, 2, 1, "total|balanced|squared",                                                    \
	  "what C is scaled by: one number that makes the total rate that of one CUBIC on the best path, or one for " \
	  "each subflow that also favours the subflows with less loss, by its own window or by its square")           \
	P(law, 0, 0, 1, 1, "consistent|literal",                                                                      \
	  "below the last maximum: the curve that K was made for, or the minimum of the scaled and the plain one")    \
	P(multipath_fast_recovery, 0, 0, 1, 1, "off|on",                                                              \
	  "come back to the former window when a path that failed works again, and meanwhile leave it out")

BRAID_PARAMS(mpcubic, MPCUBIC_PARAMS);

#define MPCUBIC_DELTA_BITS 62
#define MPCUBIC_RTO_MIN_US 200000u

struct mpcubic {
	struct cubic_law law;
	u64 c;        /* delta C in the form of struct cubic_step; 0: none yet */
	u64 increase; /* LIA's increase, 32 fraction bits */
	u64 look_us;  /* both are recomputed from this time on */
	u64 heard_us; /* latest event of the subflow */
	u32 set;      /* the set that they were computed for; 0: none */
	u32 reserved;
};

braid_inline const struct cubic_law_params *mpcubic_law_of(const struct mpcubic_params *params)
{
	return (const struct cubic_law_params *)params;
}

/* (max x / sum x)^4, MPCUBIC_DELTA_BITS fraction bits. */
braid_inline u64 mpcubic_total_delta(const struct braid_view *view, u32 set)
{
	u32 fastest = braid_fastest_rtt(view, set), i;
	u64 total = 0, largest = 0, share;

	braid_for_each(i, set)
	{
		u64 rate = braid_rate_window(view, i) * braid_speed(view, i, fastest);

		total += rate;
		largest = braid_max(largest, rate);
	}
	share = braid_share(largest, total);
	share = share * share >> BRAID_SHARE_BITS;
	return share * share;
}

/*
 * The subflow b of the best quality, of which both deltas with an index take rate and RTT:
 *	balanced: min(w_r max(w_k^3/rtt_k^4) / (sum x)^4, 1)   = min(s_r s_b^3 rtt_r/rtt_b, 1)         b: max(x_k^3/rtt_k)
 *	squared:  min(w_r^2 max(w_k^2/rtt_k^4) / (sum x)^4, 1) = min((s_r s_b rtt_r/rtt_b)^2, 1)       b: max(x_k/rtt_k)
 * with s the share of the total rate (see shares.h).
 */
braid_inline u64 mpcubic_indexed_delta(const struct braid_view *view, u32 set, u32 which)
{
	u32 fastest = braid_fastest_rtt(view, set), best_rtt = 1, shift, i;
	u64 total = 0, own = 0, best = 0, best_rate = 0, own_share, share, product;

	braid_for_each(i, set)
	{
		u64 rate = braid_rate_window(view, i) * braid_speed(view, i, fastest);

		total += rate;
		own = braid_select(braid_equal(i, view->self), rate, own);
	}
	shift = braid_clz(total);
	braid_for_each(i, set)
	{
		u64 speed = braid_speed(view, i, fastest), rate = braid_rate_window(view, i) * speed;
		u64 x = braid_shl(rate, shift) >> 33; /* at most 31 bits, as s has */
		u64 cube = (x * x >> 31) * x, line = x << 31;
		u64 quality = braid_mul_shift(braid_select(braid_equal(which, MPCUBIC_SQUARED), line, cube), speed,
					      BRAID_SPEED_BITS);
		u32 better = braid_below(best, quality);

		best = braid_select(better, quality, best);
		best_rate = braid_select(better, rate, best_rate);
		best_rtt = (u32)braid_select(better, braid_rtt(&view->subflow[i]), best_rtt);
	}
	own_share = braid_share(own, total);
	share = braid_share(best_rate, total);
	if (which == MPCUBIC_SQUARED) {
		product = braid_muldiv(own_share * share, braid_rtt(braid_self((struct braid_view *)view)), best_rtt);
		product = braid_min(product, 1ull << MPCUBIC_DELTA_BITS) >> BRAID_SHARE_BITS;
		return product * product;
	}
	product = (own_share * share >> BRAID_SHARE_BITS) * (share * share >> BRAID_SHARE_BITS);
	product = braid_muldiv(product, braid_rtt(braid_self((struct braid_view *)view)), best_rtt);
	return braid_min(product, 1ull << MPCUBIC_DELTA_BITS);
}

/* A path that has been silent for this time has had two consecutive timeouts: RTO >= srtt + 200 ms, and the second
 * comes two RTO after the first. */
braid_inline u32 mpcubic_is_silent(const struct braid_subflow *subflow, u64 silent_us)
{
	return 1 ^ braid_below(silent_us, 2 * ((u64)subflow->srtt_us + MPCUBIC_RTO_MIN_US));
}

/* The set without siblings whose path has failed. */
braid_inline u32 mpcubic_alive(const struct braid_view *view, u32 set, u64 now_us)
{
	u32 i, alive = 0;

	braid_for_each(i, set)
	{
		const struct braid_subflow *subflow = &view->subflow[i];
		u64 silent_us = now_us - braid_min(subflow->last_ack_us, now_us);
		u32 failed = braid_equal(subflow->ca_state, BRAID_LOSS) & mpcubic_is_silent(subflow, silent_us) &
			     (1 ^ braid_equal(i, view->self));

		alive |= (1 ^ failed) << i;
	}
	return alive;
}

/* Applies the coupling to the step, recomputed once per RTT and whenever the set changes. */
braid_inline void mpcubic_couple(struct braid_view *view, struct mpcubic *priv, const struct mpcubic_params *params,
				 u32 set, struct cubic_step *step)
{
	u64 c = step->c;

	set = braid_is_coupled(view, set) ? set : 0;
	if (set != priv->set || step->now_us >= priv->look_us) {
		priv->increase = step->increase;
		if (set) {
			u64 delta = params->delta == MPCUBIC_TOTAL ? mpcubic_total_delta(view, set)
								   : mpcubic_indexed_delta(view, set, params->delta);

			c = braid_max(braid_mul_shift(c, delta, MPCUBIC_DELTA_BITS), 1);
			priv->increase = lia_increase(view, set);
		}
		if (priv->law.epoch_us && priv->c && priv->c != c && params->law != MPCUBIC_LITERAL)
			cubic_rescale(&priv->law, priv->c, c, step->now_us);
		priv->c = c;
		priv->set = set;
		priv->look_us = step->now_us + braid_self(view)->srtt_us;
	}
	step->c = priv->c;
	step->increase = priv->increase;
	if (params->law != MPCUBIC_LITERAL)
		step->c_below = priv->c;
}

/* A failed path works again: restores the previous window. */
braid_inline void mpcubic_come_back(struct braid_subflow *self, struct cubic_law *law,
				    const struct mpcubic_params *params, u64 now_us)
{
	cubic_reset(self, law, now_us);
	law->in_loss = 1;
	law->w_max = law->prior;
	self->ssthresh = braid_max32((u32)(braid_muldiv(law->prior, params->beta, CUBIC_BETA_SCALE) >> 32), 2);
}

braid_inline void mpcubic_init(struct braid_view *view, struct mpcubic *priv, const struct braid_event *event)
{
	cubic_begin_round(braid_self(view), &priv->law, event->now_us);
	priv->heard_us = event->now_us;
}

/* Another set, by a detector's decision: the curve restarts from the present window, towards the same W_max. */
braid_inline void mpcubic_regroup(struct mpcubic *priv)
{
	priv->law.epoch_us = 0;
}

braid_inline void mpcubic_on_ack(struct braid_view *view, struct mpcubic *priv, const struct mpcubic_params *params,
				 const struct braid_event *event, u32 set)
{
	struct braid_subflow *self = braid_self(view);
	struct cubic_step step = { 0 };
	u32 acked;

	if (params->multipath_fast_recovery && braid_is_coupled(view, set) && self->ca_state == BRAID_LOSS &&
	    mpcubic_is_silent(self, braid_sub(event->now_us, priv->heard_us)))
		mpcubic_come_back(self, &priv->law, params, event->now_us);
	priv->heard_us = event->now_us;
	acked = cubic_acked(self, &priv->law, params->hystart, event);
	if (acked == 0)
		return;
	if (params->multipath_fast_recovery)
		set = mpcubic_alive(view, set, event->now_us);
	cubic_plain_step(&step, mpcubic_law_of(params), acked, event->now_us);
	mpcubic_couple(view, priv, params, set, &step);
	cubic_grow(self, &priv->law, mpcubic_law_of(params), &step);
}

braid_inline void mpcubic_on_loss(struct braid_view *view, struct mpcubic *priv, const struct mpcubic_params *params,
				  const struct braid_event *event)
{
	cubic_reduce(braid_self(view), &priv->law, mpcubic_law_of(params), event);
	priv->heard_us = event->now_us;
}

braid_inline void mpcubic_on_recovered(struct mpcubic *priv, const struct braid_event *event)
{
	cubic_recovered(&priv->law, event);
}

braid_inline void mpcubic_on_idle_restart(struct mpcubic *priv, const struct braid_event *event)
{
	cubic_skip(&priv->law, braid_min(event->idle_us, event->now_us), event->now_us);
	priv->heard_us = event->now_us;
}

#endif
