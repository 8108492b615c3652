// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * BLEST, blocking estimation (Ferlin et al., IFIP Networking 2016; mptcp_blest of the multipath-tcp.org kernels):
 * avoids the slow path s if its segments would occupy the receive window until the fast path f is blocked.
 *
 *	linger = max(srtt_s, in flight + 1 >= cwnd_s: max_s, else min_s + (max_s - min_s) (in flight + 1)/cwnd_s)
 *	k      = linger/((min_f + max_f)/2) + 1, rounds of f in that time
 *	fast   = packets that f sends in k rounds, times mss and lambda:
 *	           before the first loss cwnd_f (2^k - 1), else (c + (k - 1)/2) k with c = max(cwnd_f, ssthresh_f + 1)
 *	space  = window - (segment + outstanding and queued on s)
 *	wait if fast > space
 *
 * lambda, from 1.2, within 1.0 and 1.3: every min_s up by 0.04 if full buffers blocked a path since, else down by 0.01.
 */
#include "minrtt.h"
#include "opportunistic.h"

#define BLEST_EXACT 0u

#define BLEST_PARAMS(P)                                                                           \
	P(lambda, 1200, 1000, 10000, 1000, "", "initial factor of the fast path's expected data") \
	P(least, 1000, 0, 10000, 1000, "", "minimum lambda")                                      \
	P(most, 1300, 0, 10000, 1000, "", "maximum lambda")                                       \
	P(arithmetic, BLEST_EXACT, 0, 1, 1, "exact|fork",                                         \
	  "products in 64 bits, or all as in the out-of-tree kernel's module: they overflow in "  \
	  "32, the fastest path may be a failed or a backup one, and reinjected data waits, too") \
	OPPORTUNISTIC_PARAMS(P)

BRAID_SCHEDULER_PARAMS(blest, BLEST_PARAMS);

struct blest_private {
	struct opportunistic opportunistic;
	u32 lambda; /* in thousandths; 0: not set yet */
	u32 was_blocked;
	u64 updated_us;
	u32 min_us[BRAID_MAX_PATHS]; /* smallest srtt; 0: none yet */
	u32 max_us[BRAID_MAX_PATHS];
};

/* A value as the module has it: of 32 bits. */
braid_inline u64 blest_word(u64 value, u32 is_exact)
{
	return is_exact ? value : (u32)value;
}

/* Bytes that f sends while a segment is in flight on s. Times in eighths of a microsecond, as in Linux. */
braid_inline u64 blest_fast(const struct braid_path *f, const struct braid_path *s, u64 min_f, u64 max_f, u64 min_s,
			    u64 max_s, u32 lambda, u32 is_exact)
{
	u64 next = (u64)s->in_flight + 1, average = blest_word(8 * (min_f + max_f), is_exact) / 2;
	u64 slope = blest_word(8 * (max_s - min_s) * next, is_exact);
	u64 estimate = next >= s->cwnd ? 8 * max_s : 8 * min_s + braid_div(slope, s->cwnd);
	u64 linger = braid_max(8ull * s->srtt_us, estimate);
	u64 k = average ? braid_div(linger, average) + 1 : 1;
	u64 packets;

	if (f->ssthresh >= BRAID_NO_SSTHRESH)
		packets = (u64)f->cwnd * (braid_shl(1, (u32)braid_min(k, 16)) - 1);
	else
		packets = braid_mul(braid_max32(f->cwnd, f->ssthresh + 1) + (k - 1) / 2, k);
	packets = blest_word(packets, is_exact);
	return blest_word(braid_div(braid_mul(braid_mul(packets, f->mss), lambda), 1000), is_exact);
}

/* Updates the extremes of the paths' srtt. */
braid_inline void blest_measure(const struct braid_paths *view, struct blest_private *priv)
{
	u32 i;

	for (i = 0; i < BRAID_MAX_PATHS; i++) {
		u32 srtt = view->path[i].srtt_us;

		if (i >= view->n || !srtt || !(view->path[i].flags & BRAID_PATH_ESTABLISHED))
			continue;
		if (!priv->min_us[i] || srtt < priv->min_us[i])
			priv->min_us[i] = srtt;
		priv->max_us[i] = braid_max32(priv->max_us[i], srtt);
	}
}

/* The path for the segment. */
braid_inline u32 blest_path(const struct braid_paths *view, struct blest_private *priv,
			    const struct blest_params *params, struct braid_choice *choice)
{
	u32 is_exact = params->arithmetic == BLEST_EXACT;
	u32 slow = minrtt_choose(view, braid_ready(view), choice), fast = minrtt_fastest(view, is_exact);
	const struct braid_path *f, *s;
	u64 space;

	blest_measure(view, priv);
	if (slow == BRAID_NO_PATH || fast == BRAID_NO_PATH || fast == slow ||
	    (is_exact && view->flags & BRAID_REINJECTION))
		return slow;
	fast &= BRAID_MAX_PATHS - 1;
	slow &= BRAID_MAX_PATHS - 1;
	f = &view->path[fast];
	s = &view->path[slow];
	if (view->now_us - priv->updated_us >= priv->min_us[slow]) {
		u32 lambda = priv->was_blocked ? priv->lambda + 40 : priv->lambda - braid_min32(priv->lambda, 10);

		priv->lambda = braid_min32(braid_max32(lambda, params->least), params->most);
		priv->was_blocked = 0;
		priv->updated_us = view->now_us;
	}
	space = braid_sub(view->window, view->segment + ((u64)s->in_flight + s->queued) * s->mss);
	if (blest_fast(f, s, priv->min_us[fast], priv->max_us[fast], priv->min_us[slow], priv->max_us[slow],
		       priv->lambda, is_exact) <= space)
		return slow;
	choice->wake_us = braid_max32(f->srtt_us, 1);
	return BRAID_NO_PATH;
}

static void blest_on_choose(const struct braid_paths *view, struct blest_private *priv,
			    const struct blest_params *params, struct braid_choice *choice)
{
	braid_send(choice, blest_path(view, priv, params, choice), 1);
}

static void blest_on_join(const struct braid_paths *view, struct blest_private *priv, const struct blest_params *params,
			  struct braid_choice *choice)
{
	u32 self = view->self & (BRAID_MAX_PATHS - 1);

	if (!priv->lambda) {
		priv->lambda = params->lambda;
		priv->updated_us = view->now_us;
	}
	priv->min_us[self] = 0;
	priv->max_us[self] = 0;
	opportunistic_join(view, &priv->opportunistic);
}

static void blest_on_blocked(const struct braid_paths *view, struct blest_private *priv,
			     const struct blest_params *params, struct braid_choice *choice)
{
	/* The module asks for a path first, and does nothing if it is to wait. */
	if (params->arithmetic != BLEST_EXACT) {
		struct braid_choice asked = { 0 };

		if (blest_path(view, priv, params, &asked) == BRAID_NO_PATH)
			return;
	}
	if (view->head_carriers && !(view->flags & BRAID_MEMORY_LEFT))
		priv->was_blocked = 1;
	opportunistic_blocked(view, &priv->opportunistic, params->retransmit, params->penalise, choice);
}

BRAID_SCHEDULER(blest, BLEST_PARAMS, 0, blest_on_choose, blest_on_join, BRAID_IGNORE, blest_on_blocked)
