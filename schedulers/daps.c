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

#define DAPS_PARAMS(P)                                                                                         \
	P(clock, DAPS_MS, 0, 1, 1, "ms|us",                                                                    \
	  "unit of the plan: as published, or the microseconds of its module, where grid is in them, too")     \
	P(grid, 4, 1, 100, 1, "ms", "delays are rounded to multiples of this")                                 \
	P(horizon, 2000, 1, 100000, 1, "ms", "no plan is longer: multiples of unlike delays have no end")      \
	P(windows, 0, 0, 1, 1, "smoothed|now", "windows as averaged, or as they are when a path's turn comes") \
	P(retransmit, 1, 0, 1, 1, "off|on",                                                                    \
	  "send the oldest segment again on a faster path when the receive window is full")

BRAID_SCHEDULER_PARAMS(daps, DAPS_PARAMS);

struct daps_private {
	struct opportunistic opportunistic;
	u32 delay[BRAID_MAX_PATHS];    /* in units of the clock, as all times of the plan; 0: not in the plan */
	u32 smoothed[BRAID_MAX_PATHS]; /* window in eighths of a packet; 0: none yet */
	u64 smoothed_us[BRAID_MAX_PATHS];
	u32 time, end; /* of the plan; both 0: there is none */
	u32 due;       /* set of paths whose turn at `time` is still to come */
	u32 path;      /* whose turn it is */
	u32 left;      /* packets of it */
};

braid_inline u32 daps_gcd(u32 a, u32 b)
{
	u32 i;

	/* The numbers of Fibonacci take longest: 36 steps for delays of up to 30 s in microseconds. */
	for (i = 0; i < 36 && b; i++) {
		u32 rest = a - (u32)braid_div(a, b) * b;

		a = b;
		b = rest;
	}
	return a;
}

/* A new plan over these paths. */
braid_inline void daps_plan(const struct braid_paths *view, struct daps_private *priv, const struct daps_params *params,
			    u32 set)
{
	u32 i, end = 1, unit_us = params->clock == DAPS_MS ? 1000 : 1, longest = (u32)braid_div(30000000, unit_us);

	for (i = 0; i < BRAID_MAX_PATHS; i++)
		priv->delay[i] = 0;
	braid_for_each_path(i, set)
	{
		u32 grid = braid_max32(params->grid, 1);
		u64 half_us = view->path[i].srtt_us / 2;
		u32 steps = (u32)braid_div(half_us + (u64)unit_us * grid / 2, (u64)unit_us * grid);
		u64 lcm;

		priv->delay[i] = braid_max32(braid_min32(steps * grid, longest), 1);
		lcm = braid_div(end, daps_gcd(end, priv->delay[i])) * priv->delay[i];
		end = (u32)braid_min(lcm, braid_max32(params->horizon * (u32)braid_div(1000, unit_us), priv->delay[i]));
	}
	priv->time = 0;
	priv->end = end;
	priv->due = 0;
	priv->left = 0;
}

/* The next path of the plan; false at its end. */
braid_inline u32 daps_next(const struct braid_paths *view, struct daps_private *priv, const struct daps_params *params,
			   u32 set)
{
	u64 rank[BRAID_MAX_PATHS];
	u32 i, next = BRAID_U32_MAX, path, window;

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
		braid_for_each_path(i, set)
		{
			u32 delay = priv->delay[i];

			if (delay && (u32)braid_div(next, delay) * delay == next)
				priv->due |= 1u << i;
		}
	}
	for (i = 0; i < BRAID_MAX_PATHS; i++)
		rank[i] = priv->delay[i];
	path = braid_first(priv->due & set, rank);
	if (path == BRAID_NO_PATH)
		return 0;
	path &= BRAID_MAX_PATHS - 1;
	window = params->windows || !priv->smoothed[path] ? view->path[path].cwnd : priv->smoothed[path] / 8;
	priv->due &= ~(1u << path);
	priv->path = path;
	priv->left = braid_max32(window, 1);
	return 1;
}

static void daps_on_choose(const struct braid_paths *view, struct daps_private *priv, const struct daps_params *params,
			   struct braid_choice *choice)
{
	u32 regular = braid_paths_with(view, BRAID_PATH_USABLE, BRAID_PATH_BACKUP | BRAID_PATH_LOSS);
	u32 set = regular ? regular : braid_paths_with(view, BRAID_PATH_USABLE, BRAID_PATH_LOSS);
	u32 path = priv->path & (BRAID_MAX_PATHS - 1), i;
	u64 rank[BRAID_MAX_PATHS];

	if (view->flags & BRAID_REINJECTION || !(set & (set - 1))) {
		for (i = 0; i < BRAID_MAX_PATHS; i++)
			rank[i] = view->path[i].srtt_us;
		braid_send(choice, braid_choose(view, braid_ready(view), rank, choice), 1);
		return;
	}
	if (!priv->left || !(set >> path & 1)) {
		if (!daps_next(view, priv, params, set)) {
			daps_plan(view, priv, params, set);
			if (!daps_next(view, priv, params, set))
				return;
		}
		path = priv->path & (BRAID_MAX_PATHS - 1);
	}
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
	priv->end = 0;
	priv->time = 0;
	priv->due = 0;
	priv->left = 0;
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
	opportunistic_blocked(view, &priv->opportunistic, params->retransmit, 0, choice);
}

BRAID_SCHEDULER(daps, DAPS_PARAMS, 0, daps_on_choose, daps_on_join, daps_on_rtt, daps_on_blocked)
