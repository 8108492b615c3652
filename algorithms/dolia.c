// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * D-OLIA (Lubna, Mahmud, Kim, Cho 2021): OLIA's increase; at a loss the RTT decides whether the path is congested.
 *
 *	per acknowledged packet in congestion avoidance:  as OLIA
 *	per congestion event:  congested if rtt > mid and rtt > rtt at the last loss, and after a timeout
 *	                       ssthresh_r = max(w_r/2, 2) if congested, else max(beta_r w_r, 2) as D-LIA
 *	mid: halfway between the smallest and the largest RTT of the last half second
 */
#include "dynamic_decrease.h"
#include "olia.h"

#define DOLIA_PARAMS(P)                                                                                             \
	OLIA_PARAMS(P)                                                                                              \
	DYNAMIC_DECREASE_PARAMS(P)                                                                                  \
	P(period, 500000, 1000, 100000000, 1000000, "s", "time between two checks of the smallest and largest RTT") \
	P(min_ack, 2, 0, 1000, 1, "samples", "check only with more RTT samples than this")

BRAID_PARAMS(dolia, DOLIA_PARAMS);

struct dolia_public {
	struct olia_marks marks;
};

struct dolia_private {
	struct olia_growth growth;
	struct dynamic_decrease memory;
	u64 next_look_us;     /* time of the next computation of the middle RTT */
	u32 samples;          /* RTT samples since the last computation, including its last one */
	u32 rtt_min_us;       /* smallest of them */
	u32 rtt_max_us;       /* largest of them */
	u32 rtt_mid_us;       /* middle RTT of the last computation; 0: none yet */
	u32 rtt_last_loss_us; /* RTT at the last loss */
	u32 reserved;
};

static void dolia_init(struct braid_view *view, struct dolia_private *priv, const struct dolia_params *params,
		       const struct braid_event *event)
{
	olia_init_marks(view);
	dynamic_decrease_init(&priv->memory);
	priv->rtt_min_us = BRAID_U32_MAX;
	priv->rtt_last_loss_us = 1;
}

static void dolia_on_rtt(struct dolia_private *priv, const struct dolia_params *params, const struct braid_event *event)
{
	u32 rtt_us = event->rtt_us;

	if (rtt_us == 0)
		return;
	priv->rtt_min_us = braid_min32(priv->rtt_min_us, rtt_us);
	priv->rtt_max_us = braid_max32(priv->rtt_max_us, rtt_us);
	priv->samples++;
	if (priv->samples > params->min_ack && event->now_us > priv->next_look_us) {
		priv->rtt_mid_us = (u32)(((u64)priv->rtt_min_us + priv->rtt_max_us) >> 1);
		priv->rtt_min_us = rtt_us;
		priv->rtt_max_us = rtt_us;
		priv->samples = 1;
		priv->next_look_us = event->now_us + params->period;
	}
}

static void dolia_on_ack(struct braid_view *view, struct dolia_private *priv, const struct dolia_params *params,
			 const struct braid_event *event)
{
	u32 acked;

	dolia_on_rtt(priv, params, event);
	olia_limit_slow_start(view, params->slow_start);
	acked = braid_acked_in_avoidance(braid_self(view), event);
	olia_grow(view, &priv->growth, params->rounding, acked);
}

static void dolia_on_loss(struct braid_view *view, struct dolia_private *priv, const struct dolia_params *params,
			  const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 rtt_us = self->last_rtt_us,
	    floor = braid_min32(params->floor, olia_ssthresh_floor(view, params->slow_start));
	u32 congested = event->cause == BRAID_CAUSE_RTO ||
			(rtt_us > priv->rtt_mid_us && rtt_us > priv->rtt_last_loss_us);
	u64 beta = BRAID_ONE / 2;

	if (params->rounding != OLIA_EXACT)
		priv->growth.carry = 0;
	olia_mark_loss(view);
	priv->rtt_last_loss_us = rtt_us;
	if (params->disable_when_single && !braid_is_coupled(view, braid_eligible(view))) {
		braid_halve(self, &priv->growth.carry, 2);
		return;
	}
	if (!congested)
		beta = dynamic_decrease_beta(&priv->memory, self->cwnd, params->weight, params->beta_min,
					     params->beta_max);
	dynamic_decrease_apply(&priv->memory, self, &priv->growth.carry, beta, floor);
	if (params->remember)
		dynamic_decrease_remember_before(&priv->memory, self->cwnd);
}

BRAID_ALGORITHM(dolia, DOLIA_PARAMS, BRAID_RATES_OF_SIBLINGS | BRAID_NO_ID_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS,
		dolia_init, BRAID_IGNORE, dolia_on_ack, dolia_on_loss, BRAID_IGNORE, BRAID_IGNORE)
