// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RTT samples of all TCP sockets, whatever their congestion control: number, and sum of differences between successive
 * samples. The tracepoint tcp_probe fires for every segment before it is processed. If packets were delivered since the
 * previous segment, that left a sample: the RTT of the latest one delivered.
 */
#include "fixed.h"
#include "bpf.h"
#include "tcp.h"
#include "socket.h"

/* Mirrored by `Counts` in crates/braid-kernel. */
struct counts {
	u32 token; /* of the MPTCP connection; 0 for plain TCP */
	u32 subflow_id;
	u64 samples;
	u64 steps_us; /* sum of the differences between successive samples */
	u32 last_us;
	u32 delivered; /* as in tcp_sock */
};

/* By the socket's cookie, as in sock_diag. Entries of old sockets are evicted. */
struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_LRU_HASH);
	MAP_NUMBER(max_entries, 16384);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, struct counts);
} braid_rtts SEC(".maps");

static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;

/* A socket that is seen for the first time. */
braid_inline void braid_begin(const struct tcp_sock *tp, u64 cookie)
{
	struct counts counts = { .delivered = tp->delivered };

	braid_read_subflow(tp, &counts.token, &counts.subflow_id);
	bpf_map_update_elem(&braid_rtts, &cookie, &counts, 0);
}

/* The arguments of the tracepoint: the socket, and the segment. */
SEC("tp_btf/tcp_probe") int braid_sample(u64 *arguments)
{
	const struct tcp_sock *tp = bpf_skc_to_tcp_sock((void *)arguments[0]);
	struct counts *counts;
	u64 cookie;
	u32 rtt_us;

	if (!tp)
		return 0;
	cookie = bpf_get_socket_cookie((void *)tp);
	counts = bpf_map_lookup_elem(&braid_rtts, &cookie);
	if (!counts) {
		braid_begin(tp, cookie);
		return 0;
	}
	if (tp->delivered == counts->delivered)
		return 0;
	rtt_us = tp->rack.rtt_us;
	if (counts->samples)
		counts->steps_us += rtt_us > counts->last_us ? rtt_us - counts->last_us : counts->last_us - rtt_us;
	counts->samples++;
	counts->last_us = rtt_us;
	counts->delivered = tp->delivered;
	return 0;
}
