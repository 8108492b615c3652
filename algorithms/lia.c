// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * LIA, linked increases (RFC 6356): all subflows together take as much as one TCP on the best path.
 *
 *	per acknowledged packet in congestion avoidance:  w_r += min(max_k(w_k/rtt_k^2) / (sum_k w_k/rtt_k)^2, 1/w_r)
 *	per congestion event:                             ssthresh_r = max(w_r/2, 2)
 */
#include "lia.h"

BRAID_PARAMS(lia, LIA_PARAMS);

struct lia_public {
};

struct lia_private {
	struct lia_growth growth;
};

static void lia_on_ack(struct braid_view *view, struct lia_private *priv, const struct lia_params *params,
		       const struct braid_event *event)
{
	u32 acked = braid_acked_in_avoidance(braid_self(view), event);

	lia_grow(view, &priv->growth, params->rounding, acked);
}

static void lia_on_loss(struct braid_view *view, struct lia_private *priv, const struct lia_params *params,
			const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);

	priv->growth.carry = 0;
	priv->growth.counted = 0;
	self->ssthresh = braid_half(self->cwnd);
}

BRAID_ALGORITHM(lia, LIA_PARAMS,
		BRAID_RATES_OF_SIBLINGS | BRAID_NO_ID_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
			BRAID_NO_BYTES_OF_SIBLINGS | BRAID_RATES_OF_SELF | BRAID_GROWTH_ONLY,
		BRAID_IGNORE, BRAID_IGNORE, lia_on_ack, lia_on_loss, BRAID_IGNORE, BRAID_IGNORE)
