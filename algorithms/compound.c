// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Compound TCP (Tan, Song, Zhang, Sridharan 2006): Reno's window plus one that grows fast while the path is idle.
 *
 *	w = cwnd + dwnd
 *	per acknowledged packet in congestion avoidance:  cwnd += 1/w
 *	once per round, from 38 packets on, with queued = w (1 - base/rtt):
 *		dwnd += max(alpha w^(3/4) - 1, 0) if queued < gamma, else dwnd = max(dwnd - zeta queued, 0)
 *	per congestion event:  cwnd = cwnd/2, dwnd = max((1 - beta) w - cwnd/2, 0), w not under 2; dwnd = 0 after a timeout
 */
#include "compound.h"

struct compound_public {
};

struct compound_private {
	struct compound compound;
};

static void compound_on_ack(struct braid_view *view, struct compound_private *priv,
			    const struct compound_params *params, const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 acked = braid_acked_in_avoidance(self, event);

	if (acked)
		compound_grow(self, &priv->compound, params, braid_reno_increase(self->cwnd), acked);
}

static void compound_on_loss(struct braid_view *view, struct compound_private *priv,
			     const struct compound_params *params, const struct braid_event *event)
{
	compound_reduce(braid_self(view), &priv->compound, params, event);
}

BRAID_ALGORITHM(compound, COMPOUND_PARAMS, BRAID_UNCOUPLED, BRAID_IGNORE, BRAID_IGNORE, compound_on_ack,
		compound_on_loss, BRAID_IGNORE, BRAID_IGNORE)
