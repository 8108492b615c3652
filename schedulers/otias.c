// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * OTIAS, out-of-order transmission for in-order arrival (Yang, Wang, Amer 2014): each packet goes to the path on which
 * it would arrive first, even if it has to wait there.
 *
 *	can = max(cwnd - in_flight, 0), q = packets queued on the path
 *	form=code:   wait = 0 if q < can, else ceil((q - can + 1)/cwnd)
 *	form=paper:  wait = floor(max(q - can, 0)/cwnd)
 *	r = argmin (wait + 1/2) srtt
 */
#include "scheduler.h"

#define OTIAS_PARAMS(P) \
	P(form, 0, 0, 1, 1, "code|paper", "whole round trips of waiting, as in the published code or as in the paper")

BRAID_SCHEDULER_PARAMS(otias, OTIAS_PARAMS);

struct otias_private {
};

/* Twice the time to delivery, microseconds. */
braid_inline u64 otias_time(const struct braid_path *path, u32 form)
{
	u64 can = path->cwnd > path->in_flight ? path->cwnd - path->in_flight : 0;
	u64 cwnd = braid_max32(path->cwnd, 1), waits = 0;

	if (form)
		waits = braid_div(braid_sub(path->queued, can), cwnd);
	else if (path->queued >= can)
		waits = braid_div_up(path->queued - can + 1, cwnd);
	return (2 * waits + 1) * path->srtt_us;
}

static void otias_on_choose(const struct braid_paths *view, struct otias_private *priv,
			    const struct otias_params *params, struct braid_choice *choice)
{
	u32 able = braid_paths_with(view, BRAID_PATH_USABLE | BRAID_PATH_MEMORY, BRAID_PATH_LOSS), i;
	u64 rank[BRAID_MAX_PATHS];

	/* Reinjected data does not wait: only paths with room, preferably ones that have not sent it. */
	if (view->carriers || view->flags & BRAID_REINJECTION)
		able = braid_ready(view);
	for (i = 0; i < BRAID_MAX_PATHS; i++)
		rank[i] = otias_time(&view->path[i], params->form);
	choice->flags |= BRAID_QUEUE;
	braid_send(choice, braid_choose(view, able, rank, choice), 1);
}

BRAID_SCHEDULER(otias, OTIAS_PARAMS, BRAID_QUEUES, otias_on_choose, BRAID_IGNORE, BRAID_IGNORE, BRAID_IGNORE)
