// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ECF, earliest completion first (Lim et al., CoNEXT 2017): uses a slower path only if it completes before the fastest
 * one would after waiting for it. f is the path with the smallest srtt, with or without room, s is minRTT's choice, k
 * the bytes not assigned to a path, w = cwnd mss:
 *
 *	delta = max(sigma_f, sigma_s)
 *	1:  srtt_f (max(k, w_f) + w_f)/w_f < (1 + waiting beta) (srtt_s + delta)
 *	2:  srtt_s max(k, w_s)/w_s >= 2 srtt_f + delta
 *	1 and 2: wait for f; 1 alone: s; not 1: s, and waiting ends
 */
#include "minrtt.h"
#include "opportunistic.h"

#define ECF_EXACT 0u

#define ECF_PARAMS(P)                                                                                           \
	P(beta, 256, 0, 1024, 1024, "", "hysteresis: how much longer to wait once waiting")                     \
	P(sigma, 0, 0, 1, 1, "rttvar|linux",                                                                    \
	  "RTT variation of RFC 6298, or half of what Linux keeps, whose floor of 200 ms outweighs short RTTs") \
	P(arithmetic, ECF_EXACT, 0, 1, 1, "exact|fork",                                                         \
	  "products in 64 bits, or all as in the out-of-tree kernel's module: products overflow in 32, the "    \
	  "fastest path may be a failed or a backup one, and reinjected data waits, too")                       \
	OPPORTUNISTIC_PARAMS(P)

BRAID_SCHEDULER_PARAMS(ecf, ECF_PARAMS);

struct ecf_private {
	struct opportunistic opportunistic;
	u32 waiting;
};

braid_inline u64 ecf_sigma(const struct braid_path *path, u32 sigma)
{
	return sigma ? path->mdev_max_us >> 1 : path->rttvar_us;
}

/* A product as the module has it: of 32 bits. */
braid_inline u64 ecf_product(u64 a, u64 b, u32 arithmetic)
{
	return arithmetic == ECF_EXACT ? a * b : (u32)a * (u32)b;
}

/* The path for the segment. */
braid_inline u32 ecf_path(const struct braid_paths *view, struct ecf_private *priv, const struct ecf_params *params,
			  struct braid_choice *choice)
{
	u32 is_exact = params->arithmetic == ECF_EXACT;
	u32 slow = minrtt_choose(view, braid_ready(view), choice), fast = minrtt_fastest(view, is_exact);
	const struct braid_path *f, *s;
	u64 delta, window, left, right;

	if (slow == BRAID_NO_PATH || fast == BRAID_NO_PATH || fast == slow ||
	    (is_exact && view->flags & BRAID_REINJECTION))
		return slow;
	f = &view->path[fast & (BRAID_MAX_PATHS - 1)];
	s = &view->path[slow & (BRAID_MAX_PATHS - 1)];
	delta = braid_max(ecf_sigma(f, params->sigma), ecf_sigma(s, params->sigma));
	/* The module takes the MSS of s for both. */
	window = (u64)f->cwnd * (is_exact ? f->mss : s->mss);
	left = ecf_product(f->srtt_us, braid_max(view->unassigned, window) + window, params->arithmetic);
	right = ecf_product(window, s->srtt_us + delta, params->arithmetic);
	if (!braid_product_below(left, 1024, right, 1024 + priv->waiting * params->beta)) {
		priv->waiting = 0;
		return slow;
	}
	window = (u64)s->cwnd * s->mss;
	left = ecf_product(s->srtt_us, braid_max(view->unassigned, window), params->arithmetic);
	right = ecf_product(window, 2ull * f->srtt_us + delta, params->arithmetic);
	if (left < right)
		return slow;
	priv->waiting = 1;
	choice->wake_us = braid_max32(f->srtt_us, 1);
	return BRAID_NO_PATH;
}

static void ecf_on_choose(const struct braid_paths *view, struct ecf_private *priv, const struct ecf_params *params,
			  struct braid_choice *choice)
{
	braid_send(choice, ecf_path(view, priv, params, choice), 1);
}

static void ecf_on_join(const struct braid_paths *view, struct ecf_private *priv, const struct ecf_params *params,
			struct braid_choice *choice)
{
	opportunistic_join(view, &priv->opportunistic);
}

static void ecf_on_blocked(const struct braid_paths *view, struct ecf_private *priv, const struct ecf_params *params,
			   struct braid_choice *choice)
{
	/* The module asks for a path first, and does nothing if it is to wait. */
	if (params->arithmetic != ECF_EXACT) {
		struct braid_choice asked = { 0 };

		if (ecf_path(view, priv, params, &asked) == BRAID_NO_PATH)
			return;
	}
	opportunistic_blocked(view, &priv->opportunistic, params->retransmit, params->penalise, choice);
	if (params->arithmetic == ECF_EXACT)
		opportunistic_rest(view, &priv->opportunistic, params->retransmit, params->penalise, choice);
}

BRAID_SCHEDULER(ecf, ECF_PARAMS, 0, ecf_on_choose, ecf_on_join, BRAID_IGNORE, ecf_on_blocked)
