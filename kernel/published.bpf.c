// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the sockets of a network namespace publish, for whoever reads this iterator there: the words of icsk_ca_priv, that
 * is the identity of the algorithm and its public words, and which loaded version of it they run. The kernel holds the
 * socket's lock meanwhile. Which of the words mean something is for user space to know.
 */
#include "fixed.h"
#include "bpf.h"
#include "tcp.h"
#include "socket.h"

#define PUBLISHED_WORDS 13

/* Mirrored by `Record` in crates/braid-kernel. */
struct published {
	u64 cookie; /* as sock_diag has it */
	u32 token;  /* of the MPTCP connection; 0 for plain TCP */
	u32 subflow_id;
	u64 words[PUBLISHED_WORDS];
	u32 version; /* the identifier of the map that its tcp_congestion_ops lies in; 0: not known */
	u32 unused;
};

/* The kernel keeps the tcp_congestion_ops of a struct_ops program within its map. */
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

/* Of a socket whose congestion control is no BPF program what comes out means nothing. */
braid_inline u32 braid_version(const struct tcp_sock *tp)
{
	u64 ops = (u64)tp->inet_conn.icsk_ca_ops;

	/* A number, as the verifier lets no pointer to a type be moved back. */
	BRAID_OPAQUE(ops);
	ops -= (u64)(&((struct bpf_struct_ops_map *)0)->kvalue.data);
	return BRAID_CAST((void *)ops, struct bpf_struct_ops_map)->map.id;
}

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} BRAID_CORE;

/* The arguments; their places are part of the kernel's interface. */
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

	/* Neither the end of the list nor a connection that is just being made or long closed. */
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
