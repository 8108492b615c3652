// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mCompound, a reconstruction: Compound TCP on each subflow, with loss windows coupled by LIA.
 *
 *	w = cwnd + dwnd
 *	per acknowledged packet in congestion avoidance:  cwnd_r += min(max_k(w_k/rtt_k^2) / (sum_k w_k/rtt_k)^2, 1/w_r)
 *	the rest as Compound TCP, each subflow on its own
 */
#include "compound.h"
#include "lia.h"

BRAID_PARAMS(mcompound, COMPOUND_PARAMS);

struct mcompound_public {
};

struct mcompound_private {
	struct compound compound;
};

static const struct compound_params *mcompound_params_of(const struct mcompound_params *params)
{
	return (const struct compound_params *)params;
}

static void mcompound_on_ack(struct braid_view *view, struct mcompound_private *priv,
			     const struct mcompound_params *params, const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 acked = braid_acked_in_avoidance(self, event), eligible;
	u64 increase;

	if (acked == 0)
		return;
	eligible = braid_eligible(view);
	increase = braid_is_coupled(view, eligible) ? lia_increase(view, eligible) : braid_reno_increase(self->cwnd);
	compound_grow(self, &priv->compound, mcompound_params_of(params), increase, acked);
}

static void mcompound_on_loss(struct braid_view *view, struct mcompound_private *priv,
			      const struct mcompound_params *params, const struct braid_event *event)
{
	compound_reduce(braid_self(view), &priv->compound, mcompound_params_of(params), event);
}

BRAID_ALGORITHM(mcompound, COMPOUND_PARAMS,
		BRAID_RATES_OF_SIBLINGS | BRAID_NO_ID_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
			BRAID_NO_BYTES_OF_SIBLINGS,
		BRAID_IGNORE, BRAID_IGNORE, mcompound_on_ack, mcompound_on_loss, BRAID_IGNORE, BRAID_IGNORE)
