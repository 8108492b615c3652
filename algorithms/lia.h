/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* LIA's increase, for every algorithm that grows as LIA does. */
#ifndef BRAID_LIA_H
#define BRAID_LIA_H

#include "shares.h"

#define LIA_EXACT 0u
#define LIA_JIFFIES 1u

#define LIA_PARAMS(P)                                                                                                 \
	P(rounding, LIA_EXACT, 0, 2, 1, "exact|jiffies|usec",                                                         \
	  "arithmetic of the increase: exact, or the integers of the out-of-tree kernel with its RTT in jiffies (to " \
	  "v0.89) or in microseconds (later)")

struct lia_growth {
	s64 carry;   /* fraction of a packet not yet in cwnd */
	u32 counted; /* kernel rounding: ACKs since cwnd last grew */
	u32 reserved;
};

/* The subflow of max(w_k/rtt_k^2). */
struct lia_best {
	u64 share;  /* of the total rate, BRAID_SHARE_BITS fraction bits */
	u64 window; /* packets, at least 1 */
	u64 total;  /* of all windows, packets */
};

/* published: uses the windows that subflows publish, see braid_counted_window. */
braid_inline void lia_find_best(const struct braid_view *view, u32 eligible, u32 published, struct lia_best *best)
{
	u32 fastest = braid_fastest_rtt(view, eligible), i;
	u64 total = 0, best_quality = 0, best_rate = 0;

	best->window = 1;
	best->total = 0;
	braid_for_each(i, eligible)
	{
		u32 window = braid_counted_window(view, i, published);
		u64 speed = braid_speed(view, i, fastest), rate = window * speed;
		u64 quality = braid_mul_shift(rate, speed, BRAID_SPEED_BITS); /* w/rtt^2 */

		total += rate;
		best->total += window;
		if (quality > best_quality) {
			best_quality = quality;
			best_rate = rate;
			best->window = window;
		}
	}
	best->share = braid_share(best_rate, total);
}

/* max(w_k/rtt_k^2) / X^2 = s_b^2 / w_b, 32 fraction bits. */
braid_inline u64 lia_slope(const struct lia_best *best)
{
	return ((best->share * best->share / best->window) + (1u << 29)) >> (2 * BRAID_SHARE_BITS - 32);
}

/* min(max(w_k/rtt_k^2) / X^2, 1/w_r), 32 fraction bits. */
braid_inline u64 lia_increase(const struct braid_view *view, u32 eligible)
{
	struct lia_best best;

	lia_find_best(view, eligible, 0, &best);
	return braid_min(lia_slope(&best), braid_reno_increase(braid_self((struct braid_view *)view)->cwnd));
}

/* The kernel's smoothed RTT, eightfold: jiffies at 250 Hz, or microseconds. */
braid_inline u64 lia_kernel_rtt(const struct braid_subflow *subflow, u32 rounding)
{
	return rounding == LIA_JIFFIES ? braid_max32(subflow->srtt_us / 500, 1) : (u64)subflow->srtt_us << 3;
}

/* The kernel's alpha. Its scales, 32 and 10 bits, were made for jiffies; with microseconds the comparison of w/rtt^2
 * truncates to 0 and the subflow listed last, the oldest, passes for the best. */
braid_inline u64 lia_kernel_alpha(const struct braid_view *view, u32 eligible, u32 rounding)
{
	u64 best = 0, best_rtt = 1, best_window = 1, rates = 0;
	u32 i;

	for (i = 0; i < BRAID_MAX_SUBFLOWS; i++) {
		u32 k = BRAID_MAX_SUBFLOWS - 1 - i;
		u64 rtt, quality;

		if (!(eligible >> k & 1))
			continue;
		rtt = lia_kernel_rtt(&view->subflow[k], rounding);
		quality = braid_div((u64)view->subflow[k].cwnd << 32, rtt * rtt);
		if (quality >= best) {
			best = quality;
			best_rtt = rtt;
			best_window = view->subflow[k].cwnd;
		}
	}
	braid_for_each(i, eligible) rates += braid_div(((u64)view->subflow[i].cwnd << 10) * best_rtt,
						       lia_kernel_rtt(&view->subflow[i], rounding));
	return braid_max(braid_div(best_window << 32, rates * rates), 1);
}

/* How many ACKs the kernel counts before it adds a packet. */
braid_inline u64 lia_kernel_threshold(u64 alpha, u32 window)
{
	return braid_max(braid_div(1u << 12, alpha), window);
}

/* Congestion avoidance for this many acknowledged packets, coupled with the subflows of a set; Reno if self is not one
 * of several there. */
braid_inline void lia_grow_in(struct braid_view *view, struct lia_growth *growth, u32 set, u32 rounding, u32 acked)
{
	struct braid_subflow *self = braid_self(view);

	if (!braid_is_coupled(view, set)) {
		braid_grow(self, &growth->carry, (s64)braid_reno_increase(self->cwnd), acked);
	} else if (rounding == LIA_EXACT) {
		braid_grow(self, &growth->carry, (s64)lia_increase(view, set), acked);
	} else if (growth->counted >= lia_kernel_threshold(lia_kernel_alpha(view, set, rounding), self->cwnd)) {
		growth->counted = 0;
		self->cwnd = (u32)braid_min((u64)self->cwnd + 1, self->cwnd_clamp);
	} else {
		growth->counted++;
	}
}

/* The same with all eligible subflows. */
braid_inline void lia_grow(struct braid_view *view, struct lia_growth *growth, u32 rounding, u32 acked)
{
	if (acked)
		lia_grow_in(view, growth, braid_eligible(view), rounding, acked);
}

#endif
