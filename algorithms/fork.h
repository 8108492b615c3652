/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * State that the out-of-tree kernel's modules keep once per connection, for the roundings that follow them.
 *
 * In the modules every subflow writes these values. Here a subflow writes its own public words only. So a value is one
 * public word: a serial number in the upper half, the value in the lower. The largest word of all subflows is the latest.
 */
#ifndef BRAID_FORK_H
#define BRAID_FORK_H

#include "braid.h"

braid_inline u64 fork_latest(const struct braid_view *view, u32 word)
{
	u64 latest = 0;
	u32 i;

	for (i = 0; i < BRAID_MAX_SUBFLOWS; i++) {
		const struct braid_subflow *subflow = &view->subflow[i];
		u32 knows = (subflow->flags / BRAID_SAME_ALGORITHM & 1) | braid_equal(i, view->self);
		u32 later = braid_below32(i, view->n) & knows & braid_below(latest, subflow->public_words[word]);

		latest = braid_select(later, subflow->public_words[word], latest);
	}
	return latest;
}

/* The connection's value; 0 before the first write. */
braid_inline u32 fork_read(const struct braid_view *view, u32 word)
{
	return (u32)fork_latest(view, word);
}

braid_inline void fork_write(struct braid_view *view, u32 word, u32 value)
{
	braid_self(view)->public_words[word] = ((fork_latest(view, word) >> 32) + 1) << 32 | value;
}

/*
 * Congestion states. The modules note every change, for the connection, and compute their increase again at the next ACK
 * in congestion avoidance. Disorder has no event of its own: an ACK shows it.
 */
braid_inline void fork_state_after_loss(struct braid_view *view, u32 *state, u32 word, const struct braid_event *event)
{
	*state = event->cause == BRAID_CAUSE_RTO   ? BRAID_LOSS
		 : event->cause == BRAID_CAUSE_ECN ? BRAID_CWR
						   : BRAID_RECOVERY;
	fork_write(view, word, 1);
}

braid_inline void fork_state_after_recovery(struct braid_view *view, u32 *state, u32 word)
{
	*state = BRAID_OPEN;
	fork_write(view, word, 1);
}

/* Whether a change was noted. Clears the note. */
braid_inline u32 fork_state_changed(struct braid_view *view, u32 *state, u32 word)
{
	u32 now = braid_self(view)->ca_state, changed = now != *state || fork_read(view, word);

	*state = now;
	if (changed)
		fork_write(view, word, 0);
	return changed;
}

/* Counts an ACK. Adds a packet to cwnd once `threshold` ACKs were counted before this one, and returns whether it did. */
braid_inline u32 fork_count(struct braid_subflow *self, u32 *counted, u32 threshold)
{
	if (*counted < threshold) {
		*counted += 1;
		return 0;
	}
	*counted = 0;
	if (self->cwnd >= self->cwnd_clamp)
		return 0;
	self->cwnd++;
	return 1;
}

#endif
