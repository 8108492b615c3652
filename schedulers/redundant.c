// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Redundant: every path sends every segment; the receiver keeps the first copy (mptcp_redundant of the
 * multipath-tcp.org kernels). Each path sends the data by itself, so a slow one lags and skips acknowledged data.
 *
 *	paths in turn: the oldest segment that the path is behind with, or new data if it is behind with none
 *
 * A backup path gets only new data, and only if no other path is usable.
 */
#include "minrtt.h"

#define REDUNDANT_PARAMS(P)

BRAID_SCHEDULER_PARAMS(redundant, REDUNDANT_PARAMS);

struct redundant_private {
	u32 next; /* next path in rotation */
};

static void redundant_on_choose(const struct braid_paths *view, struct redundant_private *priv,
				const struct redundant_params *params, struct braid_choice *choice)
{
	u32 ready = braid_ready(view), regular = braid_paths_with(view, BRAID_PATH_USABLE, BRAID_PATH_BACKUP);
	u32 k, path, best = BRAID_NO_PATH;

	if (view->flags & BRAID_REINJECTION) {
		braid_send(choice, minrtt_choose(view, ready, choice), 1);
		return;
	}
	for (k = 0; k < BRAID_MAX_PATHS; k++) {
		u32 is_backup, has_older;

		path = (priv->next + k) & (BRAID_MAX_PATHS - 1);
		is_backup = view->path[path].flags & BRAID_PATH_BACKUP;
		has_older = view->path[path].behind > 0;
		if (best != BRAID_NO_PATH || !(ready >> path & 1))
			continue;
		if (is_backup && (has_older || regular))
			continue;
		if (has_older || view->flags & BRAID_NEW_DATA)
			best = path;
	}
	if (best == BRAID_NO_PATH)
		return;
	priv->next = best + 1;
	if (view->path[best & (BRAID_MAX_PATHS - 1)].behind > 0)
		choice->flags |= BRAID_COPY;
	braid_send(choice, best, 1);
}

BRAID_SCHEDULER(redundant, REDUNDANT_PARAMS, BRAID_COPIES, redundant_on_choose, BRAID_IGNORE, BRAID_IGNORE,
		BRAID_IGNORE)
