/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Turns the kernel's congestion control hooks into the contract's events.
 *
 * Hooks of one acknowledgement, in the kernel's order: pkts_acked, then perhaps ssthresh or undo_cwnd, then cong_avoid
 * if the window may grow. The contract wants on_loss, on_recovered, on_ack. So pkts_acked only stores the ACK, and
 * cong_avoid delivers it. An ACK on which no window may grow has no further hook: the next hook of a later time
 * (tcp_mstamp) delivers it first, with grow = 0 and the view of that time.
 *
 * Every hook costs by being called, so there are no more than these two per ACK, and only cong_avoid for algorithms
 * with BRAID_GROWTH_ONLY. An ACK's values are differences of the socket's counters; it echoes congestion if
 * delivered_ce has grown.
 *
 * on_loss is delivered in ssthresh(), which the kernel calls before it changes the state. Its cause:
 *	RTO              no timer is pending although packets are out: only the handler of the retransmission timer clears
 *	                 icsk_pending while packets are out, before it calls tcp_retransmit_timer
 *	ECN              this ACK echoes congestion and nothing is marked lost
 *	fast retransmit  all else: marked losses, a loss repaired by a tail loss probe, a drop in the own queueing discipline
 *
 * on_recovered is delivered at the first hook after ssthresh() or undo_cwnd() that finds the state Open or Disorder.
 *
 * on_idle_restart is delivered in cwnd_event(), or deferred to the next hook where that makes no difference.
 *
 * What is different for algorithms that own their window is in rate.h.
 *
 * Shared by both hosts, eBPF and the module tcp_braid. Each has its own store.h (where things lie, counters), trace.h, and
 * functions that the kernel calls.
 */
#ifndef BRAID_HOOKS_H
#define BRAID_HOOKS_H

/* Head of a call in a trace, besides its arguments; see trace.h. */
struct braid_record {
	u64 sequence; /* number of the call, over all sockets */
	u64 time_ns;  /* CLOCK_MONOTONIC */
	u64 socket;   /* equal for all calls of a socket: random, or of group and subflow in the module */
	u64 identity; /* of the algorithm, as in icsk_ca_priv */
	u64 source;   /* hash of the algorithm's source files */
	u32 cpu;
	u32 phase; /* BRAID_BEFORE or BRAID_AFTER; in memory also whether the next record is BRAID_AFTER */
};

/* A deferred ACK: the socket's counters at that time. The ACK's values are the differences to those of the previous ACK
 * in braid_socket. */
struct braid_note {
	u64 ack_us; /* time of the ACK; 0: none */
	s32 rtt_us; /* not positive: none */
	u32 delivered;
	u32 delivered_ce;
	u32 bytes_acked;
};

/* Events not yet delivered, see braid_state. */
#define BRAID_REDUCED 1u   /* on_loss was delivered, on_recovered not yet */
#define BRAID_UNDONE 2u    /* the kernel restored cwnd; on_recovered reports it */
#define BRAID_DECAYED 4u   /* the kernel reduced cwnd after an idle time */
#define BRAID_RESTARTED 8u /* a deferred restart after an idle time */

/* The host's state per socket, see store.h. Hooks of one socket never run at the same time. */
struct braid_socket {
	union {
		u32 delivered; /* the socket's counters at the last delivered ACK */
		u32 cwnd;      /* for an algorithm that owns it: its last value */
	};
	u32 delivered_ce;
	u32 bytes_acked;
	u32 state;     /* unless it is in icsk_ca_priv, see braid_state */
	u64 traced_as; /* braid_record.socket; 0: none yet */
};

#include "store.h"
#include "trace.h"

braid_inline struct braid_view *braid_view(const struct braid_hook *hook)
{
	return braid_view_of(hook->work);
}

/* Not inlined: what it has on the stack, which is short, is gone when the algorithm is called. */
static __attribute__((__noinline__, unused)) void braid_see_all(struct braid_work *work, const struct tcp_sock *tp)
{
	work->coupled = braid_see(braid_view_of(work), tp, &work->is_traced);
}

braid_inline void braid_look(const struct braid_hook *hook)
{
	if (braid_is_small())
		hook->work->coupled = braid_see(braid_view(hook), hook->tp, &hook->work->is_traced);
	else
		braid_see_all(hook->work, hook->tp);
	if (braid_hears_hints())
		braid_hint(braid_view(hook), braid_hinted_of(hook->socket), hook->tp);
}

/* Defined by the host: the transition for an event of that type, with the work's event. */
braid_inline void braid_call_algorithm(const struct braid_hook *hook, u32 type);

/* Prepares the event; the caller fills in the rest and delivers it. */
braid_inline struct braid_event *braid_event(const struct braid_hook *hook, u32 type, u64 now_us)
{
	struct braid_event *event = &hook->work->event;

	__builtin_memset(event, 0, sizeof(*event));
	event->type = type;
	event->now_us = now_us;
	return event;
}

braid_inline void braid_deliver_to(const struct braid_hook *hook, u32 type)
{
	braid_trace(hook, BRAID_BEFORE);
	braid_call_algorithm(hook, type);
	braid_trace(hook, BRAID_AFTER);
}

/* Delivers a deferred on_idle_restart. */
braid_inline void braid_tell_restart(const struct braid_hook *hook)
{
	u64 now_us = hook->tp->tcp_mstamp, restart;

	if (!(braid_state(hook->tp, hook->socket) & BRAID_RESTARTED))
		return;
	restart = braid_take_restart(hook->tp);
	/* Packets sent then are acknowledged or lost before the lower half of the time wraps. */
	braid_event(hook, BRAID_ON_IDLE_RESTART, now_us - ((u32)now_us - (u32)restart))->idle_us = (u32)(restart >> 32);
	braid_deliver_to(hook, BRAID_ON_IDLE_RESTART);
}

/* Delivers the deferred ACK, and on_recovered if an episode has ended. */
braid_inline void braid_settle(const struct braid_hook *hook)
{
	u32 state = braid_state(hook->tp, hook->socket);
	struct braid_event *event;

	braid_tell_restart(hook);
	if (!(state & (BRAID_REDUCED | BRAID_UNDONE)) ||
	    BRAID_BITS(&hook->tp->inet_conn, icsk_ca_state) > BRAID_DISORDER)
		return;
	event = braid_event(hook, BRAID_ON_RECOVERED, hook->tp->tcp_mstamp);
	event->cause = state & BRAID_UNDONE ? BRAID_CAUSE_UNDO : BRAID_CAUSE_EXIT;
	braid_change_state(hook->tp, hook->socket, BRAID_REDUCED | BRAID_UNDONE, 0);
	braid_deliver_to(hook, BRAID_ON_RECOVERED);
}

braid_inline u32 braid_is_cwnd_limited(const struct tcp_sock *tp)
{
	return BRAID_BITS(tp, is_cwnd_limited) |
	       (tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out);
}

/* Whether an ACK of an earlier time is deferred. */
braid_inline u32 braid_is_overdue(const struct braid_note *note, const struct tcp_sock *tp)
{
	return note->ack_us && note->ack_us != tp->tcp_mstamp;
}

/* Delivers the deferred ACK. */
braid_inline void braid_tell_noted(const struct braid_hook *hook)
{
	struct braid_socket *socket = hook->socket;
	struct braid_note *note = braid_note_of(hook->tp, hook->socket);
	struct braid_event *event = braid_event(hook, BRAID_ON_ACK, note->ack_us);
	u32 acked = note->delivered - socket->delivered;
	u32 delivered_ce = hook->tp->delivered_ce, noted_ce = note->delivered_ce;

	/* Loaded before the branch: the verifier does not allow one load instruction for two kinds of memory. */
	BRAID_OPAQUE(delivered_ce);
	BRAID_OPAQUE(noted_ce);
	if (braid_is_overdue(note, hook->tp))
		delivered_ce = noted_ce;
	event->acked = acked;
	event->acked_bytes = note->bytes_acked - socket->bytes_acked;
	event->rtt_us = note->rtt_us > 0 ? note->rtt_us : 0;
	event->prior_in_flight = braid_self(braid_view(hook))->in_flight + acked;
	if (delivered_ce != socket->delivered_ce)
		event->flags = BRAID_ACK_ECE;
	socket->delivered = note->delivered;
	socket->delivered_ce = delivered_ce;
	socket->bytes_acked = note->bytes_acked;
	note->ack_us = 0;
}

/* Delivers on_ack for this ACK or the deferred one. */
braid_inline void braid_ack(const struct braid_hook *hook, u32 grow)
{
	struct tcp_sock *tp = hook->tp;
	struct braid_event *event = &hook->work->event;

	if (braid_hears_growth_only()) {
		/* All packets delivered by such an ACK may grow the window. */
		braid_event(hook, BRAID_ON_ACK, tp->tcp_mstamp)->acked = grow;
		hook->socket->delivered_ce = tp->delivered_ce;
	} else {
		braid_tell_noted(hook);
	}
	event->grow = grow;
	if (braid_is_cwnd_limited(tp))
		event->flags |= BRAID_ACK_CWND_LIMITED;
	braid_deliver_to(hook, BRAID_ON_ACK);
	braid_count_ack(hook);
}

/* Delivers an ACK of an earlier time before the present event. */
braid_inline void braid_catch_up(const struct braid_hook *hook)
{
	if (!braid_owns_cwnd() && !braid_hears_growth_only() &&
	    braid_is_overdue(braid_note_of(hook->tp, hook->socket), hook->tp))
		braid_ack(hook, 0);
}

/* Copies the algorithm's results into the socket. */
braid_inline void braid_apply(const struct braid_hook *hook)
{
	const struct braid_subflow *self = braid_self(braid_view(hook));
	struct tcp_sock *tp = hook->tp;
	u32 k;

	tp->snd_cwnd = braid_clamp(self->cwnd, 1, self->cwnd_clamp);
	tp->snd_ssthresh = braid_max32(self->ssthresh, 1);
	if (braid_owns_cwnd())
		hook->socket->cwnd = tp->snd_cwnd;
	if (braid_owns_cwnd() || (braid_paces() && self->pacing_rate && self->pacing_rate != braid_pacing_rate(tp))) {
		struct sock *sk = &tp->inet_conn.icsk_inet.sk;

		sk->sk_pacing_rate = braid_min(self->pacing_rate, sk->sk_max_pacing_rate);
		/* TCP paces unless a queueing discipline does. */
		if (sk->sk_pacing_status == SK_PACING_NONE)
			sk->sk_pacing_status = SK_PACING_NEEDED;
	}
	for (k = braid_first_word(); k < braid_public_words(); k++)
		tp->inet_conn.icsk_ca_priv[k + 1] = self->public_words[k];
}

braid_inline void braid_on_init(struct tcp_sock *tp)
{
	struct braid_hook hook;
	u32 k;

	for (k = 0; k < BRAID_PUBLIC_WORDS; k++)
		tp->inet_conn.icsk_ca_priv[k + 1] = 0;
	if (!braid_begin(&hook, tp, 1))
		return;
	hook.socket->delivered = tp->delivered;
	hook.socket->delivered_ce = tp->delivered_ce;
	hook.socket->bytes_acked = (u32)tp->bytes_acked;
	braid_look(&hook);
	braid_event(&hook, BRAID_INIT, tp->tcp_mstamp);
	braid_deliver_to(&hook, BRAID_INIT);
	braid_apply(&hook);
	braid_end(&hook);
}

braid_inline void braid_on_release(struct tcp_sock *tp)
{
	struct braid_hook hook;

	if (braid_begin(&hook, tp, 0)) {
		braid_look(&hook);
		braid_event(&hook, BRAID_RELEASE, tp->tcp_mstamp);
		braid_deliver_to(&hook, BRAID_RELEASE);
		braid_end(&hook);
	}
	braid_forget(tp);
}

/* Not inlined: the common case would have more registers to save. */
static __attribute__((__noinline__)) void braid_ack_late(struct tcp_sock *tp)
{
	struct braid_hook hook;

	if (!braid_begin(&hook, tp, 0))
		return;
	braid_look(&hook);
	braid_settle(&hook);
	braid_ack(&hook, 0);
	braid_apply(&hook);
	braid_end(&hook);
}

braid_inline void braid_on_pkts_acked(struct tcp_sock *tp, s32 rtt_us)
{
	struct braid_socket *socket = 0;
	struct braid_note *note;

	/* Not initialised yet, or without storage. */
	if (!braid_is_ours(tp))
		return;
	if (!braid_note_word()) {
		socket = braid_socket_of(tp, 0);
		if (!socket)
			return;
	}
	note = braid_note_of(tp, socket);
	if (note->ack_us)
		braid_ack_late(tp);
	note->ack_us = tp->tcp_mstamp;
	note->rtt_us = rtt_us;
	note->delivered = tp->delivered;
	note->delivered_ce = tp->delivered_ce;
	note->bytes_acked = (u32)tp->bytes_acked;
}

braid_inline void braid_on_cong_avoid(struct tcp_sock *tp, u32 ack, u32 acked)
{
	struct braid_hook hook;

	if (!braid_begin(&hook, tp, 0)) {
		tcp_reno_cong_avoid((struct sock *)tp, ack, acked);
		return;
	}
	braid_look(&hook);
	braid_settle(&hook);
	braid_ack(&hook, acked);
	braid_apply(&hook);
	braid_end(&hook);
}

braid_inline u32 braid_is_timeout(const struct tcp_sock *tp)
{
	return !tp->inet_conn.icsk_pending && tp->packets_out;
}

braid_inline u32 braid_cause(const struct braid_socket *socket, const struct tcp_sock *tp)
{
	if (braid_is_timeout(tp))
		return BRAID_CAUSE_RTO;
	if (tp->delivered_ce != socket->delivered_ce && !tp->lost_out)
		return BRAID_CAUSE_ECN;
	return BRAID_CAUSE_FAST_RETRANSMIT;
}

braid_inline void braid_lose(const struct braid_hook *hook, u32 cause)
{
	braid_count_loss(hook, cause);
	braid_event(hook, BRAID_ON_LOSS, hook->tp->tcp_mstamp)->cause = cause;
	braid_change_state(hook->tp, hook->socket, BRAID_UNDONE, BRAID_REDUCED);
	braid_deliver_to(hook, BRAID_ON_LOSS);
	braid_apply(hook);
}

braid_inline u32 braid_on_ssthresh(struct tcp_sock *tp)
{
	struct braid_hook hook;
	u32 ssthresh;

	if (braid_owns_cwnd() && braid_is_timeout(tp))
		return tp->snd_ssthresh;
	if (!braid_begin(&hook, tp, 0))
		return tcp_reno_ssthresh((struct sock *)tp);
	braid_look(&hook);
	braid_settle(&hook);
	braid_catch_up(&hook);
	braid_lose(&hook, braid_cause(hook.socket, tp));
	ssthresh = braid_max32(braid_self(braid_view(&hook))->ssthresh, 1);
	braid_end(&hook);
	return ssthresh;
}

braid_inline u32 braid_on_undo_cwnd(struct tcp_sock *tp)
{
	braid_mark(tp, BRAID_UNDONE);
	return braid_owns_cwnd() ? tp->snd_cwnd : tcp_reno_undo_cwnd((struct sock *)tp);
}

/* Time since the last transmission. With nothing in flight the packet acknowledged last is also the one sent last. */
braid_inline u64 braid_idle_us(const struct tcp_sock *tp)
{
	if (!tp->first_tx_mstamp)
		return 0;
	return braid_min(braid_sub(tp->tcp_mstamp, tp->first_tx_mstamp), BRAID_U32_MAX);
}

/* Defers the restart to the next hook: with small windows there are as many restarts as ACKs. Returns false if that
 * would make a difference: the algorithm reads the view then, calls are being recorded, or another event is
 * deferred. */
braid_inline u32 braid_note_restart(struct tcp_sock *tp)
{
	u64 idle_us;

	if (!braid_state_word() || !braid_is_ours(tp))
		return 0;
	if (braid_state(tp, 0) || braid_note_of(tp, 0)->ack_us || braid_is_recorded(tp))
		return 0;
	idle_us = braid_idle_us(tp);
	if (idle_us >> BRAID_IDLE_BITS)
		return 0;
	*braid_state_at(tp) = (u64)BRAID_RESTARTED << BRAID_STATE_SHIFT | idle_us << 32 | (u32)tp->tcp_mstamp;
	return 1;
}

/* About to send with nothing in flight. */
braid_inline void braid_start(struct tcp_sock *tp)
{
	struct braid_event *event;
	struct braid_hook hook;

	if (braid_note_restart(tp) || !braid_begin(&hook, tp, 0))
		return;
	braid_look(&hook);
	braid_settle(&hook);
	braid_catch_up(&hook);
	event = braid_event(&hook, BRAID_ON_IDLE_RESTART, tp->tcp_mstamp);
	event->idle_us = (u32)braid_idle_us(tp);
	event->flags = braid_state(tp, hook.socket) & BRAID_DECAYED ? BRAID_IDLE_DECAYED : 0;
	if (braid_owns_cwnd() && tp->app_limited)
		event->flags |= BRAID_ACK_APP_LIMITED;
	braid_change_state(tp, hook.socket, BRAID_DECAYED, 0);
	braid_deliver_to(&hook, BRAID_ON_IDLE_RESTART);
	braid_apply(&hook);
	braid_end(&hook);
}

/* 0 if the event is BRAID_IGNORE, which makes its second argument a 0, else 1. */
#define BRAID_MINDS(event) BRAID_MINDS_(event)
#define BRAID_MINDS_(event) BRAID_SECOND(BRAID_IGNORES_##event, 1, )
#define BRAID_IGNORES_braid_ignore , 0
#define BRAID_SECOND(...) BRAID_SECOND_(__VA_ARGS__)
#define BRAID_SECOND_(first, second, ...) second

#include "rate.h"

#endif
