// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * CUBIC (RFC 9438) with Linux's HyStart: the window is a cubic of the time since the last reduction, whatever the RTT.
 *
 *	W(t) = origin + C (t - K)^3,  K = cbrt((W_max - w) / C)           t: since w was left by the reduction
 *	per acknowledged packet in congestion avoidance:  w += (W(t + min RTT) - w) / w, at most 1/2
 *	Reno-friendly:  w >= W_est,  W_est += a / w,  a = 3 (1 - beta) / (1 + beta)
 *	per congestion event:  ssthresh = max(beta w, 2)
 *	                       W_max = w, or w (1 + beta) / 2 if w had not come back to W_max (fast convergence)
 *
 * rounding=exact: windows have 32 fraction bits, cwnd and its carry taken together; curve times are in 2^-14 s.
 *
 * rounding=linux: windows are whole packets, carry is 0; time goes in jiffies of 1 ms, curve times are in 2^-10 s. With
 * S the kernel's bic_scale, C = 10 S / 2^10, and [x] the whole part of x:
 *
 *	W(t) = origin +- [10 S |t - K|^3 / 2^40],  K = [cbrt([2^40 / (10 S)] (W_max - w))]
 *	in congestion avoidance:  w += 1 for each cnt packets acknowledged
 *	cnt = [w / (W(t + min RTT) - w)], or 100 w if the curve is not above w; at most 20 while W_max is 0; at least 2
 *	Reno-friendly:  cnt <= [w / (W_est - w)],  W_est += 1 for each [[8 (1 + beta) / (3 (1 - beta))] w / 8] packets
 */
#include "braid.h"

#define CUBIC_C_SCALE_BITS 20
#define CUBIC_BETA_SCALE 1024u
#define CUBIC_ALPHA_CONSTANT 1u
#define CUBIC_ROUNDING_LINUX 1u

#define CUBIC_PARAMS(P)                                                                                               \
	P(c, 419430, 1049, 104857600, 1048576, "packets/s^3", "how fast the window grows away from the last maximum") \
	P(beta, 717, 512, 1000, 1024, "", "share of the window that a congestion event keeps; Linux: 717/1024")       \
	P(fast_convergence, 1, 0, 1, 1, "off|on", "lower the last maximum if the window did not come back to it")     \
	P(friendly, 1, 0, 1, 1, "off|on", "never be slower than Reno would be")                                       \
	P(alpha, 0, 0, 1, 1, "rfc9438|constant",                                                                      \
	  "slope of the Reno-friendly window: 1 once it is back where the last reduction began, or as before")        \
	P(hystart, 1, 0, 1, 1, "off|on", "leave slow start when the ACK train or the delay says the pipe is full")    \
	P(rounding, 0, 0, 1, 1, "exact|linux",                                                                        \
	  "fractions of packets and microseconds, or the whole packets and milliseconds of Linux 6.12")

BRAID_PARAMS(cubic, CUBIC_PARAMS);

struct cubic_public {
};

struct cubic_private {
	s64 carry;         /* fraction of a packet not yet in cwnd */
	u64 w_max;         /* window before the last reduction, or what fast convergence made of it; 0: none yet */
	u64 prior;         /* window before the last reduction (cwnd_prior) */
	u64 origin;        /* where the curve is flat */
	u64 w_est;         /* Reno's window since the epoch began */
	u64 epoch_us;      /* when growth began after the last reduction; 0: not yet */
	u64 k;             /* time from the epoch's start to the origin, 2^-14 s; linux: 2^-10 s */
	u64 round_end;     /* HyStart's round ends when snd_una passes this */
	u64 round_us;      /* when it began */
	u64 train_us;      /* latest ACK of its train */
	u32 round_rtt_us;  /* its smallest RTT; 0: no sample yet */
	u32 round_samples; /* its RTT samples, at most CUBIC_MIN_SAMPLES */
	u32 delay_min_us;  /* smallest RTT since the last timeout; 0: no sample yet */
	u32 found;         /* HyStart has left slow start */
	u32 in_loss;       /* the reset that entering Loss asks for is done */
	u32 cnt;           /* linux: packets to acknowledge for one more in cwnd */
	u32 cwnd_cnt;      /* those acknowledged since the last one */
	u32 last_cwnd;     /* cwnd when cnt was computed */
	u64 last_us;       /* when that was */
	u64 ack_cnt;       /* packets acknowledged that W_est has not seen */
};

#define CUBIC_LOW_WINDOW 16u     /* packets: HyStart does not look below */
#define CUBIC_MIN_SAMPLES 8u     /* RTT samples of a round that only prepare the delay test */
#define CUBIC_TRAIN_GAP_US 2000u /* ACKs this close belong to one train */
#define CUBIC_DELAY_MIN_US 4000u /* bounds of the delay increase that ends slow start */
#define CUBIC_DELAY_MAX_US 16000u
#define CUBIC_SETTLE_US 1000000u   /* RTT samples of an epoch's first second still show the queue of the loss */
#define CUBIC_OFFSET_MAX 0xffffffu /* 1024 s from the origin the curve is far beyond 1.5 w; linux: 4.5 h */
#define CUBIC_JIFFY_US 1000u       /* linux: CONFIG_HZ=1000 */
#define CUBIC_KEEP_US 31000u       /* linux: how long cnt holds while cwnd does not change, HZ / 32 jiffies */

static u64 cubic_window(const struct braid_subflow *self, const struct cubic_private *priv)
{
	return ((u64)self->cwnd << 32) + (u64)priv->carry;
}

/* A time as the rounding knows it. */
static u64 cubic_clock(const struct cubic_params *params, u64 us)
{
	return params->rounding == CUBIC_ROUNDING_LINUX ? us - us % CUBIC_JIFFY_US : us;
}

/* A window as the rounding knows it. */
static u64 cubic_round(const struct cubic_params *params, u64 window)
{
	return params->rounding == CUBIC_ROUNDING_LINUX ? window & ~(BRAID_ONE - 1) : window;
}

/* 10 bic_scale. The module parameter is a whole number; C is rounded to it. */
static u32 cubic_linux_c(u32 c)
{
	return 10 * braid_max32((c + 5120) / 10240, 1);
}

/* cbrt(missing / C) in 2^-14 s. A radicand beyond 64 bits (hundreds of thousands of packets) is taken in 2^-10 s. */
static u64 cubic_k(u64 missing, u32 c)
{
	u64 radicand = braid_muldiv(missing, 1ull << (3 * 14 - 32 + CUBIC_C_SCALE_BITS), c);
	u32 coarse = 0;

	if (radicand == BRAID_U64_MAX) {
		radicand = braid_muldiv(missing, 1ull << (3 * 10 - 32 + CUBIC_C_SCALE_BITS), c);
		coarse = 4;
	}
	return (u64)braid_cbrt(radicand) << coarse;
}

/* The same in 2^-10 s, from whole packets. */
static u64 cubic_linux_k(u64 missing, u32 c)
{
	return braid_cbrt(braid_mul(braid_div(1ull << 40, cubic_linux_c(c)), missing >> 32));
}

static void cubic_begin_epoch(const struct braid_subflow *self, struct cubic_private *priv,
			      const struct cubic_params *params, u64 now_us)
{
	u64 window = cubic_window(self, priv);
	u64 missing;

	priv->epoch_us = braid_max(cubic_clock(params, now_us), 1);
	priv->w_est = window;
	priv->origin = braid_max(priv->w_max, window);
	missing = priv->origin - window;
	priv->k = params->rounding == CUBIC_ROUNDING_LINUX ? cubic_linux_k(missing, params->c)
							   : cubic_k(missing, params->c);
}

/* W(t) */
static u64 cubic_curve(const struct cubic_private *priv, u32 c, u64 t_us)
{
	u64 t = (t_us << 8) / 15625; /* 2^14 / 10^6 */
	u64 offset = braid_min(t > priv->k ? t - priv->k : priv->k - t, CUBIC_OFFSET_MAX);
	u64 square = braid_mul_shift(offset * offset, c, CUBIC_C_SCALE_BITS);
	u64 delta = braid_mul_shift(square, offset, 3 * 14 - 32);

	return t > priv->k ? braid_add(priv->origin, delta) : braid_sub(priv->origin, delta);
}

/* W(t) in whole packets, from t in jiffies. */
static u64 cubic_linux_curve(const struct cubic_private *priv, u32 c, u64 jiffies)
{
	u64 t = (jiffies << 10) / 1000;
	u64 offset = braid_min(t > priv->k ? t - priv->k : priv->k - t, CUBIC_OFFSET_MAX);
	u64 delta = braid_mul_shift(offset * offset, offset * cubic_linux_c(c), 40);

	return t > priv->k ? (priv->origin >> 32) + delta : braid_sub(priv->origin >> 32, delta);
}

/* Moves W_est on by what Reno with CUBIC's decrease would grow. */
static void cubic_grow_estimate(struct cubic_private *priv, const struct cubic_params *params, u32 cwnd, u32 acked)
{
	u64 alpha = BRAID_ONE;

	if (params->alpha == CUBIC_ALPHA_CONSTANT || priv->w_est < priv->prior)
		alpha = (3 * BRAID_ONE * (CUBIC_BETA_SCALE - params->beta)) / (CUBIC_BETA_SCALE + params->beta);
	priv->w_est = braid_add(priv->w_est, alpha * acked / cwnd);
}

/* By how much an ACK of so many packets raises the window. */
static u64 cubic_increase(const struct cubic_private *priv, const struct cubic_params *params, u64 window, u64 target,
			  u32 acked)
{
	u32 cwnd = (u32)(window >> 32);
	u64 increase = braid_div(target > window ? target - window : BRAID_ONE / 100, cwnd) * acked;

	/* Before the first loss nothing is known of the bandwidth: at least 5 % per RTT, as Linux. */
	if (priv->w_max == 0)
		increase = braid_max(increase, BRAID_ONE / 20 * acked);
	if (params->friendly)
		increase = braid_max(increase, braid_sub(priv->w_est, window));
	return braid_min(increase, BRAID_ONE / 2 * acked);
}

/* An ACK's growth with fractions of packets. */
static void cubic_grow(struct braid_subflow *self, struct cubic_private *priv, const struct cubic_params *params,
		       u32 acked, u64 now_us)
{
	u64 window, target;

	if (priv->epoch_us == 0)
		cubic_begin_epoch(self, priv, params, now_us);
	cubic_grow_estimate(priv, params, braid_max32(self->cwnd, 1), acked);
	window = cubic_window(self, priv);
	target = cubic_curve(priv, params->c, braid_sub(now_us, priv->epoch_us) + priv->delay_min_us);
	braid_grow(self, &priv->carry, (s64)cubic_increase(priv, params, window, target, acked), 1);
}

/* How many packets are to be acknowledged for one more, by the curve. */
static u64 cubic_linux_curve_cnt(const struct cubic_private *priv, u32 c, u64 cwnd, u64 now_us)
{
	u64 min_rtt = braid_div_up(priv->delay_min_us, CUBIC_JIFFY_US);
	u64 target = cubic_linux_curve(priv, c, braid_sub(now_us, priv->epoch_us) / CUBIC_JIFFY_US + min_rtt);
	u64 cnt = target > cwnd ? braid_div(cwnd, target - cwnd) : 100 * cwnd;

	return priv->w_max == 0 ? braid_min(cnt, 20) : cnt;
}

/* The same by Reno's window, which is moved on first. */
static u64 cubic_linux_reno_cnt(struct cubic_private *priv, u32 beta, u64 cwnd)
{
	u64 scale = braid_div(8 * (CUBIC_BETA_SCALE + beta) / 3, braid_sub(CUBIC_BETA_SCALE, beta));
	u64 per_packet = (cwnd * scale) >> 3;
	u64 packets = braid_div(braid_sub(priv->ack_cnt, 1), per_packet);

	priv->ack_cnt -= packets * per_packet;
	priv->w_est = braid_add(priv->w_est, packets << 32);
	return priv->w_est >> 32 > cwnd ? braid_div(cwnd, (priv->w_est >> 32) - cwnd) : BRAID_U64_MAX;
}

/* Finds cnt anew: at most once per jiffy from the curve, and not at all while cwnd and the time are much the same. */
static void cubic_linux_update(const struct braid_subflow *self, struct cubic_private *priv,
			       const struct cubic_params *params, u32 acked, u64 now_us)
{
	u64 cnt = priv->cnt;

	priv->ack_cnt += acked;
	if (self->cwnd == priv->last_cwnd && now_us - priv->last_us <= CUBIC_KEEP_US)
		return;
	if (priv->epoch_us == 0 || now_us != priv->last_us) {
		priv->last_cwnd = self->cwnd;
		priv->last_us = now_us;
		if (priv->epoch_us == 0) {
			cubic_begin_epoch(self, priv, params, now_us);
			priv->ack_cnt = acked;
		}
		cnt = cubic_linux_curve_cnt(priv, params->c, self->cwnd, now_us);
	}
	if (params->friendly)
		cnt = braid_min(cnt, cubic_linux_reno_cnt(priv, params->beta, self->cwnd));
	priv->cnt = (u32)braid_clamp(cnt, 2, BRAID_U32_MAX);
}

/* An ACK's growth in whole packets, one per cnt acknowledged. What a larger cnt left waiting is worth one. */
static void cubic_linux_grow(struct braid_subflow *self, struct cubic_private *priv, const struct cubic_params *params,
			     u32 acked, u64 now_us)
{
	u64 cwnd = self->cwnd, count = priv->cwnd_cnt, packets;

	cubic_linux_update(self, priv, params, acked, cubic_clock(params, now_us));
	if (count >= priv->cnt) {
		count = 0;
		cwnd++;
	}
	count += acked;
	packets = braid_div(count, priv->cnt);
	priv->cwnd_cnt = (u32)(count - packets * priv->cnt);
	self->cwnd = (u32)braid_min(cwnd + packets, self->cwnd_clamp);
}

static void cubic_begin_round(const struct braid_subflow *self, struct cubic_private *priv, u64 now_us)
{
	priv->round_end = self->snd_nxt;
	priv->round_us = now_us;
	priv->train_us = now_us;
	priv->round_rtt_us = 0;
	priv->round_samples = 0;
}

/* How long an ACK train must last to show a full pipe. Aggregation stretches trains, by up to 1 ms: four bursts of
 * 64 KiB at the rate that the sender would pace at in slow start, 2 cwnd per RTT. Such pacing itself may spread the
 * packets over half an RTT. */
static u32 cubic_train_threshold(const struct braid_subflow *self, const struct cubic_private *priv)
{
	u64 delay;

	if (self->pacing_rate) {
		delay = (4ull << 16) * 1000000 / self->pacing_rate;
		return priv->delay_min_us + (u32)braid_min(delay, 1000);
	}
	delay = braid_div((2ull << 16) * self->srtt_us, (u64)self->mss * self->cwnd);
	return (priv->delay_min_us + (u32)braid_min(delay, 1000)) >> 1;
}

/* HyStart: ends slow start where it stands if the round shows a full pipe. */
static void cubic_hystart(struct braid_subflow *self, struct cubic_private *priv, u32 rtt_us, u64 now_us)
{
	u32 increase = (u32)braid_clamp(priv->delay_min_us >> 3, CUBIC_DELAY_MIN_US, CUBIC_DELAY_MAX_US);

	if (self->snd_una > priv->round_end)
		cubic_begin_round(self, priv, now_us);
	if (self->cwnd < CUBIC_LOW_WINDOW)
		return;
	if (now_us - priv->train_us <= CUBIC_TRAIN_GAP_US) {
		priv->train_us = now_us;
		priv->found |= now_us - priv->round_us > cubic_train_threshold(self, priv);
	}
	priv->round_rtt_us = braid_min32(priv->round_rtt_us ? priv->round_rtt_us : rtt_us, rtt_us);
	if (priv->round_samples < CUBIC_MIN_SAMPLES)
		priv->round_samples++;
	else
		priv->found |= priv->round_rtt_us > priv->delay_min_us + increase;
	if (priv->found)
		self->ssthresh = self->cwnd;
}

static void cubic_on_rtt(struct braid_subflow *self, struct cubic_private *priv, u32 hystart,
			 const struct braid_event *event)
{
	u32 rtt_us = event->rtt_us;

	if (rtt_us == 0 || (priv->epoch_us && event->now_us < priv->epoch_us + CUBIC_SETTLE_US))
		return;
	priv->delay_min_us = braid_min32(priv->delay_min_us ? priv->delay_min_us : rtt_us, rtt_us);
	if (hystart && !priv->found && braid_in_slow_start(self))
		cubic_hystart(self, priv, rtt_us, event->now_us);
}

/* A timeout: nothing learnt about the path holds any longer. */
static void cubic_reset(const struct braid_subflow *self, struct cubic_private *priv, u64 now_us)
{
	priv->carry = 0;
	priv->w_max = 0;
	priv->epoch_us = 0;
	priv->delay_min_us = 0;
	priv->found = 0;
	priv->cnt = 0;
	priv->cwnd_cnt = 0;
	priv->last_cwnd = 0;
	priv->last_us = 0;
	priv->ack_cnt = 0;
	cubic_begin_round(self, priv, now_us);
}

static void cubic_init(struct braid_view *view, struct cubic_private *priv, const struct cubic_params *params,
		       const struct braid_event *event)
{
	cubic_begin_round(braid_self(view), priv, event->now_us);
}

static void cubic_on_ack(struct braid_view *view, struct cubic_private *priv, const struct cubic_params *params,
			 const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 acked;

	/* A timeout within an unfinished episode cuts nothing, so no loss was reported, but it resets as well. */
	if (self->ca_state == BRAID_LOSS && !priv->in_loss)
		cubic_reset(self, priv, event->now_us);
	priv->in_loss = self->ca_state == BRAID_LOSS;

	cubic_on_rtt(self, priv, params->hystart, event);
	acked = braid_acked_in_avoidance(self, event);
	if (acked == 0)
		return;
	if (params->rounding == CUBIC_ROUNDING_LINUX)
		cubic_linux_grow(self, priv, params, acked, event->now_us);
	else
		cubic_grow(self, priv, params, acked, event->now_us);
}

static void cubic_on_loss(struct braid_view *view, struct cubic_private *priv, const struct cubic_params *params,
			  const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u64 window = cubic_window(self, priv);

	/* In whole packets: less is rounding, not a flow that gives way. */
	if (params->fast_convergence && self->cwnd < priv->w_max >> 32)
		priv->w_max = cubic_round(params,
					  braid_muldiv(window, CUBIC_BETA_SCALE + params->beta, 2 * CUBIC_BETA_SCALE));
	else
		priv->w_max = window;
	priv->prior = window;
	priv->epoch_us = 0;
	priv->cwnd_cnt = 0;
	braid_reduce(self, &priv->carry, cubic_round(params, braid_muldiv(window, params->beta, CUBIC_BETA_SCALE)), 2);
	if (event->cause == BRAID_CAUSE_RTO) {
		cubic_reset(self, priv, event->now_us);
		priv->in_loss = 1;
	}
}

static void cubic_on_recovered(struct braid_view *view, struct cubic_private *priv, const struct cubic_params *params,
			       const struct braid_event *event)
{
	/* The window is back where it was; the curve begins anew from there. */
	if (event->cause == BRAID_CAUSE_UNDO) {
		priv->carry = 0;
		priv->epoch_us = 0;
	}
}

static void cubic_on_idle_restart(struct braid_view *view, struct cubic_private *priv,
				  const struct cubic_params *params, const struct braid_event *event)
{
	u64 now = cubic_clock(params, event->now_us);
	u64 idle = now - cubic_clock(params, braid_sub(event->now_us, event->idle_us));

	/* Idle time is not time on the curve. */
	if (priv->epoch_us)
		priv->epoch_us = braid_min(priv->epoch_us + idle, now);
}

BRAID_ALGORITHM(cubic, CUBIC_PARAMS, BRAID_UNCOUPLED, cubic_init, BRAID_IGNORE, cubic_on_ack, cubic_on_loss,
		cubic_on_recovered, cubic_on_idle_restart)
