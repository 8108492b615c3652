// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Veno (Fu and Liew 2003, in Linux's form): Reno that distinguishes random loss from congestion by Vegas's estimate.
 *
 *	N = w (rtt - base) / rtt                               packets in the queue
 *	per acknowledged packet in congestion avoidance:  w += 1/w if N < beta, else 1/(2 w)
 *	per congestion event:                             ssthresh = max(4/5 w, 2) if N < beta, else max(w/2, 2)
 */
#include "veno.h"

struct veno_public {
};

struct veno_private {
	struct veno veno;
};

static void veno_on_ack(struct braid_view *view, struct veno_private *priv, const struct veno_params *params,
			const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 estimated = veno_observe(self, &priv->veno, event), acked;

	if (event->grow == 0 || !(event->flags & BRAID_ACK_CWND_LIMITED))
		return;
	if (estimated)
		veno_estimate(self, &priv->veno);
	acked = braid_acked_in_avoidance(self, event);
	veno_grow(self, &priv->veno, params, estimated, acked);
}

static void veno_on_loss(struct braid_view *view, struct veno_private *priv, const struct veno_params *params,
			 const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);

	priv->veno.carry = 0;
	priv->veno.disabled = 1;
	self->ssthresh = veno_ssthresh(self->cwnd, priv->veno.queued >= params->beta);
}

static void veno_on_idle_restart(struct braid_view *view, struct veno_private *priv, const struct veno_params *params,
				 const struct braid_event *event)
{
	veno_on_idle(&priv->veno);
}

BRAID_ALGORITHM(veno, VENO_PARAMS, BRAID_UNCOUPLED | BRAID_RESTARTS_UNSEEN, BRAID_IGNORE, BRAID_IGNORE, veno_on_ack,
		veno_on_loss, BRAID_IGNORE, veno_on_idle_restart)
