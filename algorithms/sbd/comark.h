/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Common congestion marks, after SB-CC (Wei et al. 2020): subflows marked in the same time slots share a bottleneck.
 *
 *	slot: the largest smoothed RTT, at least a tick
 *	of each slot in which self or the peer was marked:  score += (both were - score) / 8
 *	together above 0.6, apart below 0.4, from the fourth such slot on
 */
#ifndef BRAID_SBD_COMARK_H
#define BRAID_SBD_COMARK_H

#include "detector.h"

#define COMARK_SCALE 1000u
/* Marks are published by ticks of 16.4 ms, 64 of them: enough to compare slots of up to half a second afterwards. */
#define COMARK_TICK_BITS 14
#define COMARK_SLOT_MAX 31u
#define COMARK_BITS 16

#define COMARK_FIRST mark_weight
#define COMARK_PARAMS(P)                                                                         \
	P(mark_weight, 125, 1, 1000, COMARK_SCALE, "", "weight of the newest slot in the score") \
	P(mark_join, 600, 0, 1000, COMARK_SCALE, "", "together above this score")                \
	P(mark_part, 400, 0, 1000, COMARK_SCALE, "", "apart below this score")                   \
	P(mark_slots, 4, 1, 1000, 1, "slots", "minimum before a decision, with marks on one of the two")

BRAID_PARAMS(comark, COMARK_PARAMS);

struct comark_statistics {
	u64 partners; /* ids */
	u64 marked;   /* bit k: marked k ticks before `tick` */
	u64 tick;     /* of the last ACK */
};
_Static_assert(sizeof(struct comark_statistics) <= SBD_STATISTICS_WORDS * 8, "public words of common marks");

struct comark_peer {
	u32 id;
	u32 score; /* COMARK_BITS fraction bits */
	u32 slots;
	u32 together;
};

struct comark_state {
	u64 slot_start; /* ticks */
	u32 slot_ticks; /* 0: not begun */
	u32 reserved;
	struct comark_peer peer[BRAID_MAX_SUBFLOWS];
	u64 seen; /* statements on which the group is based */
};

/* 1 if the subflow was marked in the slot. */
braid_inline u32 comark_was_marked(const struct braid_subflow *subflow, const struct comark_state *state)
{
	const struct comark_statistics *statistics = SBD_STATISTICS(comark, subflow);
	u64 ended = state->slot_start + state->slot_ticks, window = braid_shl(1, state->slot_ticks) - 1;
	/* Tick t is bit tick - t: the slot's last tick comes first. Ticks after `tick` have no mark. */
	u64 ahead = braid_sub(ended - 1, statistics->tick), back = braid_sub(statistics->tick, ended - 1);
	u64 bits = braid_select(braid_below(0, ahead), braid_shl(statistics->marked, (u32)braid_min(ahead, 64)),
				braid_shr(statistics->marked, (u32)braid_min(back, 64)));

	return braid_below(0, bits & window);
}

/* Compares the slot that ended a slot ago, so that all marks are known. */
braid_inline void comark_compare(struct braid_view *view, struct comark_state *state,
				 const struct comark_params *params, u32 peers)
{
	struct comark_statistics *own = SBD_STATISTICS(comark, braid_self(view));
	u32 own_marked = comark_was_marked(braid_self(view), state), i;
	u64 partners = 0;

	sbd_follow(view, &state->peer[0].id, sizeof(struct comark_peer) / sizeof(u32));
	braid_for_each(i, peers)
	{
		const struct braid_subflow *subflow = &view->subflow[i];
		struct comark_peer *peer = &state->peer[i];
		u32 known = 0 - braid_equal(peer->id, subflow->id);
		u32 marked = comark_was_marked(subflow, state), tells = own_marked | marked, decides;
		u64 target = (u64)(own_marked & marked) << COMARK_BITS;
		u64 score = peer->score & known;
		u64 next = (score * (COMARK_SCALE - params->mark_weight) + target * params->mark_weight) / COMARK_SCALE;

		peer->id = subflow->id;
		peer->score = (u32)braid_select(tells, next, score);
		peer->slots = braid_min32((peer->slots & known) + tells, 1u << 16);
		decides = 1 ^ braid_below32(peer->slots, params->mark_slots);
		next = (u64)peer->score * COMARK_SCALE;
		peer->together &= known;
		peer->together |= decides & braid_below((u64)params->mark_join << COMARK_BITS, next);
		peer->together &= 1 ^ (decides & braid_below(next, (u64)params->mark_part << COMARK_BITS));
		partners |= sbd_id_bit(subflow) & (0 - (u64)peer->together);
	}
	own->partners = partners;
}

/* Length in ticks of a slot that begins now. */
braid_inline u32 comark_slot_ticks(const struct braid_view *view, u32 set)
{
	u32 srtt_us = 1, i;

	braid_for_each(i, set) srtt_us = braid_max32(srtt_us, view->subflow[i].srtt_us);
	return braid_min32((srtt_us >> COMARK_TICK_BITS) + 1, COMARK_SLOT_MAX);
}

braid_inline void comark_init(struct braid_view *view, struct comark_state *state, const struct comark_params *params,
			      const struct braid_event *event)
{
}

braid_inline void comark_on_ack(struct braid_view *view, struct comark_state *state, const struct comark_params *params,
				const struct braid_event *event)
{
	struct comark_statistics *own = SBD_STATISTICS(comark, braid_self(view));
	u64 tick = event->now_us >> COMARK_TICK_BITS;
	u32 peers = sbd_peers(view);

	own->marked = braid_shl(own->marked, (u32)braid_min(braid_sub(tick, own->tick), 64));
	own->marked |= event->flags & BRAID_ACK_ECE;
	own->tick = tick;
	if (tick >= state->slot_start + 2 * state->slot_ticks) {
		if (state->slot_ticks)
			comark_compare(view, state, params, peers);
		/* The previous slot if it is still stored, otherwise the current one. */
		state->slot_start = tick - state->slot_start < 3 * (u64)state->slot_ticks && state->slot_ticks
					    ? state->slot_start + state->slot_ticks
					    : tick;
		state->slot_ticks = comark_slot_ticks(view, peers | sbd_self_bit(view));
	}
	sbd_decide_connected(view, peers, SBD_STATISTICS_WORD, &state->seen, event->now_us);
}

braid_inline void comark_on_loss(struct braid_view *view, struct comark_state *state,
				 const struct comark_params *params, const struct braid_event *event)
{
}

#endif
