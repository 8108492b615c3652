// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Weighted round-robin: of every sum(w) packets path r gets w_r, spread evenly. A path without room is skipped and
 * saves at most one turn.
 *
 *	credit_k += w_k for all k; r = argmax credit_k; credit_r -= sum(w)
 *
 * weights=auto derives them from the windows, once per RTT of the slowest path:
 *
 *	w_r = max(1, round(10 x_r / max x_k)), x = cwnd/srtt
 */
#include "scheduler.h"

#define WRR_PARAMS(P)                                                                                         \
	P(weights, 0, 0, 1, 1, "fixed|auto", "weights given below, or derived from the windows of the paths") \
	P(w1, 1, 1, 100, 1, "", "weight of the first path")                                                   \
	P(w2, 1, 1, 100, 1, "", "weight of the second path")                                                  \
	P(w3, 1, 1, 100, 1, "", "weight of the third path")                                                   \
	P(w4, 1, 1, 100, 1, "", "weight of the fourth path")                                                  \
	P(w5, 1, 1, 100, 1, "", "weight of the fifth path")                                                   \
	P(w6, 1, 1, 100, 1, "", "weight of the sixth path")                                                   \
	P(w7, 1, 1, 100, 1, "", "weight of the seventh path")                                                 \
	P(w8, 1, 1, 100, 1, "", "weight of the eighth path")

BRAID_SCHEDULER_PARAMS(wrr, WRR_PARAMS);

struct wrr_private {
	s32 credit[BRAID_MAX_PATHS];
	u32 weight[BRAID_MAX_PATHS]; /* 0: not set yet */
	u64 set_us;
};

braid_inline u32 wrr_given(const struct wrr_params *params, u32 path)
{
	switch (path) {
	case 0: return params->w1;
	case 1: return params->w2;
	case 2: return params->w3;
	case 3: return params->w4;
	case 4: return params->w5;
	case 5: return params->w6;
	case 6: return params->w7;
	default: return params->w8;
	}
}

/* x_r, in packets per 1024 seconds. */
braid_inline u64 wrr_rate(const struct braid_path *path)
{
	return braid_div((u64)path->cwnd << 30, braid_max32(path->srtt_us, 1));
}

static void wrr_on_choose(const struct braid_paths *view, struct wrr_private *priv, const struct wrr_params *params,
			  struct braid_choice *choice)
{
	u32 regular = braid_paths_with(view, BRAID_PATH_USABLE, BRAID_PATH_BACKUP);
	u32 set = regular ? regular : braid_paths_with(view, BRAID_PATH_USABLE, 0);
	u32 ready = set & braid_ready(view), best = BRAID_NO_PATH, slowest = 0, i;
	u64 most = 0;
	s32 sum = 0, highest = 0;

	if (view->flags & BRAID_REINJECTION)
		ready &= ready & ~view->carriers ? ~view->carriers : ~0u;
	if (!ready)
		return;
	braid_for_each_path(i, set)
	{
		slowest = braid_max32(slowest, view->path[i].srtt_us);
		most = braid_max(most, wrr_rate(&view->path[i]));
	}
	if (params->weights && view->now_us - priv->set_us >= slowest) {
		priv->set_us = view->now_us;
		for (i = 0; i < BRAID_MAX_PATHS; i++)
			priv->weight[i] = 0;
	}
	braid_for_each_path(i, set)
	{
		s32 weight;

		if (!params->weights)
			priv->weight[i] = wrr_given(params, i);
		else if (!priv->weight[i])
			priv->weight[i] = braid_max32(1, (u32)braid_div(20 * wrr_rate(&view->path[i]) + most,
									2 * braid_max(most, 1)));
		weight = (s32)priv->weight[i];
		priv->credit[i] += weight;
		if (!(ready >> i & 1)) {
			priv->credit[i] = priv->credit[i] < weight ? priv->credit[i] : weight;
			continue;
		}
		sum += weight;
		if (best == BRAID_NO_PATH || priv->credit[i] > highest) {
			best = i;
			highest = priv->credit[i];
		}
	}
	if (best == BRAID_NO_PATH)
		return;
	priv->credit[best & (BRAID_MAX_PATHS - 1)] -= sum;
	braid_send(choice, best, 1);
}

static void wrr_on_join(const struct braid_paths *view, struct wrr_private *priv, const struct wrr_params *params,
			struct braid_choice *choice)
{
	priv->credit[view->self & (BRAID_MAX_PATHS - 1)] = 0;
	priv->weight[view->self & (BRAID_MAX_PATHS - 1)] = 0;
}

BRAID_SCHEDULER(wrr, WRR_PARAMS, 0, wrr_on_choose, wrr_on_join, BRAID_IGNORE, BRAID_IGNORE)
