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
 * lambda, from 1.2, within 1.0 and 1.3: every min_s up by 0.04 if the window was full since, else down by 0.01.
 */
#include "minrtt.h"
#include "opportunistic.h"

#define BLEST_PARAMS(P)                                                                           \
	P(lambda, 1200, 1000, 10000, 1000, "", "initial factor of the fast path's expected data") \
	P(least, 1000, 0, 10000, 1000, "", "minimum lambda")                                      \
	P(most, 1300, 0, 10000, 1000, "", "maximum lambda")                                       \
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

/* Bytes that f sends while a segment is in flight on s. */
braid_inline u64 blest_fast(const struct braid_path *f, const struct braid_path *s, u32 min_f, u32 max_f, u32 min_s,
			    u32 max_s, u32 lambda)
{
	u64 next = (u64)s->in_flight + 1, average = ((u64)min_f + max_f) / 2;
	u64 estimate = next >= s->cwnd ? max_s : min_s + braid_div((max_s - (u64)min_s) * next, s->cwnd);
	u64 linger = braid_max(s->srtt_us, estimate);
	u64 k = average ? braid_div(linger, average) + 1 : 1;
	u64 packets;

	if (f->ssthresh >= BRAID_NO_SSTHRESH)
		packets = (u64)f->cwnd * (braid_shl(1, (u32)braid_min(k, 16)) - 1);
	else
		packets = braid_mul(braid_max32(f->cwnd, f->ssthresh + 1) + (k - 1) / 2, k);
	return braid_div(braid_mul(braid_mul(packets, f->mss), lambda), 1000);
}

static void blest_on_choose(const struct braid_paths *view, struct blest_private *priv,
			    const struct blest_params *params, struct braid_choice *choice)
{
	u32 regular = braid_paths_with(view, BRAID_PATH_USABLE, BRAID_PATH_BACKUP | BRAID_PATH_LOSS);
	u32 able = regular ? regular : braid_paths_with(view, BRAID_PATH_USABLE, BRAID_PATH_LOSS);
	u32 slow = minrtt_choose(view, braid_ready(view), choice), fast, i;
	const struct braid_path *f, *s;
	u64 rank[BRAID_MAX_PATHS], space;

	if (!priv->lambda)
		priv->lambda = params->lambda;
	for (i = 0; i < BRAID_MAX_PATHS; i++) {
		u32 srtt = view->path[i].srtt_us;

		rank[i] = srtt;
		if (i >= view->n || !srtt)
			continue;
		if (!priv->min_us[i] || srtt < priv->min_us[i])
			priv->min_us[i] = srtt;
		priv->max_us[i] = braid_max32(priv->max_us[i], srtt);
	}
	fast = braid_first(able, rank);
	if (slow == BRAID_NO_PATH || fast == BRAID_NO_PATH || fast == slow || view->flags & BRAID_REINJECTION) {
		braid_send(choice, slow, 1);
		return;
	}
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
		       priv->lambda) > space) {
		choice->wake_us = braid_max32(f->srtt_us, 1);
		return;
	}
	braid_send(choice, slow, 1);
}

static void blest_on_join(const struct braid_paths *view, struct blest_private *priv, const struct blest_params *params,
			  struct braid_choice *choice)
{
	u32 self = view->self & (BRAID_MAX_PATHS - 1);

	priv->min_us[self] = 0;
	priv->max_us[self] = 0;
	opportunistic_join(view, &priv->opportunistic);
}

static void blest_on_blocked(const struct braid_paths *view, struct blest_private *priv,
			     const struct blest_params *params, struct braid_choice *choice)
{
	priv->was_blocked = 1;
	opportunistic_blocked(view, &priv->opportunistic, params->retransmit, params->penalise, choice);
}

BRAID_SCHEDULER(blest, BLEST_PARAMS, 0, blest_on_choose, blest_on_join, BRAID_IGNORE, blest_on_blocked)
