/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Recording calls for `braid trace`: the same records as of the eBPF host, into ring.h's ring. */
#ifndef BRAID_TRACE_H
#define BRAID_TRACE_H

#include "ring.h"

#define BRAID_BEFORE 0
#define BRAID_AFTER 1

braid_inline u32 braid_is_recorded(const struct tcp_sock *tp)
{
	return READ_ONCE(braid_instance_at(tp)->is_traced);
}

static __attribute__((__noinline__)) void braid_record(const struct braid_hook *hook, u32 phase)
{
	struct braid_own *own = braid_own_of(hook->tp);
	struct braid_record *record = &hook->work->record;
	const struct braid_view *view = braid_view_of(hook->work);
	const struct braid_piece pieces[] = {
		{ record, sizeof(*record) },
		{ &hook->work->event, sizeof(hook->work->event) },
		{ own->node.version->params, BRAID_PARAMS_BYTES(braid_algorithm_here()->n_params) },
		{ own->priv, braid_private_bytes() },
		{ view, offsetof(struct braid_view, subflow) + view->n * sizeof(view->subflow[0]) },
	};

	if (phase == BRAID_BEFORE) {
		record->sequence = braid_ring_sequence();
		record->time_ns = ktime_get_ns();
		record->socket = (own->node.group ? own->node.group->number << 20 : 0) + own->node.id;
		record->identity = braid_identity();
		record->source = BRAID_SOURCE_HASH;
		record->cpu = raw_smp_processor_id();
	} else if (record->phase != BRAID_AFTER) {
		return;
	}
	record->phase = phase;
	/* After it was recorded: the other half is to be recorded, too. */
	if (braid_ring_write(pieces, ARRAY_SIZE(pieces)) && phase == BRAID_BEFORE)
		record->phase = BRAID_AFTER;
}

braid_inline void braid_trace(const struct braid_hook *hook, u32 phase)
{
	if (unlikely(hook->work->is_traced))
		braid_record(hook, phase);
}

#endif
