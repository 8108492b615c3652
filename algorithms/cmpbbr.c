// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * C-MPBBR (Mahmud et al. 2020): BBR on each subflow, with a common share of a common bottleneck.
 *
 *	at each ACK in the fourth phase of the gains' cycle:
 *	alike = subflows whose bw is within 20 % of self's, self among them
 *	N     = alike if there were others at the last comparison, too; the last number if there are none now; else 1
 *	bw    is divided by N, but for the two phases that probe and drain
 *
 *	there, too: if all subflows together have delivered less than 60 % of the best one's bw for five
 *	ACKs, and N is 1, the one with the least bw stops
 */
#include "bbr.h"

#define CMPBBR_PARAMS(P)                                                                                       \
	BBR_PARAMS_BY(P, BBR_LINUX49)                                                                          \
	P(alike, 200, 0, 1000, 1000, "", "estimates within this share of each other belong to one bottleneck") \
	P(check, 1, 0, 1, 1, "cycle|ack", "compare once per cycle, or at each ACK of its fourth phase")        \
	P(benefit, 600, 0, 1000, 1000, "", "share of the best estimate that all subflows together must reach") \
	P(patience, 5, 0, 1000, 1, "ACKs", "time without that benefit before the slowest subflow stops; 0: never")

BRAID_PARAMS(cmpbbr, CMPBBR_PARAMS);

#define CMPBBR_PHASE 3u

struct cmpbbr_public {
	u32 bw;        /* 0: none yet, or stopped */
	u32 delivered; /* at since_us */
	u64 since_us;  /* start of the interval checked by the policer: of the subflow, or of its last reset */
};

struct cmpbbr_private {
	struct bbr_state state;
	u32 sharers; /* N */
	u32 alike;   /* in the last cycle */
	u32 useless; /* consecutive ACKs without benefit */
	u32 stopped;
};

/* Sums over the subflows on this algorithm. */
struct cmpbbr_sums {
	u64 delivered; /* packets per microsecond, all subflows together */
	u32 n;
	u32 alike;
	u32 best_bw;
	u32 least_bw;
	u32 best;
	u32 least;
};

braid_inline void cmpbbr_sum(struct cmpbbr_sums *sums, const struct braid_view *view, u64 own_bw, u64 alike, u64 now_us)
{
	u32 i;

	*sums = (struct cmpbbr_sums){ .least_bw = BRAID_U32_MAX };
	braid_for_each(i, braid_eligible(view))
	{
		const struct braid_subflow *subflow = &view->subflow[i];
		const struct cmpbbr_public *shown = BRAID_PUBLIC(cmpbbr, subflow);
		u32 bw = shown->bw * (subflow->flags / BRAID_SAME_ALGORITHM & 1);
		u32 counts = braid_below32(0, bw);
		u64 until = braid_select(braid_equal(i, view->self), now_us, subflow->last_ack_us);
		u64 lasted = braid_max(braid_sub(until, shown->since_us), 1);
		u64 rate = ((u64)(subflow->delivered - shown->delivered) << BBR_BW_SHIFT) / lasted;
		u64 distance = braid_max(bw, own_bw) - braid_min(bw, own_bw);
		u32 is_best = braid_below32(sums->best_bw, bw);
		u32 is_least = counts & braid_below32(bw, sums->least_bw);

		sums->delivered += rate * counts;
		sums->n += counts;
		sums->alike += counts & (1 ^ braid_below(own_bw * alike, distance * 1000));
		sums->best = (u32)braid_select(is_best, i, sums->best);
		sums->best_bw = braid_max32(sums->best_bw, bw);
		sums->least = (u32)braid_select(is_least, i, sums->least);
		sums->least_bw = (u32)braid_select(is_least, bw, sums->least_bw);
	}
}

/* Publishes the estimate, and the interval checked by the policer. */
braid_inline void cmpbbr_show(struct braid_subflow *self, const struct bbr_state *state)
{
	struct cmpbbr_public *shown = BRAID_PUBLIC(cmpbbr, self);

	shown->bw = bbr_bw(state);
	shown->delivered = state->policer_delivered;
	shown->since_us = state->policer_us;
}

/* Two cycles must agree before bw is divided; one cycle without others ends the division. */
braid_inline void cmpbbr_count_sharers(struct cmpbbr_private *priv, u32 alike)
{
	priv->sharers = 1;
	if (priv->alike > 1)
		priv->sharers = alike > 1 ? alike : priv->alike;
	priv->alike = braid_max32(alike, 1);
}

/* A packet per second from now on: an algorithm cannot close its subflow. */
braid_inline void cmpbbr_stop(struct braid_subflow *self, struct cmpbbr_private *priv)
{
	priv->stopped = 1;
	BRAID_PUBLIC(cmpbbr, self)->bw = 0;
	self->cwnd = 1;
	self->pacing_rate = braid_max32(self->mss, 1);
}

/* Starts, or restarts. */
braid_inline void cmpbbr_start(struct braid_view *view, struct cmpbbr_private *priv, const struct cmpbbr_params *params,
			       const struct braid_event *event)
{
	*priv = (struct cmpbbr_private){ .sharers = 1, .alike = 1 };
	bbr_init(view, &priv->state, (const struct bbr_params *)params, event);
}

/* A stopped subflow restarts when all others have stopped. */
braid_inline void cmpbbr_wait(struct braid_view *view, struct cmpbbr_private *priv, const struct cmpbbr_params *params,
			      const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	struct cmpbbr_sums sums;

	cmpbbr_sum(&sums, view, 0, 0, event->now_us);
	if (sums.n) {
		cmpbbr_stop(self, priv);
		return;
	}
	self->cwnd = BBR_INITIAL_CWND;
	cmpbbr_start(view, priv, params, event);
}

static void cmpbbr_init(struct braid_view *view, struct cmpbbr_private *priv, const struct cmpbbr_params *params,
			const struct braid_event *event)
{
	cmpbbr_start(view, priv, params, event);
}

static void cmpbbr_on_ack(struct braid_view *view, struct cmpbbr_private *priv, const struct cmpbbr_params *params,
			  const struct braid_event *event)
{
	const struct bbr_params *bbr = (const struct bbr_params *)params;
	struct braid_subflow *self = braid_self(view);
	struct bbr_state *state = &priv->state;
	u32 was_checked = state->mode == BBR_PROBE_BW && state->phase == CMPBBR_PHASE;
	u32 bw;

	if (priv->stopped) {
		cmpbbr_wait(view, priv, params, event);
		return;
	}
	bbr_update(view, state, bbr, event);
	bw = bbr_bw(state);
	cmpbbr_show(self, state);
	if (state->mode == BBR_PROBE_BW && state->phase == CMPBBR_PHASE) {
		struct cmpbbr_sums sums;
		u32 is_useless;

		cmpbbr_sum(&sums, view, bw, params->alike, event->now_us);
		is_useless = sums.n > 1 && sums.best != sums.least && priv->sharers < 2 &&
			     (u64)sums.best_bw * params->benefit > braid_mul(sums.delivered, 1000);
		priv->useless = is_useless ? priv->useless + 1 : 0;
		if (!was_checked || params->check)
			cmpbbr_count_sharers(priv, sums.alike);
		if (params->patience && priv->useless >= params->patience && sums.least == view->self) {
			cmpbbr_stop(self, priv);
			return;
		}
	} else {
		priv->useless = 0;
	}
	if (state->mode == BBR_PROBE_BW && state->phase > 1)
		bw = (u32)braid_div(bw, priv->sharers);
	bbr_control(self, state, bbr, event, bw);
}

static void cmpbbr_on_loss(struct braid_view *view, struct cmpbbr_private *priv, const struct cmpbbr_params *params,
			   const struct braid_event *event)
{
	if (priv->stopped)
		return;
	bbr_on_loss(view, &priv->state, (const struct bbr_params *)params, event);
	cmpbbr_show(braid_self(view), &priv->state);
}

static void cmpbbr_on_recovered(struct braid_view *view, struct cmpbbr_private *priv,
				const struct cmpbbr_params *params, const struct braid_event *event)
{
	if (priv->stopped)
		return;
	bbr_on_recovered(view, &priv->state, event);
	cmpbbr_show(braid_self(view), &priv->state);
}

static void cmpbbr_on_idle_restart(struct braid_view *view, struct cmpbbr_private *priv,
				   const struct cmpbbr_params *params, const struct braid_event *event)
{
	if (!priv->stopped)
		bbr_on_idle_restart(view, &priv->state, (const struct bbr_params *)params, event);
}

BRAID_ALGORITHM(cmpbbr, CMPBBR_PARAMS, BRAID_WANTS_RATE | BRAID_OWNS_CWND, cmpbbr_init, BRAID_IGNORE, cmpbbr_on_ack,
		cmpbbr_on_loss, cmpbbr_on_recovered, cmpbbr_on_idle_restart)
