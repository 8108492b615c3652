/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opportunistic retransmission and penalisation (Raiciu et al., NSDI 2012; Paasch et al. 2014). New data does not fit
 * the receive window, or the application waits for the send buffer, although path r has room: the oldest segment, h,
 * blocks everything.
 *
 *	penalise, at most once per srtt_r, and not if there is room in the send buffer: each other path k in state Open that has carried h, with srtt_r < srtt_k:
 *		cwnd_k = max(cwnd_k/2, 1); out of slow start, ssthresh_k = max(ssthresh_k/2, 2)
 *	then retransmit h on r unless r has carried it: over the paths k that have,
 *		cwnd_k <= 4: yes; 4 srtt_r >= srtt_k: no; else: yes, unless a later one says no
 */
#ifndef BRAID_OPPORTUNISTIC_H
#define BRAID_OPPORTUNISTIC_H

#include "scheduler.h"

#define OPPORTUNISTIC_PARAMS(P)                                                             \
	P(retransmit, 1, 0, 1, 1, "off|on",                                                 \
	  "send the oldest segment again on a faster path when the receive window is full") \
	P(penalise, 1, 0, 2, 1, "off|on|first",                                             \
	  "halve the windows of slower paths that block it, or only the first one's")

struct opportunistic {
	u64 penalised_us[BRAID_MAX_PATHS]; /* time at which path i last had others penalised, or joined */
};

braid_inline void opportunistic_join(const struct braid_paths *view, struct opportunistic *own)
{
	own->penalised_us[view->self & (BRAID_MAX_PATHS - 1)] = view->now_us;
}

braid_inline void opportunistic_blocked(const struct braid_paths *view, struct opportunistic *own, u32 retransmit,
					u32 penalise, struct braid_choice *choice)
{
	u32 self = view->self & (BRAID_MAX_PATHS - 1);
	const struct braid_path *r = &view->path[self];
	u32 others = view->head_carriers & ~(1u << self);
	u32 again = 0, decided = 0, any = 0, seen = 0, i;

	if (!view->head_carriers)
		return;
	if (penalise && !(view->flags & BRAID_MEMORY_LEFT) && view->now_us - own->penalised_us[self] >= r->srtt_us) {
		braid_for_each_path(i, others)
		{
			const struct braid_path *k = &view->path[i];

			if (seen && penalise > 1)
				continue;
			seen = 1;
			if (!(k->flags & BRAID_PATH_OPEN) || r->srtt_us >= k->srtt_us)
				continue;
			choice->cwnd[i] = braid_max32(k->cwnd >> 1, 1);
			if (k->cwnd >= k->ssthresh)
				choice->ssthresh[i] = braid_max32(k->ssthresh >> 1, 2);
			any = 1;
		}
		if (any)
			own->penalised_us[self] = view->now_us;
	}
	if (!retransmit || view->head_carriers >> self & 1 || !(r->flags & BRAID_PATH_ROOM))
		return;
	braid_for_each_path(i, others)
	{
		const struct braid_path *k = &view->path[i];
		u32 cwnd = choice->cwnd[i] ? choice->cwnd[i] : k->cwnd;

		if (decided)
			continue;
		decided = cwnd <= 4 || 4ull * r->srtt_us >= k->srtt_us;
		again = cwnd <= 4 || 4ull * r->srtt_us < k->srtt_us;
		/* With a longer srtt_r it is not retransmitted either: 4 srtt_r is larger then. */
		if (decided && !again)
			choice->srtt_us = (k->srtt_us >> 2) + !!(k->srtt_us & 3);
	}
	if (again)
		choice->flags |= BRAID_RESEND_HEAD;
}

/* Validity of the decision: penalties are given once per round trip; if path self has sent the oldest segment there is
 * nothing else to do. */
braid_inline void opportunistic_rest(const struct braid_paths *view, const struct opportunistic *own, u32 retransmit,
				     u32 penalise, struct braid_choice *choice)
{
	u32 self = view->self & (BRAID_MAX_PATHS - 1);

	if (!retransmit && !penalise)
		choice->flags |= BRAID_NO_REMEDY;
	else
		choice->flags |= BRAID_ONCE_PER_RTT;
	if (penalise)
		choice->wake_us = (u32)braid_min(view->now_us - own->penalised_us[self], BRAID_U32_MAX);
}

#endif
