// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Round-robin: `segments` packets on each path in rotation (mptcp_rr of the multipath-tcp.org kernels).
 *
 *	a path whose turn has begun and not ended goes on; else the last one whose turn has not come; when all have had
 *	theirs, a new round begins
 *
 * With limited=off it waits for a path without room: true round-robin, where one blocked path stalls all. Reinjected
 * data goes to the last path that has not sent it, else to the last one.
 */
#include "scheduler.h"

#define RR_PARAMS(P)                                                                         \
	P(segments, 1, 1, 255, 1, "packets", "packets per path and round")                   \
	P(limited, 1, 0, 1, 1, "off|on", "a path without room in its window loses its turn") \
	P(backups, 0, 0, 1, 1, "spare|fork",                                                 \
	  "backup paths: used only if no other is usable, or like any path as in the out-of-tree kernel's module")

BRAID_SCHEDULER_PARAMS(rr, RR_PARAMS);

struct rr_private {
	u32 quota[BRAID_MAX_PATHS]; /* packets of the present round */
};

/* The path for reinjected data. */
braid_inline u32 rr_again(const struct braid_paths *view, u32 ready, struct braid_choice *choice)
{
	u32 fresh = ready & ~view->carriers, set = fresh ? fresh : ready, last = BRAID_NO_PATH, i;

	if (!fresh && ready)
		choice->flags |= BRAID_FORGET;
	braid_for_each_path(i, set) last = i;
	return last;
}

static void rr_on_choose(const struct braid_paths *view, struct rr_private *priv, const struct rr_params *params,
			 struct braid_choice *choice)
{
	u32 with = params->limited ? BRAID_PATH_USABLE | BRAID_PATH_ROOM : BRAID_PATH_USABLE;
	u32 regular = braid_paths_with(view, BRAID_PATH_USABLE, BRAID_PATH_BACKUP);
	u32 without = BRAID_PATH_LOSS | (regular && !params->backups ? BRAID_PATH_BACKUP : 0);
	u32 set = braid_paths_with(view, with, without);
	u32 turn = BRAID_NO_PATH, next = BRAID_NO_PATH, i;

	if (view->flags & BRAID_REINJECTION) {
		set = braid_paths_with(view, with | BRAID_PATH_ROOM, without);
		braid_send(choice, rr_again(view, set, choice), 1);
		return;
	}
	braid_for_each_path(i, set)
	{
		if (priv->quota[i] == 0)
			next = i;
		else if (priv->quota[i] < params->segments && turn == BRAID_NO_PATH)
			turn = i;
	}
	if (turn == BRAID_NO_PATH)
		turn = next;
	if (turn == BRAID_NO_PATH) {
		/* All have been served. */
		braid_for_each_path(i, set)
		{
			priv->quota[i] = 0;
			turn = i;
		}
	}
	if (turn == BRAID_NO_PATH || !(view->path[turn & (BRAID_MAX_PATHS - 1)].flags & BRAID_PATH_ROOM))
		return;
	priv->quota[turn & (BRAID_MAX_PATHS - 1)]++;
	braid_send(choice, turn, 1);
}

static void rr_on_join(const struct braid_paths *view, struct rr_private *priv, const struct rr_params *params,
		       struct braid_choice *choice)
{
	priv->quota[view->self & (BRAID_MAX_PATHS - 1)] = 0;
}

BRAID_SCHEDULER(rr, RR_PARAMS, 0, rr_on_choose, rr_on_join, BRAID_IGNORE, BRAID_IGNORE)
