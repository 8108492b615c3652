// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * CUBIC (RFC 9438) with Linux's HyStart: the window is a cubic of the time since the last reduction, independent of the
 * RTT.
 *
 *	W(t) = origin + C (t - K)^3,  K = cbrt((W_max - w) / C)           t: since w was left by the reduction
 *	per acknowledged packet in congestion avoidance:  w += (W(t + min RTT) - w) / w, at most 1/2
 *	Reno-friendly:  w >= W_est,  W_est += a / w,  a = 3 (1 - beta) / (1 + beta)
 *	per congestion event:  ssthresh = max(beta w, 2)
 *	                       W_max = w, or w (1 + beta) / 2 if w had not come back to W_max (fast convergence)
 *
 * rounding=exact is cubic.h.
 *
 * rounding=linux: windows are whole packets, carry is 0; time is in jiffies of 1 ms, curve times in 2^-10 s. With S the
 * kernel's bic_scale, C = 10 S / 2^10, and [x] the whole part of x:
 *
 *	W(t) = origin +- [10 S |t - K|^3 / 2^40],  K = [cbrt([2^40 / (10 S)] (W_max - w))]
 *	in congestion avoidance:  w += 1 for each cnt packets acknowledged
 *	cnt = [w / (W(t + min RTT) - w)], or 100 w if the curve is not above w; at most 20 while W_max is 0; at least 2
 *	Reno-friendly:  cnt <= [w / (W_est - w)],  W_est += 1 for each [[8 (1 + beta) / (3 (1 - beta))] w / 8] packets
 */
#include "cubic.h"

#define CUBIC_ROUNDING_LINUX 1u

#define CUBIC_PARAMS(P)                        \
	CUBIC_LAW_PARAMS(P)                    \
	P(rounding, 0, 0, 1, 1, "exact|linux", \
	  "fractions of packets and microseconds, or the whole packets and milliseconds of Linux 6.12")

BRAID_PARAMS(cubic, CUBIC_PARAMS);

struct cubic_public {
};

struct cubic_private {
	struct cubic_law law; /* linux: whole packets, k in 2^-10 s */
	u32 cnt;              /* linux: packets to be acknowledged per increment of cwnd */
	u32 cwnd_cnt;         /* packets acknowledged since the last increment */
	u64 last_us;          /* when cnt was computed */
	u64 ack_cnt;          /* packets acknowledged that W_est has not seen */
	u32 last_cwnd;        /* cwnd when cnt was computed */
	u32 reserved;
};

#define CUBIC_JIFFY_US 1000u /* CONFIG_HZ=1000 */
#define CUBIC_KEEP_US 31000u /* validity of cnt while cwnd does not change, HZ / 32 jiffies */

static const struct cubic_law_params *cubic_law_of(const struct cubic_params *params)
{
	return (const struct cubic_law_params *)params;
}

/* Now, in jiffies. */
static u64 cubic_linux_clock(u64 us)
{
	return us - us % CUBIC_JIFFY_US;
}

/* 10 bic_scale. The module parameter is a whole number; C is rounded to it. */
static u32 cubic_linux_c(u32 c)
{
	return 10 * braid_max32((c + 5120) / 10240, 1);
}

/* cbrt(missing / C) in 2^-10 s, from whole packets. */
static u64 cubic_linux_k(u64 missing, u32 c)
{
	return braid_cbrt(braid_mul(braid_div(1ull << 40, cubic_linux_c(c)), missing >> 32));
}

static void cubic_linux_begin_epoch(const struct braid_subflow *self, struct cubic_law *law, u32 c, u64 now_us)
{
	u64 window = cubic_window(self, law);

	law->epoch_us = braid_max(now_us, 1);
	law->w_est = window;
	law->origin = braid_max(law->w_max, window);
	law->k = (s64)cubic_linux_k(law->origin - window, c);
}

/* W(t) in whole packets, from t in jiffies. */
static u64 cubic_linux_curve(const struct cubic_law *law, u32 c, u64 jiffies)
{
	u64 t = (jiffies << 10) / 1000, k = (u64)law->k;
	u64 offset = braid_min(t > k ? t - k : k - t, CUBIC_OFFSET_MAX);
	u64 delta = braid_mul_shift(offset * offset, offset * cubic_linux_c(c), 40);

	return t > k ? (law->origin >> 32) + delta : braid_sub(law->origin >> 32, delta);
}

/* Packets to be acknowledged per increment, by the curve. */
static u64 cubic_linux_curve_cnt(const struct cubic_law *law, u32 c, u64 cwnd, u64 now_us)
{
	u64 min_rtt = braid_div_up(law->delay_min_us, CUBIC_JIFFY_US);
	u64 target = cubic_linux_curve(law, c, braid_sub(now_us, law->epoch_us) / CUBIC_JIFFY_US + min_rtt);
	u64 cnt = target > cwnd ? braid_div(cwnd, target - cwnd) : 100 * cwnd;

	return law->w_max == 0 ? braid_min(cnt, 20) : cnt;
}

/* The same by Reno's window, after advancing it. */
static u64 cubic_linux_reno_cnt(struct cubic_private *priv, u32 beta, u64 cwnd)
{
	u64 scale = braid_div(8 * (CUBIC_BETA_SCALE + beta) / 3, braid_sub(CUBIC_BETA_SCALE, beta));
	u64 per_packet = (cwnd * scale) >> 3;
	u64 packets = braid_div(braid_sub(priv->ack_cnt, 1), per_packet);

	priv->ack_cnt -= packets * per_packet;
	priv->law.w_est = braid_add(priv->law.w_est, packets << 32);
	return priv->law.w_est >> 32 > cwnd ? braid_div(cwnd, (priv->law.w_est >> 32) - cwnd) : BRAID_U64_MAX;
}

/* Computes cnt: at most once per jiffy from the curve, and not at all while cwnd and time have hardly changed. */
static void cubic_linux_update(const struct braid_subflow *self, struct cubic_private *priv,
			       const struct cubic_params *params, u32 acked, u64 now_us)
{
	u64 cnt = priv->cnt;

	priv->ack_cnt += acked;
	if (self->cwnd == priv->last_cwnd && now_us - priv->last_us <= CUBIC_KEEP_US)
		return;
	if (priv->law.epoch_us == 0 || now_us != priv->last_us) {
		priv->last_cwnd = self->cwnd;
		priv->last_us = now_us;
		if (priv->law.epoch_us == 0) {
			cubic_linux_begin_epoch(self, &priv->law, params->c, now_us);
			priv->ack_cnt = acked;
		}
		cnt = cubic_linux_curve_cnt(&priv->law, params->c, self->cwnd, now_us);
	}
	if (params->friendly)
		cnt = braid_min(cnt, cubic_linux_reno_cnt(priv, params->beta, self->cwnd));
	priv->cnt = (u32)braid_clamp(cnt, 2, BRAID_U32_MAX);
}

/* An ACK's growth in whole packets, one per cnt acknowledged. */
static void cubic_linux_grow(struct braid_subflow *self, struct cubic_private *priv, const struct cubic_params *params,
			     u32 acked, u64 now_us)
{
	cubic_linux_update(self, priv, params, acked, cubic_linux_clock(now_us));
	braid_count(self, &priv->cwnd_cnt, priv->cnt, acked);
}

/* A timeout resets this, too. */
static void cubic_linux_reset(struct cubic_private *priv)
{
	priv->cnt = 0;
	priv->cwnd_cnt = 0;
	priv->last_cwnd = 0;
	priv->last_us = 0;
	priv->ack_cnt = 0;
}

/* Whole packets only. */
static void cubic_linux_truncate(struct cubic_law *law)
{
	law->w_max &= ~(BRAID_ONE - 1);
	law->carry = 0;
}

static void cubic_init(struct braid_view *view, struct cubic_private *priv, const struct cubic_params *params,
		       const struct braid_event *event)
{
	cubic_begin_round(braid_self(view), &priv->law, event->now_us);
}

static void cubic_on_ack(struct braid_view *view, struct cubic_private *priv, const struct cubic_params *params,
			 const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	struct cubic_step step = { 0 };
	u32 acked;

	if (self->ca_state == BRAID_LOSS && !priv->law.in_loss)
		cubic_linux_reset(priv);
	acked = cubic_acked(self, &priv->law, params->hystart, event);
	if (acked == 0)
		return;
	if (params->rounding == CUBIC_ROUNDING_LINUX) {
		cubic_linux_grow(self, priv, params, acked, event->now_us);
	} else {
		cubic_plain_step(&step, cubic_law_of(params), acked, event->now_us);
		cubic_grow(self, &priv->law, cubic_law_of(params), &step);
	}
}

static void cubic_on_loss(struct braid_view *view, struct cubic_private *priv, const struct cubic_params *params,
			  const struct braid_event *event)
{
	cubic_reduce(braid_self(view), &priv->law, cubic_law_of(params), event);
	if (params->rounding == CUBIC_ROUNDING_LINUX)
		cubic_linux_truncate(&priv->law);
	priv->cwnd_cnt = 0;
	if (event->cause == BRAID_CAUSE_RTO)
		cubic_linux_reset(priv);
}

static void cubic_on_recovered(struct braid_view *view, struct cubic_private *priv, const struct cubic_params *params,
			       const struct braid_event *event)
{
	cubic_recovered(&priv->law, event);
}

static void cubic_on_idle_restart(struct braid_view *view, struct cubic_private *priv,
				  const struct cubic_params *params, const struct braid_event *event)
{
	u64 now = event->now_us, before = braid_sub(now, event->idle_us);

	if (params->rounding == CUBIC_ROUNDING_LINUX) {
		now = cubic_linux_clock(now);
		before = cubic_linux_clock(before);
	}
	cubic_skip(&priv->law, now - before, now);
}

BRAID_ALGORITHM(cubic, CUBIC_PARAMS, BRAID_UNCOUPLED | BRAID_RESTARTS_UNSEEN, cubic_init, BRAID_IGNORE, cubic_on_ack,
		cubic_on_loss, cubic_on_recovered, cubic_on_idle_restart)
