/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Common parts of shared-bottleneck detectors.
 *
 * A detector D is a struct D_state in private memory, a struct D_statistics in the public words from SBD_STATISTICS_WORD
 * on, a table D_PARAMS whose first parameter is D_FIRST, and three functions:
 *
 *	void D_init(struct braid_view *view, struct D_state *state, const struct D_params *params,
 *		    const struct braid_event *event);
 *	D_on_ack, D_on_loss: the same
 *
 * Each subflow reads its own and its peers' published words and decides for itself alone: it publishes the subflows it
 * shares with, and its group is the connected component of such statements from either side.
 */
#ifndef BRAID_SBD_DETECTOR_H
#define BRAID_SBD_DETECTOR_H

#include "../braid.h"

#define SBD_STATISTICS_WORD (BRAID_VERDICT_WORD + 1)
#define SBD_STATISTICS_WORDS (BRAID_PUBLIC_WORDS - SBD_STATISTICS_WORD)
/* The group of a detector without separate groups. */
#define SBD_ONE_GROUP 1u

/* Public words of every algorithm with a detector. */
struct sbd_public {
	u64 reaction[BRAID_VERDICT_WORD];
	u64 verdict;
	u64 statistics[SBD_STATISTICS_WORDS];
};

#define SBD_STATISTICS(detector, subflow) \
	((struct detector##_statistics *)&(subflow)->public_words[SBD_STATISTICS_WORD])

/* The parameters of a part of an algorithm: contiguous, from the part's first one on. */
#define SBD_PART(part, params, first) ((const struct part##_params *)&(params)->first)

braid_inline u32 sbd_group(const struct braid_subflow *subflow)
{
	return (u32)subflow->public_words[BRAID_VERDICT_WORD] & ((1u << BRAID_GROUP_BITS) - 1);
}

/* Publishes self's group. */
braid_inline void sbd_decide(struct braid_view *view, u32 group, u64 now_us)
{
	struct braid_subflow *self = braid_self(view);

	group &= (1u << BRAID_GROUP_BITS) - 1;
	if (group != sbd_group(self))
		self->public_words[BRAID_VERDICT_WORD] = now_us << BRAID_GROUP_BITS | group;
}

braid_inline u32 sbd_self_bit(const struct braid_view *view)
{
	return 1u << (view->self & (BRAID_MAX_SUBFLOWS - 1));
}

/* The other eligible subflows with the same published words, as a set like braid_eligible's. */
braid_inline u32 sbd_peers(const struct braid_view *view)
{
	u32 i, peers = 0;

	for (i = 0; i < BRAID_MAX_SUBFLOWS && i < view->n; i++) {
		u32 flags = view->subflow[i].flags;

		flags &= flags / BRAID_SAME_ALGORITHM & BRAID_ELIGIBLE;
		peers |= (flags & braid_below32(0, view->subflow[i].srtt_us)) << i;
	}
	return peers & ~sbd_self_bit(view);
}

/* The subflows that self is coupled with, including itself. */
braid_inline u32 sbd_coupled(const struct braid_view *view)
{
	u32 group = sbd_group(braid_self((struct braid_view *)view)), set = sbd_self_bit(view), peers, i;

	if (group == 0)
		return set;
	peers = sbd_peers(view);
	braid_for_each(i, peers) set |= braid_equal(sbd_group(&view->subflow[i]), group) << i;
	return set;
}

/* Sets of subflows that outlive a call use ids: the index of a subflow in the view changes when another one leaves. Ids
 * that differ by a multiple of 64 collide, which needs as many subflows in one connection. */
braid_inline u64 sbd_id_bit(const struct braid_subflow *subflow)
{
	return 1ull << (subflow->id & 63);
}

braid_inline u64 sbd_ids(const struct braid_view *view, u32 set)
{
	u64 ids = 0;
	u32 i;

	braid_for_each(i, set) ids |= sbd_id_bit(&view->subflow[i]);
	return ids;
}

/*
 * Moves stored records about peers to their indices in the view, which closes up when a subflow leaves. Record i has
 * `words` words of 32 bits, the first of which is an id; afterwards it belongs to subflow[i] if the ids are equal. Both
 * are in order of creation, so a record only moves to the front.
 */
braid_inline void sbd_follow(const struct braid_view *view, u32 *memory, u32 words)
{
	u32 i, j, k;

	/* Branch-free: see fixed.h. */
	for (i = 0; i < BRAID_MAX_SUBFLOWS - 1; i++) {
		/* Entries after the last subflow are not part of the view. */
		u32 there = braid_below32(i, view->n);

		for (j = i + 1; j < BRAID_MAX_SUBFLOWS; j++) {
			u32 moves = 0 - (braid_equal(memory[j * words], view->subflow[i].id) & there);

			for (k = 0; k < words; k++)
				memory[i * words + k] ^= (memory[i * words + k] ^ memory[j * words + k]) & moves;
		}
	}
}

/*
 * Self's group by statements "shares with me", each published in the same statistics word as ids: all subflows
 * connected to self by statements of either side. The group's number is its smallest id; 0 if self is alone.
 */
braid_inline u32 sbd_connected_group(const struct braid_view *view, u32 peers, u32 word)
{
	const struct braid_subflow *self = braid_self((struct braid_view *)view);
	u64 reached = sbd_id_bit(self), named = self->public_words[word];
	u32 group = self->id, alone = 1, i, round;

	/* Branch-free: see fixed.h. At most one round per peer: each round except the last adds a peer. */
	for (round = 0; round < BRAID_MAX_SUBFLOWS - 1; round++) {
		for (i = 0; i < BRAID_MAX_SUBFLOWS; i++) {
			const struct braid_subflow *peer = &view->subflow[i];
			u64 bit = sbd_id_bit(peer), names = peer->public_words[word];
			u32 joins = braid_below(0, (named & bit) | (names & reached)) & (peers >> i);

			reached |= braid_select(joins, bit, 0);
			named |= braid_select(joins, names, 0);
			alone &= 1 ^ joins;
			group = (u32)braid_select(joins, braid_min32(group, peer->id), group);
		}
	}
	group = braid_max32(group & ((1u << BRAID_GROUP_BITS) - 1), 1);
	return group & (alone - 1);
}

/* A hash of all statements, which changes with any of them. */
braid_inline u64 sbd_statements(const struct braid_view *view, u32 peers, u32 word)
{
	u64 all = braid_self((struct braid_view *)view)->public_words[word];
	u32 i;

	braid_for_each(i, peers)
	{
		const struct braid_subflow *peer = &view->subflow[i];

		all = (all ^ peer->public_words[word] ^ (u64)peer->id << 32) * 0x9e3779b97f4a7c15ull + 1;
	}
	return all;
}

/* Publishes self's group by such statements, recomputed when they have changed. */
braid_inline void sbd_decide_connected(struct braid_view *view, u32 peers, u32 word, u64 *seen, u64 now_us)
{
	u64 statements = sbd_statements(view, peers, word);

	if (statements == *seen)
		return;
	*seen = statements;
	sbd_decide(view, sbd_connected_group(view, peers, word), now_us);
}

#endif
