/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's congestion control hooks, turned into the contract's events.
 *
 * Hooks of one acknowledgement, as the kernel calls them: pkts_acked and in_ack_event (in an order that changed), then
 * perhaps ssthresh or undo_cwnd, then cong_avoid if the window may grow. The contract wants on_loss, on_recovered,
 * on_ack. So pkts_acked only takes note; cong_avoid delivers. An ACK that lets nothing grow has no further hook: the
 * next hook that belongs to another moment (tcp_mstamp) delivers it first, with grow = 0 and the view of that later
 * moment.
 *
 * on_loss is delivered in ssthresh(), which the kernel calls before it changes the state. Its cause:
 *	RTO              no timer is pending although packets are out: only the handler of the retransmission timer clears
 *	                 icsk_pending while packets are out, before it calls tcp_retransmit_timer
 *	ECN              this ACK echoes congestion and nothing is marked lost
 *	fast retransmit  all else: marked losses, a loss repaired by a tail loss probe, a drop in the own queueing discipline
 *
 * on_recovered is delivered at the first hook after ssthresh() or undo_cwnd() that finds the state Open or Disorder.
 */
#ifndef BRAID_HOOKS_H
#define BRAID_HOOKS_H

/* What a trace says of a call besides its arguments, see trace.h. */
struct braid_record {
	u64 sequence; /* of calls, over all sockets */
	u64 time_ns;  /* CLOCK_MONOTONIC */
	u64 socket;   /* a random number, the same for all calls of a socket */
	u64 identity; /* of the algorithm, as in icsk_ca_priv */
	u64 source;   /* hash of the algorithm's source files */
	u32 cpu;
	u32 phase; /* BRAID_BEFORE or BRAID_AFTER; in memory also: the next is BRAID_AFTER, as the other was recorded */
};

/* What the host keeps of a socket, the algorithm's private memory behind it. Storage of the socket, so it goes with it;
 * hooks of one socket never run at the same time. */
struct braid_socket {
	u64 ack_us;      /* when an ACK came that is not delivered yet; 0: none */
	u64 ece_us;      /* when an ACK last echoed congestion */
	u64 bytes_acked; /* of the socket at the last ACK, and below */
	u32 delivered;
	s32 rtt_us; /* of the ACK not delivered yet; not positive: none */
	u32 acked;  /* packets */
	u32 acked_bytes;
	u32 reduced; /* on_loss was delivered, on_recovered not yet */
	u32 undone;  /* the kernel restored cwnd, on_recovered tells it */
	u32 decayed; /* the kernel reduced cwnd after an idle time */
	u32 reserved;
	/* From here to the last subflow of the view: one record of a trace. */
	struct braid_record record;
	struct braid_event event;
};

/* The socket's storage: null if it has none, which create may change; and what it holds besides. Defined by
 * BRAID_ALGORITHM, as is braid_deliver. */
braid_inline struct braid_socket *braid_socket_of(struct tcp_sock *tp, u64 create);
braid_inline void braid_forget(struct tcp_sock *tp);
braid_inline struct braid_view *braid_view_of(struct braid_socket *socket);
braid_inline void *braid_private_of(struct braid_socket *socket);
/* Whether the algorithm does anything then. An application that sends little restarts often, which need not cost. */
braid_inline u32 braid_minds_idle_restart(void);

/* Of the record that is to be written: how long it is. */
braid_inline u32 braid_record_bytes(struct braid_socket *socket);
/* Copies the parameters into the storage. */
braid_inline void braid_record_params(struct braid_socket *socket);

struct braid_counts {
	u64 acks[BRAID_MAX_SUBFLOWS + 1]; /* delivered, by the number of eligible subflows on this algorithm */
	u64 losses[BRAID_CAUSE_ECN + 1];  /* delivered, by cause */
};

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct braid_counts);
} braid_counts SEC(".maps");

braid_inline void braid_count_ack(u32 coupled)
{
	u32 only = 0;
	struct braid_counts *counts = bpf_map_lookup_elem(&braid_counts, &only);

	if (counts && coupled <= BRAID_MAX_SUBFLOWS)
		counts->acks[coupled]++;
}

braid_inline void braid_count_loss(u32 cause)
{
	u32 only = 0;
	struct braid_counts *counts = bpf_map_lookup_elem(&braid_counts, &only);

	if (counts && cause <= BRAID_CAUSE_ECN)
		counts->losses[cause]++;
}

#include "trace.h"

/* Prepares the event; the caller fills in the rest and delivers it. */
braid_inline struct braid_event *braid_event(struct braid_socket *socket, u32 type, u64 now_us)
{
	struct braid_event *event = &socket->event;

	__builtin_memset(event, 0, sizeof(*event));
	event->type = type;
	event->now_us = now_us;
	return event;
}

braid_inline void braid_deliver_to(struct braid_socket *socket, u32 type)
{
	braid_trace(socket, BRAID_BEFORE);
	braid_deliver(braid_view_of(socket), braid_private_of(socket), &socket->event, type);
	braid_trace(socket, BRAID_AFTER);
}

/* on_recovered, if an episode has ended. */
braid_inline void braid_settle(struct braid_socket *socket, const struct tcp_sock *tp)
{
	struct braid_event *event;

	if (!(socket->reduced | socket->undone) || BRAID_BITS(&tp->inet_conn, icsk_ca_state) > BRAID_DISORDER)
		return;
	event = braid_event(socket, BRAID_ON_RECOVERED, tp->tcp_mstamp);
	event->cause = socket->undone ? BRAID_CAUSE_UNDO : BRAID_CAUSE_EXIT;
	socket->reduced = 0;
	socket->undone = 0;
	braid_deliver_to(socket, BRAID_ON_RECOVERED);
}

braid_inline u32 braid_is_cwnd_limited(const struct tcp_sock *tp)
{
	return BRAID_BITS(tp, is_cwnd_limited) |
	       (tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out);
}

/* on_ack for the ACK that pkts_acked noted. */
braid_inline void braid_ack(struct braid_socket *socket, const struct tcp_sock *tp, u32 grow, u32 coupled)
{
	struct braid_event *event = braid_event(socket, BRAID_ON_ACK, socket->ack_us);

	event->acked = socket->acked;
	event->acked_bytes = socket->acked_bytes;
	event->rtt_us = socket->rtt_us > 0 ? socket->rtt_us : 0;
	event->grow = grow;
	event->prior_in_flight = braid_self(braid_view_of(socket))->in_flight + socket->acked;
	if (socket->ece_us == socket->ack_us)
		event->flags |= BRAID_ACK_ECE;
	if (braid_is_cwnd_limited(tp))
		event->flags |= BRAID_ACK_CWND_LIMITED;
	socket->ack_us = 0;
	braid_deliver_to(socket, BRAID_ON_ACK);
	braid_count_ack(coupled);
}

/* What the algorithm wrote, into the socket. */
braid_inline void braid_apply(struct braid_socket *socket, struct tcp_sock *tp)
{
	const struct braid_subflow *self = braid_self(braid_view_of(socket));
	u32 k;

	tp->snd_cwnd = braid_clamp(self->cwnd, 1, self->cwnd_clamp);
	tp->snd_ssthresh = braid_max32(self->ssthresh, 1);
	for (k = 0; k < braid_public_words(); k++)
		tp->inet_conn.icsk_ca_priv[k + 1] = self->public_words[k];
}

/* An ACK of an earlier moment waits to be delivered. */
braid_inline u32 braid_is_overdue(const struct braid_socket *socket, const struct tcp_sock *tp)
{
	return socket->ack_us && socket->ack_us != tp->tcp_mstamp;
}

SEC("struct_ops") void braid_init(u64 *args)
{
	struct tcp_sock *tp = (struct tcp_sock *)args[0];
	struct braid_socket *socket = braid_socket_of(tp, BPF_SK_STORAGE_GET_F_CREATE);
	u32 k;

	if (!socket)
		return;
	tp->inet_conn.icsk_ca_priv[0] = braid_identity();
	for (k = 0; k < BRAID_PUBLIC_WORDS; k++)
		tp->inet_conn.icsk_ca_priv[k + 1] = 0;
	socket->delivered = tp->delivered;
	socket->bytes_acked = tp->bytes_acked;
	braid_see(braid_view_of(socket), tp);
	braid_event(socket, BRAID_INIT, tp->tcp_mstamp);
	braid_deliver_to(socket, BRAID_INIT);
	braid_apply(socket, tp);
}

SEC("struct_ops") void braid_release(u64 *args)
{
	struct tcp_sock *tp = (struct tcp_sock *)args[0];
	struct braid_socket *socket = braid_socket_of(tp, 0);

	if (!socket)
		return;
	braid_see(braid_view_of(socket), tp);
	braid_event(socket, BRAID_RELEASE, tp->tcp_mstamp);
	braid_deliver_to(socket, BRAID_RELEASE);
	tp->inet_conn.icsk_ca_priv[0] = 0;
	braid_forget(tp);
}

SEC("struct_ops") void braid_in_ack_event(u64 *args)
{
	struct tcp_sock *tp = (struct tcp_sock *)args[0];
	struct braid_socket *socket;

	if (!(args[1] & CA_ACK_ECE))
		return;
	socket = braid_socket_of(tp, 0);
	if (socket)
		socket->ece_us = tp->tcp_mstamp;
}

SEC("struct_ops") void braid_pkts_acked(u64 *args)
{
	struct tcp_sock *tp = (struct tcp_sock *)args[0];
	const struct ack_sample *sample = (const struct ack_sample *)args[1];
	struct braid_socket *socket = braid_socket_of(tp, 0);

	if (!socket)
		return;
	if (socket->ack_us) {
		u32 coupled = braid_see(braid_view_of(socket), tp);

		braid_settle(socket, tp);
		braid_ack(socket, tp, 0, coupled);
		braid_apply(socket, tp);
	}
	socket->ack_us = tp->tcp_mstamp;
	socket->rtt_us = sample->rtt_us;
	socket->acked = tp->delivered - socket->delivered;
	socket->acked_bytes = (u32)(tp->bytes_acked - socket->bytes_acked);
	socket->delivered = tp->delivered;
	socket->bytes_acked = tp->bytes_acked;
}

SEC("struct_ops") void braid_cong_avoid(u64 *args)
{
	struct tcp_sock *tp = (struct tcp_sock *)args[0];
	struct braid_socket *socket = braid_socket_of(tp, 0);
	u32 coupled;

	if (!socket) {
		tcp_reno_cong_avoid((struct sock *)tp, (u32)args[1], (u32)args[2]);
		return;
	}
	coupled = braid_see(braid_view_of(socket), tp);
	braid_settle(socket, tp);
	braid_ack(socket, tp, (u32)args[2], coupled);
	braid_apply(socket, tp);
}

braid_inline u32 braid_cause(const struct braid_socket *socket, const struct tcp_sock *tp)
{
	if (!tp->inet_conn.icsk_pending && tp->packets_out)
		return BRAID_CAUSE_RTO;
	if (socket->ece_us == tp->tcp_mstamp && !tp->lost_out)
		return BRAID_CAUSE_ECN;
	return BRAID_CAUSE_FAST_RETRANSMIT;
}

SEC("struct_ops") u32 braid_ssthresh(u64 *args)
{
	struct tcp_sock *tp = (struct tcp_sock *)args[0];
	struct braid_socket *socket = braid_socket_of(tp, 0);
	u32 coupled, cause;

	if (!socket)
		return tcp_reno_ssthresh((struct sock *)tp);
	coupled = braid_see(braid_view_of(socket), tp);
	braid_settle(socket, tp);
	if (braid_is_overdue(socket, tp))
		braid_ack(socket, tp, 0, coupled);
	cause = braid_cause(socket, tp);
	braid_count_loss(cause);
	braid_event(socket, BRAID_ON_LOSS, tp->tcp_mstamp)->cause = cause;
	socket->reduced = 1;
	socket->undone = 0;
	braid_deliver_to(socket, BRAID_ON_LOSS);
	braid_apply(socket, tp);
	return braid_max32(braid_self(braid_view_of(socket))->ssthresh, 1);
}

SEC("struct_ops") u32 braid_undo_cwnd(u64 *args)
{
	struct tcp_sock *tp = (struct tcp_sock *)args[0];
	struct braid_socket *socket = braid_socket_of(tp, 0);

	if (socket)
		socket->undone = 1;
	return tcp_reno_undo_cwnd((struct sock *)tp);
}

/* About to send with nothing in flight. */
braid_inline void braid_start(struct tcp_sock *tp)
{
	struct braid_socket *socket = braid_socket_of(tp, 0);
	struct braid_event *event;
	u32 coupled;

	if (!socket)
		return;
	coupled = braid_see(braid_view_of(socket), tp);
	braid_settle(socket, tp);
	if (braid_is_overdue(socket, tp))
		braid_ack(socket, tp, 0, coupled);
	event = braid_event(socket, BRAID_ON_IDLE_RESTART, tp->tcp_mstamp);
	/* With nothing in flight the packet that was acknowledged last is the one that was sent last. */
	if (tp->first_tx_mstamp)
		event->idle_us = (u32)braid_min(braid_sub(tp->tcp_mstamp, tp->first_tx_mstamp), BRAID_U32_MAX);
	event->flags = socket->decayed ? BRAID_IDLE_DECAYED : 0;
	socket->decayed = 0;
	braid_deliver_to(socket, BRAID_ON_IDLE_RESTART);
	braid_apply(socket, tp);
}

SEC("struct_ops") void braid_cwnd_event_tx_start(u64 *args)
{
	if (braid_minds_idle_restart())
		braid_start((struct tcp_sock *)args[0]);
}

SEC("struct_ops") void braid_cwnd_event(u64 *args)
{
	struct tcp_sock *tp = (struct tcp_sock *)args[0];

	if (!braid_minds_idle_restart())
		return;
	if (BRAID_IS((u32)args[1], enum tcp_ca_event, CA_EVENT_CWND_RESTART)) {
		struct braid_socket *socket = braid_socket_of(tp, 0);

		if (socket)
			socket->decayed = 1;
	} else if (BRAID_IS((u32)args[1], enum tcp_ca_event, CA_EVENT_TX_START)) {
		braid_start(tp);
	}
}

#define BRAID_HOOKS                                                                                     \
	.flags = TCP_CONG_NON_RESTRICTED, .init = (void *)braid_init, .release = (void *)braid_release, \
	.ssthresh = (void *)braid_ssthresh, .cong_avoid = (void *)braid_cong_avoid,                     \
	.cwnd_event = (void *)braid_cwnd_event, .in_ack_event = (void *)braid_in_ack_event,             \
	.pkts_acked = (void *)braid_pkts_acked, .undo_cwnd = (void *)braid_undo_cwnd

/* Optional sections: user space creates the one that fits the kernel, under a name of its choice. */
SEC("?.struct_ops.link") struct tcp_congestion_ops braid_ops = { BRAID_HOOKS };
SEC("?.struct_ops.link")
struct tcp_congestion_ops___7_1 braid_ops_7_1 = { BRAID_HOOKS,
						  .cwnd_event_tx_start = (void *)braid_cwnd_event_tx_start };

#endif
