// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Vegas (Brakmo and Peterson 1994, in Linux's form): keeps between alpha and beta of its own packets in the queue.
 *
 *	once per round, with base the smallest RTT ever and rtt the smallest of the round:
 *	queued = cwnd (rtt - base) / base
 *	slow start:            queued > gamma: leave it with cwnd = min(cwnd, cwnd base / rtt + 1)
 *	congestion avoidance:  cwnd -= 1 if queued > beta, cwnd += 1 if queued < alpha
 *
 * Reno outside the Open state, for a round with fewer than three RTT samples, and at a loss. Divisions are integer
 * divisions and every RTT sample counts one microsecond more, as in Linux.
 */
#include "braid.h"

#define VEGAS_EXACT 0u

#define VEGAS_PARAMS(P)                                                                        \
	P(alpha, 2, 0, 1000, 1, "packets", "grow while fewer than these are queued")           \
	P(beta, 4, 0, 1000, 1, "packets", "shrink while more than these are queued")           \
	P(gamma, 1, 0, 1000, 1, "packets", "leave slow start when more than these are queued") \
	P(rounding, VEGAS_EXACT, 0, 1, 1, "exact|linux", "of the Reno phases: fractions of a packet, or whole packets")

BRAID_PARAMS(vegas, VEGAS_PARAMS);

struct vegas_public {
};

struct vegas_private {
	s64 carry;         /* of the Reno phases */
	u64 round_end;     /* the round ends when snd_una passes this */
	u32 base_rtt_us;   /* smallest RTT since the last idle period; 0: no sample yet */
	u32 round_rtt_us;  /* smallest RTT of the round; 0: no sample yet */
	u32 round_samples; /* RTT samples of the round */
	u32 disabled;      /* not Open: Reno */
	u32 counted;       /* linux: packets acknowledged in the Reno phases since the last one was added */
	u32 reserved;
};

static void vegas_begin_round(const struct braid_subflow *self, struct vegas_private *priv)
{
	priv->round_end = self->snd_nxt;
	priv->round_rtt_us = 0;
	priv->round_samples = 0;
}

static void vegas_on_rtt(struct vegas_private *priv, u32 rtt_us)
{
	if (rtt_us == 0)
		return;
	rtt_us++;
	priv->base_rtt_us = braid_min32(priv->base_rtt_us ? priv->base_rtt_us : rtt_us, rtt_us);
	priv->round_rtt_us = braid_min32(priv->round_rtt_us ? priv->round_rtt_us : rtt_us, rtt_us);
	priv->round_samples++;
}

static void vegas_reno(struct braid_subflow *self, struct vegas_private *priv, const struct vegas_params *params,
		       const struct braid_event *event)
{
	u32 acked = braid_acked_in_avoidance(self, event);

	if (params->rounding == VEGAS_EXACT)
		braid_grow(self, &priv->carry, (s64)braid_reno_increase(self->cwnd), acked);
	else if (acked)
		braid_count(self, &priv->counted, self->cwnd, acked);
}

/* The adjustment at the end of a round. Like Linux, ignores whether the window was the limit. */
static void vegas_adjust(struct braid_subflow *self, const struct vegas_private *priv,
			 const struct vegas_params *params, u32 acked)
{
	u64 base = priv->base_rtt_us, rtt = priv->round_rtt_us;
	u64 queued = braid_div(self->cwnd * (rtt - base), base);

	if (braid_in_slow_start(self)) {
		if (queued > params->gamma) {
			self->cwnd = braid_min32(self->cwnd, (u32)braid_div(self->cwnd * base, rtt) + 1);
			self->ssthresh = braid_min32(self->ssthresh, self->cwnd);
		} else {
			braid_slow_start(self, acked);
		}
	} else if (queued > params->beta) {
		self->cwnd--;
		self->ssthresh = braid_min32(self->ssthresh, self->cwnd);
	} else if (queued < params->alpha) {
		self->cwnd += self->cwnd < BRAID_U32_MAX;
	}
	self->cwnd = braid_min32(braid_max32(self->cwnd, 2), self->cwnd_clamp);
	self->ssthresh = braid_max32(self->ssthresh, braid_max32((self->cwnd >> 1) + (self->cwnd >> 2), 1));
}

static void vegas_init(struct braid_view *view, struct vegas_private *priv, const struct vegas_params *params,
		       const struct braid_event *event)
{
	vegas_begin_round(braid_self(view), priv);
}

static void vegas_on_ack(struct braid_view *view, struct vegas_private *priv, const struct vegas_params *params,
			 const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 disabled = self->ca_state != BRAID_OPEN;

	vegas_on_rtt(priv, event->rtt_us);
	if (priv->disabled && !disabled)
		vegas_begin_round(self, priv);
	priv->disabled = disabled;

	if (event->grow == 0)
		return;
	if (disabled) {
		vegas_reno(self, priv, params, event);
	} else if (self->snd_una > priv->round_end) {
		if (priv->round_samples > 2)
			vegas_adjust(self, priv, params, event->grow);
		else
			vegas_reno(self, priv, params, event);
		vegas_begin_round(self, priv);
	} else if (braid_in_slow_start(self)) {
		braid_slow_start(self, event->grow);
	}
}

static void vegas_on_loss(struct braid_view *view, struct vegas_private *priv, const struct vegas_params *params,
			  const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);

	priv->carry = 0;
	priv->counted = 0;
	priv->disabled = 1;
	self->ssthresh = braid_half(self->cwnd);
}

static void vegas_on_idle_restart(struct braid_view *view, struct vegas_private *priv,
				  const struct vegas_params *params, const struct braid_event *event)
{
	priv->base_rtt_us = 0;
	vegas_begin_round(braid_self(view), priv);
}

BRAID_ALGORITHM(vegas, VEGAS_PARAMS, BRAID_UNCOUPLED, vegas_init, BRAID_IGNORE, vegas_on_ack, vegas_on_loss,
		BRAID_IGNORE, vegas_on_idle_restart)
