/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ready path with the smallest srtt, and the fastest path of all. */
#ifndef BRAID_MINRTT_H
#define BRAID_MINRTT_H

#include "scheduler.h"

braid_inline u32 minrtt_choose(const struct braid_paths *view, u32 ready, struct braid_choice *choice)
{
	u64 rank[BRAID_MAX_PATHS];
	u32 i;

	for (i = 0; i < BRAID_MAX_PATHS; i++)
		rank[i] = view->path[i].srtt_us;
	return braid_choose(view, ready, rank, choice);
}

/* The path with the smallest srtt, with or without room: usable, not recovering from a timeout, and no backup if there
 * is another; or, as in the modules of the out-of-tree kernel, any that is established. */
braid_inline u32 minrtt_fastest(const struct braid_paths *view, u32 is_usable)
{
	u32 regular = braid_paths_with(view, BRAID_PATH_USABLE, BRAID_PATH_BACKUP | BRAID_PATH_LOSS);
	u32 able = regular ? regular : braid_paths_with(view, BRAID_PATH_USABLE, BRAID_PATH_LOSS);
	u64 rank[BRAID_MAX_PATHS];
	u32 i;

	for (i = 0; i < BRAID_MAX_PATHS; i++)
		rank[i] = view->path[i].srtt_us;
	return braid_first(is_usable ? able : braid_paths_with(view, BRAID_PATH_ESTABLISHED, 0), rank);
}

#endif
