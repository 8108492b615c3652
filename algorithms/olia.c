// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * OLIA, opportunistic linked increases (Khalili et al. 2012): optimal pooling, with a second term that moves window
 * from the subflows with the largest windows to better ones.
 *
 *	per acknowledged packet in congestion avoidance:  w_r += (w_r/rtt_r^2) / (sum_k w_k/rtt_k)^2 + alpha_r/w_r
 *	alpha_r = 1/(n |B \ M|) in B \ M,  -1/(n |M|) in M unless B \ M is empty,  else 0
 *	M: largest window,  B: largest l/rtt^2,  l: bytes between losses
 *	per congestion event:                             ssthresh_r = max(w_r/2, 2)
 */
#include "olia.h"

BRAID_PARAMS(olia, OLIA_PARAMS);

struct olia_public {
	struct olia_marks marks;
};

struct olia_private {
	struct olia_growth growth;
};

static void olia_init(struct braid_view *view, struct olia_private *priv, const struct olia_params *params,
		      const struct braid_event *event)
{
	olia_init_marks(view);
}

static void olia_on_ack(struct braid_view *view, struct olia_private *priv, const struct olia_params *params,
			const struct braid_event *event)
{
	u32 acked;

	if (event->grow)
		olia_limit_slow_start(view, params->slow_start);
	acked = braid_acked_in_avoidance(braid_self(view), event);
	olia_grow(view, &priv->growth, params->rounding, acked);
}

static void olia_on_loss(struct braid_view *view, struct olia_private *priv, const struct olia_params *params,
			 const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);

	priv->growth.carry = 0;
	olia_mark_loss(view);
	self->ssthresh = braid_max32(self->cwnd >> 1, olia_ssthresh_floor(view, params->slow_start));
}

BRAID_ALGORITHM(olia, OLIA_PARAMS,
		BRAID_RATES_OF_SIBLINGS | BRAID_NO_ID_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS | BRAID_RATES_OF_SELF |
			BRAID_GROWTH_ONLY,
		olia_init, BRAID_IGNORE, olia_on_ack, olia_on_loss, BRAID_IGNORE, BRAID_IGNORE)
