// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * wVegas, weighted Vegas (Cao, Xu, Fu 2012; draft-xu-mptcp-congestion-control): a total of queued packets, divided
 * among the subflows by their rates.
 *
 *	once per round, with base the smallest RTT ever and rtt the mean of the round:
 *	queued = cwnd (rtt - base) / rtt
 *	slow start:            queued > gamma: leave it with cwnd = min(cwnd, cwnd base / rtt + 1)
 *	congestion avoidance:  queued >= alpha: alpha = max(2, total_alpha rate / sum of rates), rate = cwnd / rtt
 *	                       cwnd -= 1 if queued > alpha, cwnd += 1 if queued < alpha
 *	                       cwnd = cwnd base / (2 rtt) if rtt - base is twice the least since this was last done
 *
 * Reno outside the Open state, for a round with fewer than three RTT samples, and at a loss. Divisions are integer
 * divisions and every RTT sample counts one microsecond more, as in the out-of-tree kernel.
 */
#include "braid.h"

#define WVEGAS_EXACT 0u

#define WVEGAS_PARAMS(P)                                                                                           \
	P(total_alpha, 10, 2, 1000, 1, "packets", "queued by all subflows together")                               \
	P(initial_alpha, 2, 2, 1000, 1, "packets", "queued by a subflow before its share is known, and the least") \
	P(gamma, 1, 0, 1000, 1, "packets", "leave slow start when more than these are queued")                     \
	P(rounding, WVEGAS_EXACT, 0, 1, 1, "exact|fork",                                                           \
	  "arithmetic: exact, or the out-of-tree kernel's module, whose shares and reductions have 16 fraction bits")

BRAID_PARAMS(wvegas, WVEGAS_PARAMS);

struct wvegas_public {
	u64 rate;    /* packets per microsecond, 16 fraction bits; 0: not known */
	u64 samples; /* RTT samples of the round; the fork's siblings ask for them */
};

struct wvegas_private {
	s64 carry;          /* of the Reno phases */
	u64 round_end;      /* the round ends when snd_una passes this */
	u64 rtt_sum_us;     /* of the round's samples */
	u32 counted;        /* fork: packets acknowledged in the Reno phases since the last one was added */
	u32 base_rtt_us;    /* smallest RTT since the last idle period; 0: no sample yet */
	u32 alpha;          /* packets to keep queued; 0: not yet enabled */
	u32 queue_delay_us; /* smallest queueing delay since the window was last drained; 0: none yet */
	u32 disabled;       /* not Open: Reno */
	u32 weight;         /* share of the total rate, 16 fraction bits; all of it before the rates are known */
};

static void wvegas_begin_round(struct braid_subflow *self, struct wvegas_private *priv)
{
	BRAID_PUBLIC(wvegas, self)->samples = 0;
	priv->round_end = self->snd_nxt;
	priv->rtt_sum_us = 0;
}

/* Restarts without knowledge of the rates. */
static void wvegas_enable(struct braid_subflow *self, struct wvegas_private *priv, const struct wvegas_params *params)
{
	wvegas_begin_round(self, priv);
	priv->alpha = params->initial_alpha;
	priv->weight = 1 << 16;
	priv->queue_delay_us = 0;
	BRAID_PUBLIC(wvegas, self)->rate = 0;
}

static void wvegas_on_rtt(struct braid_subflow *self, struct wvegas_private *priv, u32 rtt_us)
{
	if (rtt_us == 0)
		return;
	rtt_us = braid_min32(rtt_us, BRAID_U32_MAX - 1) + 1;
	priv->base_rtt_us = braid_min32(priv->base_rtt_us ? priv->base_rtt_us : rtt_us, rtt_us);
	priv->rtt_sum_us += rtt_us;
	BRAID_PUBLIC(wvegas, self)->samples++;
}

static void wvegas_reno(struct braid_subflow *self, struct wvegas_private *priv, const struct wvegas_params *params,
			const struct braid_event *event)
{
	u32 acked = braid_acked_in_avoidance(self, event);

	if (params->rounding == WVEGAS_EXACT)
		braid_grow(self, &priv->carry, (s64)braid_reno_increase(self->cwnd), acked);
	else if (acked)
		braid_count(self, &priv->counted, self->cwnd, acked);
}

/* Sum of the rates that the subflows publish. The fork leaves out a sibling without an RTT sample in its round. */
static u64 wvegas_total_rate(const struct braid_view *view, u32 eligible, u32 rounding)
{
	u64 total = 0;
	u32 i;

	braid_for_each(i, eligible)
	{
		const struct braid_subflow *subflow = &view->subflow[i];
		u32 knows = braid_equal(subflow->flags & BRAID_SAME_ALGORITHM, BRAID_SAME_ALGORITHM) |
			    braid_equal(i, view->self);

		knows &= braid_below(0, subflow->public_words[1]) | braid_equal(rounding, WVEGAS_EXACT);
		total += braid_select(knows, braid_min(subflow->public_words[0], 1ull << 48), 0);
	}
	return total;
}

/* The subflow's part of the packets to keep queued. */
static void wvegas_weigh(struct braid_view *view, struct wvegas_private *priv, const struct wvegas_params *params,
			 u64 rtt)
{
	struct braid_subflow *self = braid_self(view);
	u64 rate = braid_min(braid_div((u64)self->cwnd << 16, rtt), 1ull << 47), total = 0, alpha;

	BRAID_PUBLIC(wvegas, self)->rate = rate;
	/* Less than a packet in 65 ms is no rate in these units: the weight stays. */
	if (rate) {
		total = wvegas_total_rate(view, braid_eligible(view) | 1u << (view->self & (BRAID_MAX_SUBFLOWS - 1)),
					  params->rounding);
		priv->weight = (u32)braid_div(rate << 16, total);
	}
	if (rate && params->rounding == WVEGAS_EXACT)
		alpha = braid_div(params->total_alpha * rate, total);
	else
		alpha = ((u64)priv->weight * params->total_alpha) >> 16;
	priv->alpha = braid_max32((u32)alpha, params->initial_alpha);
}

/* Empties the queue when the delay has doubled: a base RTT that is too large would otherwise never be noticed. The fork
 * takes a delay of 0 for one that has doubled. */
static void wvegas_drain(struct braid_subflow *self, struct wvegas_private *priv, u32 rounding, u64 rtt)
{
	u32 queue_delay_us = (u32)(rtt - priv->base_rtt_us);

	if (priv->queue_delay_us == 0 || priv->queue_delay_us > queue_delay_us)
		priv->queue_delay_us = queue_delay_us;
	if ((queue_delay_us || rounding != WVEGAS_EXACT) && queue_delay_us >= 2 * (u64)priv->queue_delay_us) {
		u64 base = priv->base_rtt_us;

		self->cwnd = (u32)(rounding == WVEGAS_EXACT ? braid_div(self->cwnd * base, 2 * rtt)
							    : (self->cwnd * braid_div(base << 16, 2 * rtt)) >> 16);
		priv->queue_delay_us = 0;
	}
}

/* The adjustment at the end of a round. Ignores whether the window was the limit. */
static void wvegas_adjust(struct braid_view *view, struct wvegas_private *priv, const struct wvegas_params *params,
			  u32 acked)
{
	struct braid_subflow *self = braid_self(view);
	u64 base = priv->base_rtt_us, rtt = braid_div(priv->rtt_sum_us, BRAID_PUBLIC(wvegas, self)->samples);
	u64 queued = braid_div(self->cwnd * (rtt - base), rtt);

	if (braid_in_slow_start(self)) {
		if (queued > params->gamma) {
			self->cwnd = braid_min32(self->cwnd, (u32)braid_div(self->cwnd * base, rtt) + 1);
			self->ssthresh = braid_min32(self->ssthresh, self->cwnd);
		} else {
			braid_slow_start(self, acked);
		}
	} else {
		if (queued >= priv->alpha)
			wvegas_weigh(view, priv, params, rtt);
		if (queued > priv->alpha) {
			self->cwnd--;
			self->ssthresh = braid_min32(self->ssthresh, self->cwnd);
		} else if (queued < priv->alpha) {
			self->cwnd += self->cwnd < BRAID_U32_MAX;
		}
		wvegas_drain(self, priv, params->rounding, rtt);
	}
	self->cwnd = braid_min32(braid_max32(self->cwnd, 2), self->cwnd_clamp);
	self->ssthresh = braid_max32(self->ssthresh, braid_max32((self->cwnd >> 1) + (self->cwnd >> 2), 1));
}

static void wvegas_init(struct braid_view *view, struct wvegas_private *priv, const struct wvegas_params *params,
			const struct braid_event *event)
{
	wvegas_enable(braid_self(view), priv, params);
}

static void wvegas_on_ack(struct braid_view *view, struct wvegas_private *priv, const struct wvegas_params *params,
			  const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 disabled = self->ca_state != BRAID_OPEN;

	wvegas_on_rtt(self, priv, event->rtt_us);
	if (priv->disabled && !disabled)
		wvegas_enable(self, priv, params);
	priv->disabled = disabled;

	if (event->grow == 0)
		return;
	if (disabled) {
		wvegas_reno(self, priv, params, event);
	} else if (self->snd_una > priv->round_end) {
		if (BRAID_PUBLIC(wvegas, self)->samples > 2)
			wvegas_adjust(view, priv, params, event->grow);
		else
			wvegas_reno(self, priv, params, event);
		wvegas_begin_round(self, priv);
	} else if (braid_in_slow_start(self)) {
		braid_slow_start(self, event->grow);
	}
}

static void wvegas_on_loss(struct braid_view *view, struct wvegas_private *priv, const struct wvegas_params *params,
			   const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);

	priv->carry = 0;
	priv->counted = 0;
	priv->disabled = 1;
	if (params->rounding == WVEGAS_EXACT || event->cause == BRAID_CAUSE_RTO)
		BRAID_PUBLIC(wvegas, self)->rate = 0;
	self->ssthresh = braid_half(self->cwnd);
}

static void wvegas_on_idle_restart(struct braid_view *view, struct wvegas_private *priv,
				   const struct wvegas_params *params, const struct braid_event *event)
{
	/* After a shorter pause the estimates still hold. */
	if (!(event->flags & BRAID_IDLE_DECAYED))
		return;
	priv->base_rtt_us = 0;
	wvegas_enable(braid_self(view), priv, params);
}

BRAID_ALGORITHM(wvegas, WVEGAS_PARAMS,
		BRAID_RATES_OF_SIBLINGS | BRAID_NO_ID_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
			BRAID_NO_BYTES_OF_SIBLINGS,
		wvegas_init, BRAID_IGNORE, wvegas_on_ack, wvegas_on_loss, BRAID_IGNORE, wvegas_on_idle_restart)
