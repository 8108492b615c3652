/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records calls for `braid trace`: inputs and outputs of a transition, word for word.
 *
 * Two records per call, before and after it, each copied directly from the scratch buffer. No reference to the ring is
 * held in between, so the verifier has nothing to carry through the algorithm.
 *
 * Tracing is on while user space keeps a ring buffer in braid_trace_ring. Otherwise there is no ring, and a call costs
 * one array lookup and one flag. Both maps are pinned and survive a replacement, so that a trace includes old and new
 * sockets.
 */
#ifndef BRAID_TRACE_H
#define BRAID_TRACE_H

#define BRAID_BEFORE 0
#define BRAID_AFTER 1

struct braid_ring {
	MAP_NUMBER(type, BPF_MAP_TYPE_RINGBUF);
	MAP_NUMBER(max_entries, 4096); /* chosen by user space */
};

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_VALUES(values, struct braid_ring);
} braid_trace_ring SEC(".maps");

braid_inline u32 braid_is_recorded(const struct tcp_sock *tp)
{
	u32 only = 0;

	return bpf_map_lookup_elem(&braid_trace_ring, &only) != 0;
}

/* Never reset: user space takes differences. */
struct braid_trace_state {
	u64 sequence; /* of the next call */
	u64 lost;     /* records that did not fit into the ring */
};

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct braid_trace_state);
} braid_trace_state SEC(".maps");

/* Not inlined: every event of every hook shares this code. */
static __attribute__((noinline)) void braid_record(struct braid_work *work, struct braid_socket *socket,
						   const void *priv, u32 phase)
{
	u32 only = 0;
	struct braid_trace_state *state = bpf_map_lookup_elem(&braid_trace_state, &only);
	void *ring = bpf_map_lookup_elem(&braid_trace_ring, &only);
	struct braid_record *record = &work->record;

	if (!state || !ring)
		return;
	if (phase == BRAID_BEFORE) {
		record->sequence = __sync_fetch_and_add(&state->sequence, 1);
		record->time_ns = bpf_ktime_get_ns();
		record->cpu = bpf_get_smp_processor_id();
		record->identity = braid_identity();
		record->source = BRAID_SOURCE_HASH;
		if (!socket->traced_as)
			socket->traced_as = (u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
		record->socket = socket->traced_as;
		braid_record_params(work);
		record->phase = BRAID_BEFORE;
	}
	if (!braid_is_small())
		braid_record_private(work, priv);
	if (bpf_ringbuf_output(ring, record, braid_record_bytes(work), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&state->lost, 1);
	else if (phase == BRAID_BEFORE)
		record->phase = BRAID_AFTER;
}

braid_inline void braid_trace(const struct braid_hook *hook, u32 phase)
{
	struct braid_work *work = hook->work;

	if (!work->is_traced)
		return;
	if (phase == BRAID_BEFORE)
		work->record.phase = BRAID_BEFORE;
	else if (work->record.phase != BRAID_AFTER)
		return;
	braid_record(work, hook->socket, braid_private_of(hook), phase);
}

#endif
