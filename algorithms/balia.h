/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BALIA's growth and decrease, for every algorithm that uses them. */
#ifndef BRAID_BALIA_H
#define BRAID_BALIA_H

#include "shares.h"

/* Rates of self, of the fastest subflow and of all, in any one unit. */
struct balia_rates {
	u64 self;
	u64 largest;
	u64 total;
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

/* (s + m) (4 s + m) / (10 w) with s = x_r/X and m = max x/X (see shares.h), 32 fraction bits. */
braid_inline u64 balia_increase(const struct balia_rates *rates, u32 window)
{
	u64 self = braid_share(rates->self, rates->total), largest = braid_share(rates->largest, rates->total);
	u64 product = (self + largest) * ((4 * self + largest) >> 2);
	u32 fraction_bits = 2 * BRAID_SHARE_BITS - 2;

	return (product / (10ull * window) + (1 << 27)) >> (fraction_bits - 32);
}

/* Congestion avoidance for `acked` packets. */
braid_inline void balia_grow(struct braid_view *view, s64 *carry, u32 acked)
{
	struct braid_subflow *self = braid_self(view);
	struct balia_rates rates = { 0 };
	u64 increase;
	u32 eligible;

	if (acked == 0)
		return;
	eligible = braid_eligible(view);
	if (braid_is_coupled(view, eligible)) {
		balia_exact_rates(view, eligible, &rates);
		increase = balia_increase(&rates, braid_rate_window(view, view->self));
	} else {
		increase = braid_reno_increase(self->cwnd);
	}
	braid_grow(self, carry, (s64)increase, acked);
}

/* The reduction. */
braid_inline void balia_shrink(struct braid_view *view, s64 *carry)
{
	struct braid_subflow *self = braid_self(view);
	struct balia_rates rates = { 0 };
	u32 eligible = braid_eligible(view);

	if (braid_is_coupled(view, eligible)) {
		u64 twice, cut;

		balia_exact_rates(view, eligible, &rates);
		twice = 2 * rates.self;
		cut = braid_min(rates.largest, rates.self + (rates.self >> 1));
		braid_reduce(self, carry, braid_muldiv(braid_exact_window(self, *carry), twice - cut, twice), 1);
	} else {
		braid_halve(self, carry, 2);
	}
}

#endif
