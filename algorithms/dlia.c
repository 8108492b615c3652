// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * D-LIA (Lubna, Mahmud, Cho 2020): LIA's increase with a decrease that is smaller the sooner losses follow each other.
 *
 *	per acknowledged packet in congestion avoidance:  as LIA
 *	per congestion event:                             ssthresh_r = max(beta_r w_r, 2), beta_r from dynamic_decrease.h
 */
#include "dynamic_decrease.h"
#include "lia.h"

#define DLIA_PARAMS(P) \
	LIA_PARAMS(P)  \
	DYNAMIC_DECREASE_PARAMS(P)

BRAID_PARAMS(dlia, DLIA_PARAMS);

struct dlia_public {
};

struct dlia_private {
	struct lia_growth growth;
	struct dynamic_decrease memory;
};

static void dlia_init(struct braid_view *view, struct dlia_private *priv, const struct dlia_params *params,
		      const struct braid_event *event)
{
	dynamic_decrease_init(&priv->memory);
}

static void dlia_on_ack(struct braid_view *view, struct dlia_private *priv, const struct dlia_params *params,
			const struct braid_event *event)
{
	u32 acked = braid_acked_in_avoidance(braid_self(view), event);

	lia_grow(view, &priv->growth, params->rounding, acked);
}

static void dlia_on_loss(struct braid_view *view, struct dlia_private *priv, const struct dlia_params *params,
			 const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u64 beta;

	if (params->rounding != LIA_EXACT)
		priv->growth.carry = 0;
	priv->growth.counted = 0;
	if (params->disable_when_single && !braid_is_coupled(view, braid_eligible(view))) {
		braid_halve(self, &priv->growth.carry, 2);
		return;
	}
	beta = dynamic_decrease_beta(&priv->memory, self->cwnd, params->weight, params->beta_min, params->beta_max);
	dynamic_decrease_apply(&priv->memory, self, &priv->growth.carry, beta, params->floor);
	if (params->remember)
		dynamic_decrease_remember_before(&priv->memory, self->cwnd);
}

BRAID_ALGORITHM(dlia, DLIA_PARAMS,
		BRAID_RATES_OF_SIBLINGS | BRAID_NO_ID_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
			BRAID_NO_BYTES_OF_SIBLINGS,
		dlia_init, BRAID_IGNORE, dlia_on_ack, dlia_on_loss, BRAID_IGNORE, BRAID_IGNORE)
