/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ready path with the smallest srtt. */
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

#endif
