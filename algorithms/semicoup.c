// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * SEMICOUPLED (Wischik et al. 2011): more traffic on less congested paths, but some on all.
 *
 *	per acknowledged packet in congestion avoidance:  w_r += min(a/w_tot, 1/w_r), a = 1/n or 1
 *	per congestion event:                             ssthresh_r = max(w_r/2, 1)
 */
#include "shares.h"

#define SEMICOUP_FAIR 0u

#define SEMICOUP_PARAMS(P)                           \
	P(gain, SEMICOUP_FAIR, 0, 1, 1, "fair|unit", \
	  "a: 1/n, so that n subflows at one bottleneck take as much as one TCP, or 1, as in the textbook")

BRAID_PARAMS(semicoup, SEMICOUP_PARAMS);

struct semicoup_public {
};

struct semicoup_private {
	s64 carry; /* fraction of a packet not yet in cwnd */
};

static u64 semicoup_increase(const struct braid_view *view, u32 eligible, u32 gain)
{
	u64 n = gain == SEMICOUP_FAIR ? braid_size(eligible) : 1;

	return braid_div_up(BRAID_ONE, n * braid_total_window(view, eligible));
}

static void semicoup_on_ack(struct braid_view *view, struct semicoup_private *priv,
			    const struct semicoup_params *params, const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 acked = braid_acked_in_avoidance(self, event), eligible;
	u64 increase;

	if (acked == 0)
		return;
	eligible = braid_eligible(view);
	increase = braid_reno_increase(self->cwnd);
	if (braid_is_coupled(view, eligible))
		increase = braid_min(increase, semicoup_increase(view, eligible, params->gain));
	braid_grow(self, &priv->carry, (s64)increase, acked);
}

static void semicoup_on_loss(struct braid_view *view, struct semicoup_private *priv,
			     const struct semicoup_params *params, const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);

	braid_halve(self, &priv->carry, braid_is_coupled(view, braid_eligible(view)) ? 1 : 2);
}

BRAID_ALGORITHM(semicoup, SEMICOUP_PARAMS,
		BRAID_RATES_OF_SIBLINGS | BRAID_NO_ID_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
			BRAID_NO_BYTES_OF_SIBLINGS,
		BRAID_IGNORE, BRAID_IGNORE, semicoup_on_ack, semicoup_on_loss, BRAID_IGNORE, BRAID_IGNORE)
