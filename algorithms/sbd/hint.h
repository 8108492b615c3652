/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the host says: subflows of one hint share a bottleneck. The simulator states the truth of its topology, which is an
 * upper bound for every detector; in the kernel it is what an operator states, or nothing.
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
