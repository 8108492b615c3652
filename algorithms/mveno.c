// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mVeno (after its public simulator code): OLIA's growth, with Veno's test in each subflow's share of the rate.
 *
 *	x = w/rtt,  theta_r = x_r / sum_k x_k; 1 while a subflow is in slow start
 *	N_r = w_r (rtt_r - base_r) / rtt_r
 *	per acknowledged packet in congestion avoidance:  as OLIA, half of it if N_r >= beta theta_r;
 *	                                                  1/w_r while a subflow is in slow start
 *	per congestion event:  ssthresh_r = max(4/5 w_r, 2) if N_r < beta theta_r, else and after a timeout max(w_r/2, 2)
 */
#include "olia.h"
#include "veno.h"

#define MVENO_PARAMS(P) VENO_PARAMS(P)

BRAID_PARAMS(mveno, MVENO_PARAMS);

struct mveno_public {
	struct olia_marks marks;
};

struct mveno_private {
	struct veno veno;
};

/* Whether a subflow of the set is in slow start. */
static u32 mveno_any_in_slow_start(const struct braid_view *view, u32 eligible)
{
	u32 i, any = 0;

	braid_for_each(i, eligible) any |= braid_below32(view->subflow[i].cwnd, view->subflow[i].ssthresh);
	return any;
}

/* N_r >= beta theta_r, with theta_r = 1 for a subflow on its own. */
static u32 mveno_is_congested(const struct braid_view *view, const struct veno *priv, u32 eligible, u32 beta)
{
	u32 fastest = braid_fastest_rtt(view, eligible), i;
	u64 total = 0, own = 0;

	if (!braid_is_coupled(view, eligible) || mveno_any_in_slow_start(view, eligible))
		return priv->queued >= beta;
	braid_for_each(i, eligible)
	{
		u64 rate = braid_rate_window(view, i) * braid_speed(view, i, fastest);

		total += rate;
		own = braid_select(braid_equal(i, view->self), rate, own);
	}
	return 1 ^ braid_product_below(priv->queued, total, beta, own);
}

static void mveno_init(struct braid_view *view, struct mveno_private *priv, const struct mveno_params *params,
		       const struct braid_event *event)
{
	olia_init_marks(view);
}

/* Congestion avoidance beside other subflows. */
static void mveno_grow(struct braid_view *view, struct veno *priv, u32 eligible, u32 congested, u32 acked)
{
	struct braid_subflow *self = braid_self(view);
	struct olia_sets sets = { .eligible = eligible };
	s64 increase;

	if (mveno_any_in_slow_start(view, eligible)) {
		increase = (s64)braid_reno_increase(self->cwnd);
	} else {
		olia_classify(view, &sets);
		increase = olia_increase(view, &sets);
	}
	braid_grow(self, &priv->carry, congested ? increase >> 1 : increase, acked);
}

static void mveno_on_ack(struct braid_view *view, struct mveno_private *priv, const struct mveno_params *params,
			 const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 estimated = veno_observe(self, &priv->veno, event), eligible, acked;

	if (event->grow == 0 || !(event->flags & BRAID_ACK_CWND_LIMITED))
		return;
	if (estimated)
		veno_estimate(self, &priv->veno);
	acked = braid_acked_in_avoidance(self, event);
	eligible = braid_eligible(view);
	if (!braid_is_coupled(view, eligible)) {
		veno_grow(self, &priv->veno, (const struct veno_params *)params, estimated, acked);
	} else if (acked) {
		u32 congested = estimated && mveno_is_congested(view, &priv->veno, eligible, params->beta);

		mveno_grow(view, &priv->veno, eligible, congested, acked);
	}
}

static void mveno_on_loss(struct braid_view *view, struct mveno_private *priv, const struct mveno_params *params,
			  const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 eligible = braid_eligible(view);
	u32 congested = mveno_is_congested(view, &priv->veno, eligible, params->beta);

	if (event->cause == BRAID_CAUSE_RTO && braid_is_coupled(view, eligible))
		congested = 1;
	priv->veno.carry = 0;
	priv->veno.disabled = 1;
	olia_mark_loss(view);
	self->ssthresh = veno_ssthresh(self->cwnd, congested);
}

static void mveno_on_idle_restart(struct braid_view *view, struct mveno_private *priv,
				  const struct mveno_params *params, const struct braid_event *event)
{
	veno_on_idle(&priv->veno);
}

BRAID_ALGORITHM(mveno, MVENO_PARAMS,
		BRAID_RATES_OF_SIBLINGS | BRAID_NO_ID_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS | BRAID_RESTARTS_UNSEEN,
		mveno_init, BRAID_IGNORE, mveno_on_ack, mveno_on_loss, BRAID_IGNORE, mveno_on_idle_restart)
