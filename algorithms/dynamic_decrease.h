/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * D-LIA's decrease (Lubna, Mahmud, Cho 2020): the shorter the time since the last loss, the gentler the cut.
 *
 *	gamma = min(window after the last cut / window now, 1)
 *	beta  = gamma/4 + 3/4 last beta, within [0.5, 0.9];  w = beta w
 */
#ifndef BRAID_DYNAMIC_DECREASE_H
#define BRAID_DYNAMIC_DECREASE_H

#include "braid.h"

#define DYNAMIC_DECREASE_SCALE 10000u

#define DYNAMIC_DECREASE_PARAMS(P)                                                                      \
	P(weight, 2500, 0, 10000, 10000, "",                                                            \
	  "weight of the newest window ratio in the share of the window left by a loss")                \
	P(beta_min, 5000, 100, 10000, 10000, "", "smallest share of the window left by a loss")         \
	P(beta_max, 9000, 100, 10000, 10000, "", "largest share of the window left by a loss")          \
	P(floor, 2, 1, 2, 1, "packets", "smallest window left by a loss: 2 as TCP, 1 as the papers")    \
	P(remember, 0, 0, 1, 1, "after|before", "window stored at a loss: after the cut, or before it") \
	P(disable_when_single, 0, 0, 1, 1, "off|on", "halve, as Reno does, while there is only one subflow")

struct dynamic_decrease {
	u64 window; /* after the last cut, packets with 32 fraction bits */
	u64 beta;   /* share kept by the last cut, 32 fraction bits */
};

braid_inline void dynamic_decrease_init(struct dynamic_decrease *memory)
{
	memory->window = BRAID_ONE;
	memory->beta = BRAID_ONE / 2;
}

/* Share of a window to keep, 32 fraction bits. Parameters in 1/DYNAMIC_DECREASE_SCALE; if they cross, the smaller bound
 * counts. */
braid_inline u64 dynamic_decrease_beta(const struct dynamic_decrease *memory, u32 cwnd, u32 weight, u32 low, u32 high)
{
	u64 gamma = braid_min(braid_div(memory->window, cwnd), BRAID_ONE);
	u64 beta = (weight * gamma + (DYNAMIC_DECREASE_SCALE - weight) * memory->beta) / DYNAMIC_DECREASE_SCALE;

	return braid_clamp(beta, low * BRAID_ONE / DYNAMIC_DECREASE_SCALE, high * BRAID_ONE / DYNAMIC_DECREASE_SCALE);
}

/* Keeps that share of the window and stores both. */
braid_inline void dynamic_decrease_apply(struct dynamic_decrease *memory, struct braid_subflow *self, s64 *carry,
					 u64 beta, u32 floor)
{
	u64 window = braid_mul_shift(braid_exact_window(self, *carry), beta, 32);

	braid_reduce(self, carry, window, floor);
	memory->window = ((u64)self->ssthresh << 32) + (u64)*carry;
	memory->beta = beta;
}

/* After dynamic_decrease_apply(): stores the window before the cut instead, the other reading of "the window at the
 * last loss". */
braid_inline void dynamic_decrease_remember_before(struct dynamic_decrease *memory, u32 cwnd)
{
	memory->window = (u64)cwnd << 32;
}

#endif
