/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The host's hints: subflows with the same hint share a bottleneck. The simulator states the truth of its topology, an
 * upper bound for every detector; in the kernel an operator may state hints.
 */
#ifndef BRAID_SBD_HINT_H
#define BRAID_SBD_HINT_H

#include "detector.h"

braid_inline void hint_decide(struct braid_view *view, const struct braid_event *event)
{
	u32 hint = braid_self(view)->hint, peers = sbd_peers(view), same = 0, i;

	braid_for_each(i, peers) same |= braid_equal(view->subflow[i].hint, hint);
	sbd_decide(view, hint & (0 - same), event->now_us);
}

#endif
