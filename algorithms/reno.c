// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reno: the AIMD baseline (RFC 5681), each subflow by itself.
 *
 *	per acknowledged packet in congestion avoidance:  w += 1/w
 *	per congestion event:                             ssthresh = max(w/2, 2)
 */
#include "braid.h"

#define RENO_EXACT 0u

#define RENO_PARAMS(P) \
	P(rounding, RENO_EXACT, 0, 1, 1, "exact|linux", "fractions of a packet count, or whole packets as in Linux")

BRAID_PARAMS(reno, RENO_PARAMS);

struct reno_public {
};

struct reno_private {
	s64 carry;   /* fraction of a packet not yet in cwnd */
	u32 counted; /* linux: packets acknowledged since the last one was added */
	u32 reserved;
};

static void reno_on_ack(struct braid_view *view, struct reno_private *priv, const struct reno_params *params,
			const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 acked = braid_acked_in_avoidance(self, event);

	if (params->rounding == RENO_EXACT)
		braid_grow(self, &priv->carry, (s64)braid_reno_increase(self->cwnd), acked);
	else if (acked)
		braid_count(self, &priv->counted, self->cwnd, acked);
}

static void reno_on_loss(struct braid_view *view, struct reno_private *priv, const struct reno_params *params,
			 const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);

	priv->counted = 0;
	braid_halve(self, &priv->carry, 2);
}

BRAID_ALGORITHM(reno, RENO_PARAMS, BRAID_UNCOUPLED | BRAID_RATES_OF_SELF | BRAID_GROWTH_ONLY, BRAID_IGNORE,
		BRAID_IGNORE, reno_on_ack, reno_on_loss, BRAID_IGNORE, BRAID_IGNORE)
