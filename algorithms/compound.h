/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compound TCP's delay window, for every algorithm that adds one to a loss-based window. See compound.c for the formulas. */
#ifndef BRAID_COMPOUND_H
#define BRAID_COMPOUND_H

#include "braid.h"

#define COMPOUND_PARAMS(P)                                                                                      \
	P(alpha, 125, 0, 1000, 1000, "", "growth of the delay window per RTT is alpha w^(3/4) - 1")             \
	P(beta, 500, 100, 900, 1000, "", "reduction at a congestion event, as a share of the whole window")     \
	P(gamma, 30, 1, 10000, 1, "packets", "number of its queued packets from which the path counts as busy") \
	P(zeta, 1000, 0, 10000, 1000, "", "reduction of the delay window per RTT, for each queued packet")      \
	P(low_window, 38, 1, 10000, 1, "packets", "the delay window does not change while the whole window is smaller")

BRAID_PARAMS(compound, COMPOUND_PARAMS);

struct compound {
	s64 carry;     /* fraction of a packet not yet in cwnd */
	u64 dwnd;      /* the delay window, which is part of cwnd; packets with 32 fraction bits */
	u64 round_end; /* the round ends when snd_una passes this */
};

/* The delay window is at most cwnd minus a loss window of one packet, and at most a quarter of the 32-bit range, so
 * that braid_grow can remove all of it. */
braid_inline u64 compound_dwnd(const struct braid_subflow *self, const struct compound *priv)
{
	return braid_min(priv->dwnd, (u64)(braid_clamp(self->cwnd, 1, 1u << 30) - 1) << 32);
}

/* alpha w^(3/4) - 1, at least 0, 32 fraction bits. */
braid_inline u64 compound_growth(u32 window, u32 alpha)
{
	u64 w = braid_min32(window, 1u << 20), root = braid_sqrt(w << 40); /* sqrt(w), 20 fraction bits */
	u64 power = braid_sqrt(w * root << 12);                            /* w^(3/4), 16 fraction bits */

	return braid_sub((power * alpha / 1000) << 16, BRAID_ONE);
}

/* w (1 - base/rtt), the subflow's packets in the queue, 16 fraction bits. */
braid_inline u64 compound_queued(const struct braid_subflow *self)
{
	u64 waiting = braid_sub(self->srtt_us, self->min_rtt_us);

	return braid_muldiv((u64)self->cwnd << 16, waiting, self->srtt_us);
}

/* Once per round: adjusts the delay window. */
braid_inline void compound_adjust(struct braid_subflow *self, struct compound *priv,
				  const struct compound_params *params)
{
	u64 before = compound_dwnd(self, priv), queued = compound_queued(self);

	priv->dwnd = before;
	if (self->cwnd < params->low_window || self->srtt_us == 0 || self->min_rtt_us == 0)
		return;
	if (queued < (u64)params->gamma << 16)
		priv->dwnd = before + compound_growth(self->cwnd, params->alpha);
	else
		priv->dwnd = braid_sub(before, braid_mul(queued * params->zeta / 1000, 1 << 16));
	braid_grow(self, &priv->carry, (s64)(priv->dwnd - before), 1);
}

/* Congestion avoidance: the loss window grows by the given increase per packet, the delay window changes at the end of
 * a round. */
braid_inline void compound_grow(struct braid_subflow *self, struct compound *priv, const struct compound_params *params,
				u64 increase, u32 acked)
{
	braid_grow(self, &priv->carry, (s64)increase, acked);
	if (self->snd_una > priv->round_end) {
		priv->round_end = self->snd_nxt;
		compound_adjust(self, priv, params);
	}
}

/* Halves the loss window; the whole window is reduced to (1 - beta). A timeout clears the delay window. */
braid_inline void compound_reduce(struct braid_subflow *self, struct compound *priv,
				  const struct compound_params *params, const struct braid_event *event)
{
	u64 window = braid_exact_window(self, priv->carry);
	u64 half = (window - compound_dwnd(self, priv)) >> 1;
	u64 left = braid_max(braid_muldiv(window, 1000 - params->beta, 1000), half);

	braid_reduce(self, &priv->carry, left, 2);
	priv->dwnd = event->cause == BRAID_CAUSE_RTO ? 0 : left - half;
	priv->round_end = self->snd_nxt;
}

#endif
