// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The scheduler of unmodified Linux since 5.10 (net/mptcp/protocol.c): the path that will send its queue soonest gets
 * up to 64 KiB at a time. It ignores the window: data that does not fit waits in the path's send buffer.
 *
 *	linger_r = memory_r/pace_r; r = argmin linger_r, and wait if its send buffer is full
 *	burst = min(65428 bytes, receive window left)
 *	pace_r = (pace_r memory_r + pacing_rate_r burst)/(memory_r + burst)
 */
#include "scheduler.h"

#define LINUX_PARAMS(P)

/* 64 KiB minus the largest headers (MPTCP_SEND_BURST_SIZE). */
#define LINUX_BURST 65428

BRAID_SCHEDULER_PARAMS(linux, LINUX_PARAMS);

struct linux_private {
	u64 pace[BRAID_MAX_PATHS]; /* bytes per second; 0: unknown */
};

/* Reinjected data goes to the first idle path (mptcp_subflow_get_retrans), and to a backup path only if all others
 * fail. */
braid_inline u32 linux_idle(const struct braid_paths *view, u32 regular, u32 backup)
{
	u32 i, set, idle = 0;

	for (i = 0; i < BRAID_MAX_PATHS; i++)
		idle |= (u32)(view->path[i].memory == 0) << i;
	set = regular & idle;
	if (!set && !(regular & braid_paths_with(view, BRAID_PATH_USABLE, 0)))
		set = backup & idle;
	braid_for_each_path(i, set) return i;
	return BRAID_NO_PATH;
}

static void linux_on_choose(const struct braid_paths *view, struct linux_private *priv,
			    const struct linux_params *params, struct braid_choice *choice)
{
	u32 regular = braid_paths_with(view, BRAID_PATH_ESTABLISHED, BRAID_PATH_BACKUP | BRAID_PATH_STALE);
	u32 backup = braid_paths_with(view, BRAID_PATH_ESTABLISHED | BRAID_PATH_BACKUP, BRAID_PATH_STALE);
	u32 set = regular ? regular : backup, best = BRAID_NO_PATH, i;
	u64 least = 0, burst, memory;
	const struct braid_path *path;

	choice->flags |= BRAID_QUEUE;
	if (view->flags & BRAID_REINJECTION) {
		braid_send(choice, linux_idle(view, regular, backup), 0);
		return;
	}
	braid_for_each_path(i, set)
	{
		u64 linger;

		if (!priv->pace[i])
			priv->pace[i] = view->path[i].pacing_rate;
		if (!priv->pace[i])
			continue;
		linger = braid_muldiv(view->path[i].memory, 1ull << 32, priv->pace[i]);
		if (best == BRAID_NO_PATH || linger < least) {
			best = i;
			least = linger;
		}
	}
	if (best == BRAID_NO_PATH)
		return;
	best &= BRAID_MAX_PATHS - 1;
	path = &view->path[best];
	if (!(path->flags & BRAID_PATH_MEMORY))
		return;
	burst = braid_max(braid_min(LINUX_BURST, view->window_left), 1);
	memory = path->memory;
	priv->pace[best] = braid_div(braid_add(braid_mul(priv->pace[best], memory),
					       braid_mul(path->pacing_rate, burst)),
				     memory + burst);
	braid_send(choice, best, (u32)braid_div_up(burst, braid_max32(path->mss, 1)));
}

static void linux_on_join(const struct braid_paths *view, struct linux_private *priv, const struct linux_params *params,
			  struct braid_choice *choice)
{
	priv->pace[view->self & (BRAID_MAX_PATHS - 1)] = 0;
}

BRAID_SCHEDULER(linux, LINUX_PARAMS, BRAID_QUEUES | BRAID_MAINLINE, linux_on_choose, linux_on_join, BRAID_IGNORE,
		BRAID_IGNORE)
