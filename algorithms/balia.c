// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * BALIA, balanced linked adaptation (Peng, Walid, Hwang, Low 2016): increase and decrease both depend on how far the
 * subflow's rate is from the fastest one's, which balances friendliness against responsiveness.
 *
 *	x = w/rtt,  alpha_r = max_k(x_k) / x_r
 *	per acknowledged packet in congestion avoidance:
 *		w_r += (x_r/rtt_r) / (sum_k x_k)^2 * (1 + alpha_r)/2 * (4 + alpha_r)/5
 *	per congestion event:  ssthresh_r = max(w_r - w_r/2 * min(alpha_r, 3/2), 1)
 */
#include "balia.h"

BRAID_PARAMS(balia, BALIA_PARAMS);

struct balia_public {
};

struct balia_private {
	struct balia_growth growth;
};

static void balia_on_ack(struct braid_view *view, struct balia_private *priv, const struct balia_params *params,
			 const struct braid_event *event)
{
	u32 acked = braid_acked_in_avoidance(braid_self(view), event);

	balia_grow(view, &priv->growth, params->rounding, acked);
}

static void balia_on_loss(struct braid_view *view, struct balia_private *priv, const struct balia_params *params,
			  const struct braid_event *event)
{
	balia_shrink(view, &priv->growth, params->rounding);
}

BRAID_ALGORITHM(balia, BALIA_PARAMS,
		BRAID_RATES_OF_SIBLINGS | BRAID_NO_ID_OF_SIBLINGS | BRAID_NO_BYTES_OF_SIBLINGS | BRAID_RATES_OF_SELF |
			BRAID_GROWTH_ONLY,
		BRAID_IGNORE, BRAID_IGNORE, balia_on_ack, balia_on_loss, BRAID_IGNORE, BRAID_IGNORE)
