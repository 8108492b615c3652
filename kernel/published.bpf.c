// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Iterator over a network namespace's sockets: the words of icsk_ca_priv (the algorithm's identity and its public
 * words) and the loaded version. The kernel holds the socket's lock during a call. User space interprets the words.
 */
#include "fixed.h"
#include "bpf.h"
#include "tcp.h"
#include "socket.h"

#define PUBLISHED_WORDS 13

/* Mirrored by `Record` in crates/braid-kernel. */
struct published {
	u64 cookie; /* as in sock_diag */
	u32 token;  /* of the MPTCP connection; 0 for plain TCP */
	u32 subflow_id;
	u64 words[PUBLISHED_WORDS];
	u32 version; /* the id of the map with its tcp_congestion_ops; 0: unknown */
	u32 unused;
};

/* The kernel keeps a struct_ops program's tcp_congestion_ops within its map. */
struct bpf_map {
	u32 id;
} BRAID_CORE;

struct bpf_struct_ops_value {
	char data[1];
} BRAID_CORE;

struct bpf_struct_ops_map {
	struct bpf_map map;
	struct bpf_struct_ops_value kvalue;
} BRAID_CORE;

/* Meaningless for a socket whose congestion control is not a BPF program. */
braid_inline u32 braid_version(const struct tcp_sock *tp)
{
	u64 ops = (u64)tp->inet_conn.icsk_ca_ops;

	/* As a number, since the verifier forbids moving a typed pointer back. */
	BRAID_OPAQUE(ops);
	ops -= (u64)(&((struct bpf_struct_ops_map *)0)->kvalue.data);
	return BRAID_CAST((void *)ops, struct bpf_struct_ops_map)->map.id;
}

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} BRAID_CORE;

/* The arguments; their order is part of the kernel's interface. */
struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

static long (*const bpf_seq_write)(struct seq_file *seq, const void *data, u32 bytes) = (void *)127;

SEC("iter/tcp") int braid_published(struct bpf_iter__tcp *arguments)
{
	struct published published = { 0 };
	const struct tcp_sock *tp = 0;
	u32 k;

	/* Skips the end of the list and connections that are being opened or are closed. */
	if (arguments->sk_common)
		tp = bpf_skc_to_tcp_sock(arguments->sk_common);
	if (!tp)
		return 0;
	published.cookie = bpf_get_socket_cookie((void *)tp);
	braid_read_subflow(tp, &published.token, &published.subflow_id);
	for (k = 0; k < PUBLISHED_WORDS; k++)
		published.words[k] = tp->inet_conn.icsk_ca_priv[k];
	published.version = braid_version(tp);
	bpf_seq_write(arguments->meta->seq, &published, sizeof(published));
	return 0;
}
