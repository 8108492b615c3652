// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * DAPS, delay-aware packet scheduling (Kuhn et al., ICC 2014): plans which data to send on which path so that they
 * arrive in order. With the paths in the order of their srtt, D_i = max(1, srtt_i/2 in ms, rounded to `grid`), W_i the
 * smoothed window:
 *
 *	for t = 1 ms to the least common multiple of all D_i: each path i for which D_i divides t gets the next W_i packets
 *
 * Then a new plan is made. The plan waits for a path without room, and skips an unusable one.
 */
#include "opportunistic.h"

#define DAPS_MS 0u

#define DAPS_PARAMS(P)                                                                                          \
	P(clock, DAPS_MS, 0, 1, 1, "ms|us",                                                                     \
	  "unit of the plan: as published, or the microseconds of its module, where grid is in them, too; its " \
	  "plans have no horizon, include backup paths, and distribute reinjected data")                        \
	P(grid, 4, 1, 100, 1, "ms", "delays are rounded to multiples of this")                                  \
	P(horizon, 2000, 1, 100000, 1, "ms", "no plan is longer: multiples of unlike delays have no end")       \
	P(windows, 0, 0, 1, 1, "smoothed|now", "averages at the plan's start, or windows when a turn comes")    \
	P(retransmit, 1, 0, 1, 1, "off|on",                                                                     \
	  "send the oldest segment again on a faster path when the receive window is full")

BRAID_SCHEDULER_PARAMS(daps, DAPS_PARAMS);

struct daps_private {
	struct opportunistic opportunistic;
	u32 delay[BRAID_MAX_PATHS];    /* in units of the clock, as all times of the plan; 0: not in the plan */
	u32 srtt_us[BRAID_MAX_PATHS];  /* when the plan was made */
	u32 window[BRAID_MAX_PATHS];   /* planned packets of a turn */
	u32 smoothed[BRAID_MAX_PATHS]; /* window in eighths of a packet; 0: none yet */
	u64 smoothed_us[BRAID_MAX_PATHS];
	u32 time, end; /* of the plan; both 0: there is none */
	u32 due;       /* set of paths whose turn at `time` is still to come */
	u32 path;      /* whose turn it is */
	u32 left;      /* packets of it */
};

/* A signed number: BPF has no signed division. */
struct daps_number {
	u32 size;
	u32 is_negative;
};

/* C's gcd by Euclid, whose remainders have the sign of the dividend. */
braid_inline struct daps_number daps_gcd(struct daps_number a, struct daps_number b)
{
	u32 i;

	/* The numbers of Fibonacci take longest: 46 steps below 2^31. */
	for (i = 0; i < 46 && b.size; i++) {
		struct daps_number rest = { a.size - (u32)braid_div(a.size, b.size) * b.size, a.is_negative };

		a = b;
		b = rest;
	}
	return a;
}

/* The least common multiple of a and a delay: at most `most` or, as in the module, of 32 bits that overflow. */
braid_inline struct daps_number daps_lcm(struct daps_number a, u32 delay, u64 most, u32 clock)
{
	struct daps_number b = { delay, 0 };
	u32 divisor, product;

	if (clock == DAPS_MS) {
		a.size = (u32)braid_min(braid_div(a.size, daps_gcd(a, b).size) * delay, braid_max(most, delay));
		return a;
	}
	product = a.size * delay;
	product = a.is_negative ? 0 - product : product;
	b = daps_gcd(a, b);
	divisor = b.size;
	a.is_negative = product >> 31;
	a.size = (u32)braid_div(a.is_negative ? 0 - product : product, divisor);
	a.is_negative = a.size && a.is_negative != b.is_negative;
	return a;
}

braid_inline u32 daps_delay(u32 srtt_us, const struct daps_params *params)
{
	u32 unit_us = params->clock == DAPS_MS ? 1000 : 1, longest = (u32)braid_div(30000000, unit_us);
	u32 grid = braid_max32(params->grid, 1);
	u64 half_us = srtt_us / 2, step_us = (u64)unit_us * grid;
	u32 steps = (u32)braid_div(half_us + (step_us + (grid > 1)) / 2, step_us);

	if (params->clock != DAPS_MS && grid == 1)
		steps = (u32)half_us;
	return braid_max32(braid_min32(steps * grid, longest), 1);
}

/* A new plan over these paths. */
braid_inline void daps_plan(const struct braid_paths *view, struct daps_private *priv, const struct daps_params *params,
			    u32 set)
{
	struct daps_number end = { 1, 0 };
	u64 most = (u64)params->horizon, rank[BRAID_MAX_PATHS];
	u32 i, k;

	for (i = 0; i < BRAID_MAX_PATHS; i++) {
		priv->delay[i] = 0;
		rank[i] = view->path[i].srtt_us;
	}
	/* In this order, because it decides what overflows. */
	for (k = 0; k < BRAID_MAX_PATHS; k++) {
		i = braid_first(set, rank);
		if (i == BRAID_NO_PATH)
			break;
		i &= BRAID_MAX_PATHS - 1;
		set &= ~(1u << i);
		priv->delay[i] = daps_delay(view->path[i].srtt_us, params);
		priv->srtt_us[i] = view->path[i].srtt_us;
		priv->window[i] = priv->smoothed[i] ? priv->smoothed[i] / 8 : view->path[i].cwnd;
		end = daps_lcm(end, priv->delay[i], most, params->clock);
	}
	priv->time = 0;
	priv->end = end.is_negative ? 0 : end.size;
	priv->due = 0;
	priv->left = 0;
}

/* The next path of the plan; false at its end. */
braid_inline u32 daps_next(const struct braid_paths *view, struct daps_private *priv, const struct daps_params *params,
			   u32 set)
{
	u64 rank[BRAID_MAX_PATHS];
	u32 i, next = BRAID_U32_MAX, path;

	if (!(priv->due & set)) {
		braid_for_each_path(i, set)
		{
			u32 delay = priv->delay[i];

			if (delay)
				next = braid_min32(next, ((u32)braid_div(priv->time, delay) + 1) * delay);
		}
		if (next > priv->end)
			return 0;
		priv->time = next;
		priv->due = 0;
		for (i = 0; i < BRAID_MAX_PATHS; i++) {
			u32 delay = priv->delay[i];

			if (delay && (u32)braid_div(next, delay) * delay == next)
				priv->due |= 1u << i;
		}
	}
	for (i = 0; i < BRAID_MAX_PATHS; i++)
		rank[i] = priv->srtt_us[i];
	path = braid_first(priv->due & set, rank);
	if (path == BRAID_NO_PATH)
		return 0;
	path &= BRAID_MAX_PATHS - 1;
	/* A faster path that is unusable now loses its turn; a slower one may return. */
	for (i = 0; i < BRAID_MAX_PATHS; i++)
		priv->due &= ~((u32)(rank[i] <= rank[path]) << i);
	priv->path = path;
	priv->left = braid_max32(params->windows ? view->path[path].cwnd : priv->window[path], 1);
	return 1;
}

/* The ready path with the smallest srtt that has not sent the segment, else that of all ready ones. */
braid_inline u32 daps_fastest(const struct braid_paths *view, struct braid_choice *choice)
{
	u32 ready = braid_ready(view), fresh = ready & ~view->carriers, i;
	u64 rank[BRAID_MAX_PATHS];

	if (!fresh && ready)
		choice->flags |= BRAID_FORGET;
	for (i = 0; i < BRAID_MAX_PATHS; i++)
		rank[i] = view->path[i].srtt_us;
	return braid_first(fresh ? fresh : ready, rank);
}

/* Brings the plan to the next packet; false if there is no plan. */
braid_inline u32 daps_advance(const struct braid_paths *view, struct daps_private *priv,
			      const struct daps_params *params, u32 set)
{
	if (priv->left && set >> (priv->path & (BRAID_MAX_PATHS - 1)) & 1)
		return 1;
	if (daps_next(view, priv, params, set))
		return 1;
	daps_plan(view, priv, params, set);
	return daps_next(view, priv, params, set);
}

/* The paths of a plan. */
braid_inline u32 daps_set(const struct braid_paths *view, const struct daps_params *params)
{
	u32 usable = braid_paths_with(view, BRAID_PATH_USABLE, BRAID_PATH_LOSS);
	u32 regular = braid_paths_with(view, BRAID_PATH_USABLE, BRAID_PATH_BACKUP | BRAID_PATH_LOSS);

	return regular && params->clock == DAPS_MS ? regular : usable;
}

static void daps_on_choose(const struct braid_paths *view, struct daps_private *priv, const struct daps_params *params,
			   struct braid_choice *choice)
{
	u32 set = daps_set(view, params), path, i;
	u64 rank[BRAID_MAX_PATHS];

	if (params->clock == DAPS_MS && (view->flags & BRAID_REINJECTION || !(set & (set - 1)))) {
		for (i = 0; i < BRAID_MAX_PATHS; i++)
			rank[i] = view->path[i].srtt_us;
		braid_send(choice, braid_choose(view, braid_ready(view), rank, choice), 1);
		return;
	}
	if (!daps_advance(view, priv, params, set)) {
		if (params->clock != DAPS_MS)
			braid_send(choice, daps_fastest(view, choice), 1);
		return;
	}
	path = priv->path & (BRAID_MAX_PATHS - 1);
	if (!(view->path[path].flags & BRAID_PATH_ROOM)) {
		choice->wake_us = braid_max32(view->path[path].srtt_us, 1);
		return;
	}
	priv->left--;
	braid_send(choice, path, 1);
}

static void daps_on_join(const struct braid_paths *view, struct daps_private *priv, const struct daps_params *params,
			 struct braid_choice *choice)
{
	u32 self = view->self & (BRAID_MAX_PATHS - 1);

	priv->smoothed[self] = 0;
	if (params->clock == DAPS_MS) {
		priv->end = 0;
		priv->time = 0;
		priv->due = 0;
		priv->left = 0;
	}
	opportunistic_join(view, &priv->opportunistic);
}

static void daps_on_rtt(const struct braid_paths *view, struct daps_private *priv, const struct daps_params *params,
			struct braid_choice *choice)
{
	u32 self = view->self & (BRAID_MAX_PATHS - 1);
	const struct braid_path *path = &view->path[self];

	if (priv->smoothed[self] && view->now_us - priv->smoothed_us[self] < path->srtt_us)
		return;
	priv->smoothed[self] = priv->smoothed[self] ? priv->smoothed[self] - priv->smoothed[self] / 8 + path->cwnd
						    : 8 * path->cwnd;
	priv->smoothed_us[self] = view->now_us;
}

static void daps_on_blocked(const struct braid_paths *view, struct daps_private *priv, const struct daps_params *params,
			    struct braid_choice *choice)
{
	u32 self = view->self & (BRAID_MAX_PATHS - 1);

	if (params->clock == DAPS_MS) {
		opportunistic_blocked(view, &priv->opportunistic, params->retransmit, 0, choice);
		return;
	}
	/* The module advances its plan first, and resends whatever the segment's path is. */
	daps_advance(view, priv, params, daps_set(view, params));
	if (params->retransmit && view->head_carriers && !(view->head_carriers >> self & 1))
		choice->flags |= BRAID_RESEND_HEAD;
}

BRAID_SCHEDULER(daps, DAPS_PARAMS, 0, daps_on_choose, daps_on_join, daps_on_rtt, daps_on_blocked)
