/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BALIA's growth and decrease, for every algorithm that uses them. */
#ifndef BRAID_BALIA_H
#define BRAID_BALIA_H

#include "shares.h"

#define BALIA_EXACT 0u

#define BALIA_PARAMS(P)                                 \
	P(rounding, BALIA_EXACT, 0, 1, 1, "exact|fork", \
	  "arithmetic: exact, or the integers of the out-of-tree kernel, where alpha is a whole number")

struct balia_growth {
	s64 carry;   /* fraction of a packet not yet in cwnd */
	u32 counted; /* fork rounding: ACKs since cwnd last grew */
	u32 reserved;
};

/* Rates of self, of the fastest subflow and of all, in any one unit. */
struct balia_rates {
	u64 self;
	u64 largest;
	u64 total;
	u64 alpha; /* fork rounding: largest / self, a whole number */
};

braid_inline void balia_add_rate(const struct braid_view *view, struct balia_rates *rates, u32 i, u64 rate)
{
	rates->total += rate;
	rates->largest = braid_max(rates->largest, rate);
	if (braid_equal(i, view->self))
		rates->self = rate;
}

braid_inline void balia_exact_rates(const struct braid_view *view, u32 eligible, struct balia_rates *rates)
{
	u32 fastest = braid_fastest_rtt(view, eligible), i;

	braid_for_each(i, eligible)
		balia_add_rate(view, rates, i, braid_rate_window(view, i) * braid_speed(view, i, fastest));
}

/* Bytes per second with self's MSS for all subflows, divided by 32 until the largest fits in 25 bits. */
braid_inline void balia_fork_rates(const struct braid_view *view, u32 eligible, struct balia_rates *rates)
{
	u32 i, shift = 0;
	u64 bound = 1u << 25, mss = braid_self((struct braid_view *)view)->mss;

	braid_for_each(i, eligible)
	{
		u64 window = mss * braid_rate_window(view, i);

		balia_add_rate(view, rates, i, braid_div(window * 1000000, view->subflow[i].srtt_us));
	}
	rates->alpha = braid_max(braid_div(rates->largest, rates->self), 1);
	for (i = 0; i < 8; i++) {
		u32 too_large = rates->largest > bound;

		shift += too_large ? 5 : 0;
		bound = too_large ? bound << 5 : bound;
	}
	rates->self = braid_shr(rates->self, shift);
	rates->largest = braid_shr(rates->largest, shift);
	rates->total = braid_shr(rates->total, shift);
}

/* (s + m) (4 s + m) / (10 w) with s = x_r/X and m = max x/X (see shares.h), 32 fraction bits. */
braid_inline u64 balia_increase(const struct balia_rates *rates, u32 window)
{
	u64 self = braid_share(rates->self, rates->total), largest = braid_share(rates->largest, rates->total);
	u64 product = (self + largest) * ((4 * self + largest) >> 2);
	u32 fraction_bits = 2 * BRAID_SHARE_BITS - 2;

	return (product / (10ull * window) + (1 << 27)) >> (fraction_bits - 32);
}

/* Number of ACKs that the kernel counts before it adds a packet. Two divisions, which also stay within 64 bits. */
braid_inline u64 balia_fork_threshold(const struct balia_rates *rates, u32 window)
{
	u64 product = braid_div(10 * rates->total * rates->total, rates->self + rates->largest);
	u64 threshold = braid_div(product * window, 4 * rates->self + rates->largest);

	return threshold ? threshold : window;
}

/* Congestion avoidance for this many acknowledged packets. */
braid_inline void balia_grow(struct braid_view *view, struct balia_growth *growth, u32 rounding, u32 acked)
{
	struct braid_subflow *self = braid_self(view);
	struct balia_rates rates = { 0 };
	u32 eligible;

	if (acked == 0)
		return;
	eligible = braid_eligible(view);
	if (!braid_is_coupled(view, eligible)) {
		braid_grow(self, &growth->carry, (s64)braid_reno_increase(self->cwnd), acked);
	} else if (rounding == BALIA_EXACT) {
		balia_exact_rates(view, eligible, &rates);
		braid_grow(self, &growth->carry, (s64)balia_increase(&rates, braid_rate_window(view, view->self)),
			   acked);
	} else {
		balia_fork_rates(view, eligible, &rates);
		if (growth->counted >= balia_fork_threshold(&rates, self->cwnd)) {
			growth->counted = 0;
			self->cwnd = (u32)braid_min((u64)self->cwnd + 1, self->cwnd_clamp);
		} else {
			growth->counted++;
		}
	}
}

/* The reduction. */
braid_inline void balia_shrink(struct braid_view *view, struct balia_growth *growth, u32 rounding)
{
	struct braid_subflow *self = braid_self(view);
	struct balia_rates rates = { 0 };
	u32 eligible = braid_eligible(view);

	growth->carry = 0;
	growth->counted = 0;
	if (!braid_is_coupled(view, eligible)) {
		self->ssthresh = braid_half(self->cwnd);
	} else if (rounding == BALIA_EXACT) {
		u64 twice, cut;

		balia_exact_rates(view, eligible, &rates);
		twice = 2 * rates.self;
		cut = braid_min(rates.largest, rates.self + (rates.self >> 1));
		braid_reduce(self, &growth->carry, braid_muldiv((u64)self->cwnd << 32, twice - cut, twice), 1);
	} else {
		u64 cut;

		balia_fork_rates(view, eligible, &rates);
		cut = ((self->cwnd >> 1) * braid_min(rates.alpha << 10, 1536)) >> 10;
		self->ssthresh = braid_max32(self->cwnd - (u32)cut, 1);
	}
}

#endif
