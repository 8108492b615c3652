// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * EWTCP, equally weighted TCP (Honda et al. 2009; Wischik et al. 2011): each of n subflows takes an nth of one TCP.
 *
 *	per acknowledged packet in congestion avoidance:  w_r += a/w_r, a = 1/n^2
 *	per congestion event:                             ssthresh_r = max(w_r/2, 1)
 *
 * A flow's throughput is proportional to sqrt(a).
 */
#include "braid.h"

BRAID_PARAMS(ewtcp, BRAID_NO_PARAMS);

struct ewtcp_public {
};

struct ewtcp_private {
	s64 carry; /* fraction of a packet not yet in cwnd */
};

static u64 ewtcp_increase(const struct braid_view *view, u32 eligible, u32 window)
{
	u64 n = braid_is_coupled(view, eligible) ? braid_size(eligible) : 1;

	return braid_div_up(BRAID_ONE, braid_max32(window, 1) * n * n);
}

static void ewtcp_on_ack(struct braid_view *view, struct ewtcp_private *priv, const struct ewtcp_params *params,
			 const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 acked = braid_acked_in_avoidance(self, event);

	if (acked == 0)
		return;
	braid_grow(self, &priv->carry, (s64)ewtcp_increase(view, braid_eligible(view), self->cwnd), acked);
}

static void ewtcp_on_loss(struct braid_view *view, struct ewtcp_private *priv, const struct ewtcp_params *params,
			  const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);

	braid_halve(self, &priv->carry, braid_is_coupled(view, braid_eligible(view)) ? 1 : 2);
}

BRAID_ALGORITHM(ewtcp, BRAID_NO_PARAMS,
		BRAID_RATES_OF_SIBLINGS | BRAID_NO_ID_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
			BRAID_NO_BYTES_OF_SIBLINGS,
		BRAID_IGNORE, BRAID_IGNORE, ewtcp_on_ack, ewtcp_on_loss, BRAID_IGNORE, BRAID_IGNORE)
