// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * COUPLED, fully coupled (Kelly and Voice 2005, Han et al. 2006; Wischik et al. 2011): all traffic on the least
 * congested paths.
 *
 *	per acknowledged packet in congestion avoidance:  w_r += 1/w_tot
 *	per congestion event:                             ssthresh_r = max(w_r - w_tot/2, 1)
 */
#include "shares.h"

BRAID_PARAMS(coupled, BRAID_NO_PARAMS);

struct coupled_public {
};

struct coupled_private {
	s64 carry; /* fraction of a packet not yet in cwnd */
};

static void coupled_on_ack(struct braid_view *view, struct coupled_private *priv, const struct coupled_params *params,
			   const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 acked = braid_acked_in_avoidance(self, event), eligible;
	u64 increase;

	if (acked == 0)
		return;
	eligible = braid_eligible(view);
	increase = braid_reno_increase(self->cwnd);
	if (braid_is_coupled(view, eligible))
		increase = braid_min(increase, braid_div_up(BRAID_ONE, braid_total_window(view, eligible)));
	braid_grow(self, &priv->carry, (s64)increase, acked);
}

static void coupled_on_loss(struct braid_view *view, struct coupled_private *priv, const struct coupled_params *params,
			    const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 eligible = braid_eligible(view);

	if (braid_is_coupled(view, eligible)) {
		u64 twice = 2 * (u64)self->cwnd;

		braid_reduce(self, &priv->carry,
			     (braid_sub(twice, braid_total_window(view, eligible)) << 31) + ((u64)priv->carry >> 1), 1);
	} else {
		braid_halve(self, &priv->carry, 2);
	}
}

BRAID_ALGORITHM(coupled, BRAID_NO_PARAMS,
		BRAID_RATES_OF_SIBLINGS | BRAID_NO_ID_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
			BRAID_NO_BYTES_OF_SIBLINGS,
		BRAID_IGNORE, BRAID_IGNORE, coupled_on_ack, coupled_on_loss, BRAID_IGNORE, BRAID_IGNORE)
