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
#include "fork.h"

#define BALIA_EXACT 0u

#define BALIA_PARAMS(P)                                 \
	P(rounding, BALIA_EXACT, 0, 1, 1, "exact|fork", \
	  "arithmetic: exact, or the out-of-tree kernel's module, where alpha is a whole number")

BRAID_PARAMS(balia, BALIA_PARAMS);

/* Fork rounding only. */
struct balia_public {
	u64 changed; /* a congestion state changed since the increase was computed */
};

#define BALIA_CHANGED_WORD 0

struct balia_private {
	s64 carry; /* fraction of a packet not yet in cwnd */
	/* What follows is of the fork rounding. */
	u32 increase; /* ACKs to count before a packet is added */
	u32 decrease; /* packets to take away at the next loss */
	u32 counted;  /* ACKs since cwnd last grew */
	u32 state;    /* the congestion state at the last event */
};

/* The module's increase and decrease. Rates are bytes per second with self's MSS for all, each divided by 32 until the
 * largest fits in 25 bits; alpha is a whole number. */
static void balia_module_compute(struct braid_view *view, struct balia_private *priv)
{
	struct braid_subflow *self = braid_self(view);
	struct balia_rates rates = { 0 };
	u32 eligible = braid_eligible(view), shift = 0, i;
	u64 total = 0, alpha, increase;

	priv->increase = 0;
	priv->decrease = 0;
	if (!braid_is_coupled(view, eligible))
		return;
	braid_for_each(i, eligible)
		balia_add_rate(view, &rates, i,
			       braid_div((u64)self->mss * view->subflow[i].cwnd * 1000000, view->subflow[i].srtt_us));
	if (!rates.self)
		return;
	alpha = braid_div(rates.largest, rates.self);
	for (i = 0; i < 8; i++)
		shift += braid_below(1u << 25, braid_shr(rates.largest, shift)) * 5;
	braid_for_each(i, eligible) total += braid_shr(braid_div((u64)self->mss * view->subflow[i].cwnd * 1000000,
								 view->subflow[i].srtt_us),
						       shift);
	rates.self = braid_shr(rates.self, shift);
	rates.largest = braid_shr(rates.largest, shift);
	/* X^2 10 w / ((x + m)(4 x + m)), divided twice. */
	increase = braid_div(10 * total * total, rates.self + rates.largest);
	increase = braid_div(increase * self->cwnd, 4 * rates.self + rates.largest);
	priv->increase = increase ? (u32)increase : self->cwnd;
	priv->decrease = (u32)(((self->cwnd >> 1) * braid_min(alpha << 10, 1536)) >> 10);
}

/* The module counts ACKs, also with one subflow. Packets of an ACK beyond the end of slow start do not count. */
static void balia_module_on_ack(struct braid_view *view, struct balia_private *priv, const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 eligible;

	if (!event->grow || !(event->flags & BRAID_ACK_CWND_LIMITED))
		return;
	if (braid_in_slow_start(self)) {
		braid_slow_start(self, event->grow);
		balia_module_compute(view, priv);
		return;
	}
	if (fork_state_changed(view, &priv->state, BALIA_CHANGED_WORD))
		balia_module_compute(view, priv);
	eligible = braid_eligible(view);
	if (fork_count(self, &priv->counted, eligible & (eligible - 1) ? priv->increase : self->cwnd))
		balia_module_compute(view, priv);
}

static void balia_module_on_loss(struct braid_view *view, struct balia_private *priv, const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 eligible = braid_eligible(view);

	self->ssthresh = eligible & (eligible - 1) ? braid_max32((u32)braid_sub(self->cwnd, priv->decrease), 1)
						   : braid_half(self->cwnd);
	priv->counted = 0;
	fork_state_after_loss(view, &priv->state, BALIA_CHANGED_WORD, event);
	if (event->cause == BRAID_CAUSE_RTO)
		balia_module_compute(view, priv);
}

static void balia_on_ack(struct braid_view *view, struct balia_private *priv, const struct balia_params *params,
			 const struct braid_event *event)
{
	if (params->rounding == BALIA_EXACT)
		balia_grow(view, &priv->carry, braid_acked_in_avoidance(braid_self(view), event));
	else
		balia_module_on_ack(view, priv, event);
}

static void balia_on_loss(struct braid_view *view, struct balia_private *priv, const struct balia_params *params,
			  const struct braid_event *event)
{
	if (params->rounding == BALIA_EXACT)
		balia_shrink(view, &priv->carry);
	else
		balia_module_on_loss(view, priv, event);
}

/* The module computes again at the end of a reduction, not after a timeout. */
static void balia_on_recovered(struct braid_view *view, struct balia_private *priv, const struct balia_params *params,
			       const struct braid_event *event)
{
	if (params->rounding == BALIA_EXACT)
		return;
	if (priv->state != BRAID_LOSS)
		balia_module_compute(view, priv);
	fork_state_after_recovery(view, &priv->state, BALIA_CHANGED_WORD);
}

BRAID_ALGORITHM(balia, BALIA_PARAMS,
		BRAID_RATES_OF_SIBLINGS | BRAID_NO_ID_OF_SIBLINGS | BRAID_NO_BYTES_OF_SIBLINGS | BRAID_RATES_OF_SELF |
			BRAID_GROWTH_ONLY,
		BRAID_IGNORE, BRAID_IGNORE, balia_on_ack, balia_on_loss, balia_on_recovered, BRAID_IGNORE)
