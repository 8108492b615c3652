/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DWC, dynamic window coupling (Hassayoun, Iyengar, Ros 2011): subflows congested at the same time share a bottleneck.
 *
 *	a subflow's loss opens a new set with this subflow, unless a set is open
 *	a subflow with a loss or a large delay shortly before or after joins the set; all others keep their sets
 *	large delay: srtt above the middle between the smallest and the largest srtt so far
 *	shortly: within the larger srtt of the two subflows
 */
#ifndef BRAID_SBD_SYNC_H
#define BRAID_SBD_SYNC_H

#include "detector.h"

#define SYNC_SCALE 1000u

#define SYNC_FIRST dwc_window
#define SYNC_PARAMS(P)                                                                          \
	P(dwc_window, 1000, 10, 100000, SYNC_SCALE, "srtt",                                     \
	  "maximum time from the loss that opened a set to a sign of congestion that joins it") \
	P(dwc_delay, 500, 0, 1000, SYNC_SCALE, "",                                              \
	  "position between the smallest and the largest srtt above which a delay is large; 1: delays are ignored")

BRAID_PARAMS(sync, SYNC_PARAMS);

struct sync_statistics {
	u64 opened_us; /* when this subflow last opened a set; 0: never */
	u32 opened;    /* that set's number */
	u32 set;       /* the set this subflow is in */
};
_Static_assert(sizeof(struct sync_statistics) <= SBD_STATISTICS_WORDS * 8, "public words of DWC");

struct sync_state {
	u64 signal_us; /* last sign of congestion; 0: none yet */
	u64 moved_us;  /* opening time of the last set considered */
	u32 smallest_us;
	u32 largest_us;
	u32 opened; /* sets opened so far */
	u32 reserved;
};

/* Maximum time between a subflow's loss or large delay and the opening of a set. */
braid_inline u64 sync_window(const struct braid_view *view, u32 i, const struct sync_params *params)
{
	u32 srtt_us = braid_max32(braid_self((struct braid_view *)view)->srtt_us, view->subflow[i].srtt_us);

	return (u64)srtt_us * params->dwc_window / SYNC_SCALE;
}

/* Joins the newest set of a peer that a sign of this subflow belongs to. Returns whether one is open. */
braid_inline u32 sync_join(struct braid_view *view, struct sync_state *state, const struct sync_params *params,
			   u32 peers, u64 now_us)
{
	struct sync_statistics *own = SBD_STATISTICS(sync, braid_self(view));
	u32 is_open = 0, i;

	braid_for_each(i, peers)
	{
		const struct sync_statistics *peer = SBD_STATISTICS(sync, &view->subflow[i]);
		u64 opened = peer->opened_us, window = sync_window(view, i, params);
		u64 apart = braid_max(opened, state->signal_us) - braid_min(opened, state->signal_us);
		u32 is_new = braid_below(braid_max(state->moved_us, own->opened_us), opened);
		u32 joins = is_new & braid_below(0, state->signal_us) & (1 ^ braid_below(window, apart));

		own->set = (u32)braid_select(joins, peer->opened, own->set);
		state->moved_us = braid_select(joins, opened, state->moved_us);
		is_open |= braid_below(0, opened) & (1 ^ braid_below(opened + window, now_us));
	}
	return is_open;
}

/* The set counts as a group once another subflow is in it. */
braid_inline void sync_decide(struct braid_view *view, u32 peers, u64 now_us)
{
	u32 set = SBD_STATISTICS(sync, braid_self(view))->set, shared = 0, i;

	braid_for_each(i, peers) shared |= braid_equal(SBD_STATISTICS(sync, &view->subflow[i])->set, set);
	sbd_decide(view, set & (0 - shared), now_us);
}

/* Sets are numbered by their opener, so that numbers stay unique for long. */
braid_inline u32 sync_number(const struct braid_subflow *self, u32 opened)
{
	return (self->id & 0xff) << 8 | (opened & 0xff);
}

braid_inline void sync_init(struct braid_view *view, struct sync_state *state, const struct sync_params *params,
			    const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);

	SBD_STATISTICS(sync, self)->set = sync_number(self, 0);
}

braid_inline void sync_on_ack(struct braid_view *view, struct sync_state *state, const struct sync_params *params,
			      const struct braid_event *event)
{
	u32 srtt_us = braid_self(view)->srtt_us, peers = sbd_peers(view), range;

	if (srtt_us == 0)
		return;
	state->smallest_us = braid_min32(state->smallest_us ? state->smallest_us : srtt_us, srtt_us);
	state->largest_us = braid_max32(state->largest_us, srtt_us);
	range = state->largest_us - state->smallest_us;
	if ((u64)(srtt_us - state->smallest_us) * SYNC_SCALE > (u64)range * params->dwc_delay)
		state->signal_us = event->now_us;
	sync_join(view, state, params, peers, event->now_us);
	sync_decide(view, peers, event->now_us);
}

braid_inline void sync_on_loss(struct braid_view *view, struct sync_state *state, const struct sync_params *params,
			       const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	struct sync_statistics *own = SBD_STATISTICS(sync, self);
	u32 peers = sbd_peers(view), is_open;
	u64 open_until = own->opened_us + sync_window(view, view->self & (BRAID_MAX_SUBFLOWS - 1), params);

	state->signal_us = event->now_us;
	is_open = sync_join(view, state, params, peers, event->now_us);
	if (!is_open && (own->opened_us == 0 || event->now_us > open_until)) {
		state->opened++;
		own->opened = sync_number(self, state->opened);
		own->opened_us = event->now_us;
		own->set = own->opened;
	}
	sync_decide(view, peers, event->now_us);
}

#endif
