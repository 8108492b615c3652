/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the out-of-tree kernel's modules keep of a whole connection, for the roundings that follow them.
 *
 * Every subflow of the modules writes these values. Here a subflow writes its own public words only, so each value has a
 * serial number in the word before it, and the connection's value is the one with the largest number.
 */
#ifndef BRAID_FORK_H
#define BRAID_FORK_H

#include "braid.h"

struct fork_value {
	u64 serial; /* 0: never written */
	u64 value;
};

/* The latest of the values at this public word. 0 if there is none. */
braid_inline void fork_latest(const struct braid_view *view, u32 word, struct fork_value *latest)
{
	u32 i;

	latest->serial = 0;
	latest->value = 0;
	for (i = 0; i < BRAID_MAX_SUBFLOWS; i++) {
		const struct braid_subflow *subflow = &view->subflow[i];
		u32 knows = (subflow->flags / BRAID_SAME_ALGORITHM & 1) | braid_equal(i, view->self);
		u32 later = braid_below32(i, view->n) & knows &
			    braid_below(latest->serial, subflow->public_words[word]);

		latest->value = braid_select(later, subflow->public_words[word + 1], latest->value);
		latest->serial = braid_select(later, subflow->public_words[word], latest->serial);
	}
}

braid_inline u64 fork_read(const struct braid_view *view, u32 word)
{
	struct fork_value latest;

	fork_latest(view, word, &latest);
	return latest.value;
}

braid_inline void fork_write(struct braid_view *view, u32 word, u64 value)
{
	struct braid_subflow *self = braid_self(view);
	struct fork_value latest;

	fork_latest(view, word, &latest);
	self->public_words[word] = latest.serial + 1;
	self->public_words[word + 1] = value;
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

/* Whether a change was noted, which is then forgotten. */
braid_inline u32 fork_state_changed(struct braid_view *view, u32 *state, u32 word)
{
	u32 now = braid_self(view)->ca_state, changed = now != *state || fork_read(view, word);

	*state = now;
	if (changed)
		fork_write(view, word, 0);
	return changed;
}

#endif
