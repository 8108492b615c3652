/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Veno's estimate of queued packets, for every algorithm that classifies losses by it. */
#ifndef BRAID_VENO_H
#define BRAID_VENO_H

#include "braid.h"

/* beta in half packets, as the estimate. */
#define VENO_PARAMS(P) P(beta, 6, 0, 2000, 2, "packets", "with fewer in the queue, the path is not congested")

BRAID_PARAMS(veno, VENO_PARAMS);

struct veno {
	s64 carry;       /* fraction of a packet not yet in cwnd */
	u32 base_rtt_us; /* smallest RTT since the last idle period; 0: no sample yet */
	u32 rtt_us;      /* smallest since the last ACK that could grow the window; 0: none */
	u32 samples;     /* RTT samples since the last return to Open, at most 3 */
	u32 queued;      /* estimate, half packets */
	u32 disabled;    /* not Open: Reno */
	u32 reserved;
};

braid_inline void veno_on_rtt(struct veno *priv, u32 rtt_us)
{
	if (rtt_us == 0)
		return;
	rtt_us = braid_min32(rtt_us, BRAID_U32_MAX - 1) + 1;
	priv->base_rtt_us = braid_min32(priv->base_rtt_us ? priv->base_rtt_us : rtt_us, rtt_us);
	priv->rtt_us = braid_min32(priv->rtt_us ? priv->rtt_us : rtt_us, rtt_us);
	priv->samples = braid_min32(priv->samples + 1, 3);
}

/* The first step of every ACK. Returns whether an estimate exists. */
braid_inline u32 veno_observe(const struct braid_subflow *self, struct veno *priv, const struct braid_event *event)
{
	u32 disabled = self->ca_state != BRAID_OPEN;

	if (priv->disabled && !disabled) {
		priv->rtt_us = 0;
		priv->samples = 0;
	}
	priv->disabled = disabled;
	veno_on_rtt(priv, event->rtt_us);
	return !disabled && priv->samples > 2;
}

/* cwnd (rtt - base) / rtt in half packets, rounded up, as Linux's difference of integers. */
braid_inline void veno_estimate(const struct braid_subflow *self, struct veno *priv)
{
	u64 twice = 2 * (u64)self->cwnd;

	if (priv->rtt_us == 0)
		return;
	priv->queued = (u32)braid_min(twice - braid_div(twice * priv->base_rtt_us, priv->rtt_us), BRAID_U32_MAX);
	priv->rtt_us = 0;
}

/* The window after a loss: four fifths unless the loss was congestion. */
braid_inline u32 veno_ssthresh(u32 cwnd, u32 congested)
{
	return congested ? braid_half(cwnd) : braid_max32((u32)((u64)cwnd * 4 / 5), 2);
}

/* Veno itself: congestion avoidance for an ACK. */
braid_inline void veno_grow(struct braid_subflow *self, struct veno *priv, const struct veno_params *params,
			    u32 estimated, u32 acked)
{
	u64 increase = braid_reno_increase(self->cwnd);

	if (estimated && priv->queued >= params->beta)
		increase >>= 1;
	braid_grow(self, &priv->carry, (s64)increase, acked);
	if (estimated)
		self->cwnd = braid_min32(braid_max32(self->cwnd, 2), self->cwnd_clamp);
}

/* A new base: the path may have changed. */
braid_inline void veno_on_idle(struct veno *priv)
{
	priv->base_rtt_us = 0;
	priv->rtt_us = 0;
	priv->samples = 0;
}

#endif
