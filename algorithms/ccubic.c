// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Coupled CUBIC (CSSE 45(1), 2023): CUBIC where the path has a large bandwidth-delay product, LIA elsewhere. LIA counts
 * each CUBIC window as V, the smaller window that LIA itself would have there.
 *
 *	W_R = kr / sqrt(p), p = rtt (kc / w)^(4/3)    Reno's mean window at the loss rate at which CUBIC's is w
 *	kr = 1.2, kc = (C (3 + beta) / (4 (1 - beta)))^(1/4);  W_R = kr w^(2/3) / (kc^(2/3) sqrt(rtt)), at most w
 *	u = V on large paths, w on others;  alpha = u_tot max_k(u_k/rtt_k^2) / (sum_k u_k/rtt_k)^2
 *	V = W_R sqrt(min(alpha, 1))                   norm=sqrt_alpha
 *	V = W_R sqrt(min(alpha V / u_tot, 1))         norm=self_consistent
 *	V = W_R                                       norm=none
 *
 *	large=response:  W_R < w, that is w^2 rtt^3 kc^4 > kr^6, where CUBIC's mean window exceeds Reno's
 *	large=curve:     CUBIC's curve is above its Reno-friendly window
 *	(either for one RTT, to change)
 *	large paths:  growth and decrease as CUBIC
 *	others:       w += min(alpha/u_tot, 1/w) per acknowledged packet,  ssthresh = max(w/2, 2) per congestion event
 */
#include "cubic.h"
#include "lia.h"

#define CCUBIC_SQRT_ALPHA 0u
#define CCUBIC_SELF_CONSISTENT 1u
#define CCUBIC_CURVE 1u

#define CCUBIC_PARAMS(P)                                                                                                     \
	CUBIC_LAW_PARAMS(P)                                                                                                  \
	P(norm, CCUBIC_SQRT_ALPHA, 0, 2, 1, "sqrt_alpha|self_consistent|none",                                               \
	  "factor from Reno's window to LIA's: the root of alpha, as published; the root of the subflow's part of alpha; 1") \
	P(large, 0, 0, 1, 1, "response|curve",                                                                               \
	  "a path is large if CUBIC's mean window exceeds Reno's, or if the curve is above the Reno-friendly window")        \
	P(scale_c, 0, 0, 1, 1, "off|on", "also couple the large paths: C times the fourth power of V / W_R")

BRAID_PARAMS(ccubic, CCUBIC_PARAMS);

struct ccubic_public {
	u32 window; /* V, packets; 0: cwnd counts */
	u32 reserved;
};

struct ccubic_private {
	struct cubic_law law;
	u64 c;         /* C in force, as in struct cubic_step */
	u64 look_us;   /* V is recomputed from this time on */
	u64 agreed_us; /* last time at which the path matched its class */
	u32 large;     /* the path has a large bandwidth-delay product */
	u32 reserved;
};

static const struct cubic_law_params *ccubic_law_of(const struct ccubic_params *params)
{
	return (const struct cubic_law_params *)params;
}

/* kc^4 = C (3 + beta) / (4 (1 - beta)), 40 fraction bits, at most 2^52 */
static u64 ccubic_kc4(const struct ccubic_params *params)
{
	return braid_div(((u64)params->c << 20) * (3 * CUBIC_BETA_SCALE + params->beta),
			 4 * (CUBIC_BETA_SCALE - params->beta));
}

/* kc^(2/3), 18 fraction bits. */
static u64 ccubic_kc(const struct ccubic_params *params)
{
	return braid_max(braid_cbrt((u64)braid_sqrt(ccubic_kc4(params) << 8) << 30), 1);
}

/* W_R for a window in packets, 16 fraction bits. */
static u64 ccubic_reno_window(const struct ccubic_params *params, u32 window, u32 rtt_us)
{
	u64 root = braid_cbrt((u64)window << 42);     /* w^(1/3), 14 fraction bits */
	u64 root_rtt = braid_sqrt((u64)rtt_us << 32); /* 16 fraction bits; times 1000, as RTT is in us */
	u64 reno = braid_muldiv(1200 * root * root, 1 << 22, braid_max(root_rtt, 1) * ccubic_kc(params));

	return braid_min(reno, (u64)window << 16);
}

/* sqrt(min(x, 1)), 31 fraction bits, for x with 62 fraction bits. */
static u64 ccubic_root(u64 x)
{
	return braid_sqrt(braid_min(x, 1ull << (2 * BRAID_SHARE_BITS)));
}

/* V / W_R, BRAID_SHARE_BITS fraction bits. */
static u64 ccubic_norm(const struct lia_best *best, u32 norm, u32 own)
{
	u64 square = best->share * best->share;

	if (norm == CCUBIC_SQRT_ALPHA)
		return ccubic_root(braid_muldiv(square, best->total, best->window));
	if (norm == CCUBIC_SELF_CONSISTENT)
		return ccubic_root(braid_muldiv(square, own, best->window));
	return 1ull << BRAID_SHARE_BITS;
}

/* Continues with another C. */
static void ccubic_use(struct ccubic_private *priv, u64 c, u64 now_us)
{
	if (priv->law.epoch_us && c != priv->c)
		cubic_rescale(&priv->law, priv->c, c, now_us);
	priv->c = c;
}

/* On a large path: publishes V, and computes C. */
static void ccubic_normalise(struct braid_view *view, struct ccubic_private *priv, const struct ccubic_params *params,
			     const struct lia_best *best, u64 now_us)
{
	struct braid_subflow *self = braid_self(view);
	struct ccubic_public *public = BRAID_PUBLIC(ccubic, self);
	u64 norm = ccubic_norm(best, params->norm, braid_counted_window(view, view->self, 1)), square;
	u64 reno = ccubic_reno_window(params, braid_rate_window(view, view->self), braid_rtt(self));

	public->window = braid_max32((u32)((braid_mul_shift(reno, norm, BRAID_SHARE_BITS) + (1 << 15)) >> 16), 1);
	priv->look_us = now_us + self->srtt_us;
	if (!params->scale_c)
		return;
	square = norm * norm >> BRAID_SHARE_BITS;
	square = braid_mul_shift(cubic_c(ccubic_law_of(params)), square * square, 2 * BRAID_SHARE_BITS);
	ccubic_use(priv, braid_max(square, 1), now_us);
}

/* Whether the path is large at present. */
static u32 ccubic_looks_large(const struct braid_view *view, const struct cubic_law *law,
			      const struct ccubic_params *params, const struct cubic_step *step)
{
	u64 window = braid_min(braid_rate_window(view, view->self), (1u << 20) - 1);
	u64 rtt = braid_rtt(braid_self((struct braid_view *)view));

	if (params->large == CCUBIC_CURVE)
		return cubic_curve(law, step, braid_sub(step->now_us, law->epoch_us)) > law->w_est;
	/* 1.2^6 s^3 = 2985984e12 us^3 */
	return braid_product_below(braid_muldiv(2985984000000000000ull, 1ull << 40, ccubic_kc4(params)), 1,
				   window * window * rtt, rtt * rtt);
}

/* Classifies the path; a change must last for one RTT of the curve, which then restarts. */
static void ccubic_decide(struct braid_view *view, struct ccubic_private *priv, const struct ccubic_params *params,
			  const struct cubic_step *step)
{
	struct braid_subflow *self = braid_self(view);

	if (!priv->law.epoch_us || ccubic_looks_large(view, &priv->law, params, step) == priv->large) {
		priv->agreed_us = step->now_us;
	} else if (braid_sub(step->now_us, priv->agreed_us) >= self->srtt_us) {
		priv->large ^= 1;
		priv->agreed_us = step->now_us;
		priv->look_us = step->now_us;
		priv->law.epoch_us = 0;
		BRAID_PUBLIC(ccubic, self)->window = 0;
	}
}

/* LIA's growth on a path that is not large. CUBIC's curve and Reno-friendly window are kept up to date. */
static void ccubic_grow_as_lia(struct braid_subflow *self, struct ccubic_private *priv,
			       const struct ccubic_params *params, const struct lia_best *best,
			       const struct cubic_step *step)
{
	u64 increase = braid_min(lia_slope(best), braid_reno_increase(self->cwnd));
	u32 cwnd = braid_max32(self->cwnd, 1);

	if (priv->law.epoch_us == 0)
		cubic_begin_epoch(self, &priv->law, step->c, step->now_us);
	cubic_grow_estimate(&priv->law, ccubic_law_of(params), cwnd, braid_reciprocal(cwnd), step);
	braid_grow(self, &priv->law.carry, (s64)increase, step->acked);
}

static void ccubic_init(struct braid_view *view, struct ccubic_private *priv, const struct ccubic_params *params,
			const struct braid_event *event)
{
	cubic_begin_round(braid_self(view), &priv->law, event->now_us);
	priv->c = cubic_c(ccubic_law_of(params));
}

static void ccubic_on_ack(struct braid_view *view, struct ccubic_private *priv, const struct ccubic_params *params,
			  const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	struct cubic_step step = { 0 };
	struct lia_best best;
	u32 acked, eligible;

	acked = cubic_acked(self, &priv->law, params->hystart, event);
	if (acked == 0)
		return;
	cubic_plain_step(&step, ccubic_law_of(params), acked, event->now_us);
	eligible = braid_eligible(view);
	if (!braid_is_coupled(view, eligible)) {
		ccubic_use(priv, step.c, step.now_us);
		cubic_grow(self, &priv->law, ccubic_law_of(params), &step);
		return;
	}
	step.c = priv->c;
	step.c_below = priv->c;
	ccubic_decide(view, priv, params, &step);
	if (priv->large && event->now_us < priv->look_us) {
		cubic_grow(self, &priv->law, ccubic_law_of(params), &step);
		return;
	}
	lia_find_best(view, eligible, 1, &best);
	if (priv->large) {
		ccubic_normalise(view, priv, params, &best, event->now_us);
		cubic_grow(self, &priv->law, ccubic_law_of(params), &step);
	} else {
		ccubic_grow_as_lia(self, priv, params, &best, &step);
	}
}

static void ccubic_on_loss(struct braid_view *view, struct ccubic_private *priv, const struct ccubic_params *params,
			   const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	s64 carry = priv->law.carry;

	cubic_reduce(self, &priv->law, ccubic_law_of(params), event);
	priv->look_us = event->now_us;
	if (!priv->large && braid_is_coupled(view, braid_eligible(view))) {
		priv->law.carry = carry;
		braid_halve(self, &priv->law.carry, 2);
	}
}

static void ccubic_on_recovered(struct braid_view *view, struct ccubic_private *priv,
				const struct ccubic_params *params, const struct braid_event *event)
{
	cubic_recovered(&priv->law, event);
}

static void ccubic_on_idle_restart(struct braid_view *view, struct ccubic_private *priv,
				   const struct ccubic_params *params, const struct braid_event *event)
{
	cubic_skip(&priv->law, braid_min(event->idle_us, event->now_us), event->now_us);
}

BRAID_ALGORITHM(ccubic, CCUBIC_PARAMS,
		BRAID_RATES_OF_SIBLINGS | BRAID_NO_ID_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
			BRAID_NO_BYTES_OF_SIBLINGS | BRAID_RESTARTS_UNSEEN,
		ccubic_init, BRAID_IGNORE, ccubic_on_ack, ccubic_on_loss, ccubic_on_recovered, ccubic_on_idle_restart)
