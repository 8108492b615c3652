/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Location of state. ACKs of a socket move between CPUs, and every cache line that another CPU has written costs as
 * much as a small algorithm. So hooks write as little as possible that other CPUs read:
 *
 *	icsk_ca_priv   the identity, the public words, the note of an ACK. And of a small algorithm all that is left: what
 *	               the host keeps of a socket and private memory. Its lines are in this CPU's cache anyway
 *	the storage    of other algorithms: what the host keeps of a socket and private memory
 *	the CPU        what a call works on: view, event, record of a trace
 *
 * A hook can be interrupted by one hook of another socket, and preempted by any number, so each CPU has several scratch
 * buffers. A hook that finds none free does the same as one without storage: the kernel's Reno.
 */
#ifndef BRAID_STORE_H
#define BRAID_STORE_H

#define BRAID_PLACES 4u

/* Scratch buffer of a call. Parameters, private memory and the view follow; from the record to the view's last subflow
 * it is one record of a trace. */
struct braid_work {
	u32 coupled; /* eligible subflows on this algorithm; in memory, since the verifier would explore each number to the end */
	u32 is_traced; /* calls are being recorded */
	struct braid_record record;
	struct braid_event event;
};

/* What a hook works on. */
struct braid_hook {
	struct tcp_sock *tp;
	struct braid_socket *socket;
	struct braid_work *work; /* for this call alone */
	volatile u32 *taken;     /* tells that it is at work */
};

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

braid_inline void braid_count_ack(const struct braid_hook *hook)
{
	u32 only = 0, coupled = hook->work->coupled;
	struct braid_counts *counts = bpf_map_lookup_elem(&braid_counts, &only);

	if (counts && coupled <= BRAID_MAX_SUBFLOWS)
		counts->acks[coupled]++;
}

braid_inline void braid_count_loss(const struct braid_hook *hook, u32 cause)
{
	u32 only = 0;
	struct braid_counts *counts = bpf_map_lookup_elem(&braid_counts, &only);

	if (counts && cause <= BRAID_CAUSE_ECN)
		counts->losses[cause]++;
}

/* Of one CPU. */
struct braid_desk {
	volatile u32 taken[BRAID_PLACES]; /* 1: in use by a hook */
};

/* Defined by BRAID_ALGORITHM: the CPU's scratch buffers, and one of them; a socket's storage, null if it has none,
 * created if requested; further members of a buffer and of the storage. */
braid_inline struct braid_desk *braid_desk(void);
braid_inline struct braid_work *braid_work_at(struct braid_desk *desk, u32 place);
braid_inline struct braid_socket *braid_storage_of(struct tcp_sock *tp, u64 create);
braid_inline void braid_delete_storage(struct tcp_sock *tp);
braid_inline struct braid_view *braid_view_of(struct braid_work *work);
braid_inline void *braid_private_at(struct braid_work *work);
braid_inline void *braid_private_in(struct braid_socket *storage);
braid_inline struct braid_note *braid_note_in(struct braid_socket *storage);
braid_inline struct braid_hinted *braid_hinted_of(struct braid_socket *storage);
braid_inline u32 braid_private_words(void);
/* Length of the record to be written. */
braid_inline u32 braid_record_bytes(struct braid_work *work);
/* Copy the parameters and the private memory to the scratch buffer. */
braid_inline void braid_record_params(struct braid_work *work);
braid_inline void braid_record_private(struct braid_work *work, const void *priv);

/* Whether calls are recorded, see trace.h. */
braid_inline u32 braid_is_recorded(const struct tcp_sock *tp);

#define BRAID_SOCKET_WORDS 3
#define BRAID_NOTE_WORDS 3
_Static_assert(sizeof(struct braid_socket) == BRAID_SOCKET_WORDS * 8, "words");
_Static_assert(sizeof(struct braid_note) == BRAID_NOTE_WORDS * 8, "words");

braid_inline u32 braid_note_words(void)
{
	return braid_owns_cwnd() || braid_hears_growth_only() ? 0 : BRAID_NOTE_WORDS;
}

/* Whether all state fits into icsk_ca_priv, and hints need no state. */
braid_inline u32 braid_is_small(void)
{
	return !braid_owns_cwnd() && !braid_hears_hints() &&
	       braid_public_words() + BRAID_SOCKET_WORDS + braid_note_words() + braid_private_words() <=
		       BRAID_PUBLIC_WORDS;
}

/* Word of icsk_ca_priv with the deferred ACK; 0: no room for it. */
braid_inline u32 braid_note_word(void)
{
	if (braid_first_word() >= BRAID_NOTE_WORDS)
		return 1;
	return braid_public_words() + BRAID_NOTE_WORDS <= BRAID_PUBLIC_WORDS ? 1 + BRAID_PUBLIC_WORDS - BRAID_NOTE_WORDS
									     : 0;
}

braid_inline struct braid_note *braid_note_of(struct tcp_sock *tp, struct braid_socket *socket)
{
	return braid_note_word() ? (struct braid_note *)&tp->inet_conn.icsk_ca_priv[braid_note_word()]
				 : braid_note_in(socket);
}

/* The algorithm has begun there. */
braid_inline u32 braid_is_ours(const struct tcp_sock *tp)
{
	return tp->inet_conn.icsk_ca_priv[0] == braid_identity();
}

/* What the host keeps of a socket; null: the algorithm has not begun there. */
braid_inline struct braid_socket *braid_socket_of(struct tcp_sock *tp, u64 create)
{
	if (!braid_is_small())
		return braid_storage_of(tp, create);
	if (!create && !braid_is_ours(tp))
		return 0;
	return (struct braid_socket *)&tp->inet_conn.icsk_ca_priv[1 + braid_public_words()];
}

/*
 * The word of icsk_ca_priv with the state and a deferred restart; 0: no room for it, or no use. From the top: the
 * state, the idle time, the lower half of the restart's time.
 */
#define BRAID_STATE_SHIFT 59
#define BRAID_IDLE_BITS (BRAID_STATE_SHIFT - 32)

braid_inline u32 braid_state_word(void)
{
	u32 word = braid_first_word() >= BRAID_NOTE_WORDS + 1 ? 1 + BRAID_NOTE_WORDS
							      : BRAID_PUBLIC_WORDS - BRAID_NOTE_WORDS;

	if (!(braid_flags() & BRAID_RESTARTS_UNSEEN) || braid_is_small() || !braid_note_word())
		return 0;
	return word == 1 + BRAID_NOTE_WORDS || braid_public_words() < word ? word : 0;
}

braid_inline u64 *braid_state_at(struct tcp_sock *tp)
{
	return &tp->inet_conn.icsk_ca_priv[braid_state_word()];
}

/* What of BRAID_REDUCED and so on is the case. */
braid_inline u32 braid_state(const struct tcp_sock *tp, const struct braid_socket *socket)
{
	return braid_state_word() ? tp->inet_conn.icsk_ca_priv[braid_state_word()] >> BRAID_STATE_SHIFT : socket->state;
}

/* Clears `without`, sets `with`. */
braid_inline void braid_change_state(struct tcp_sock *tp, struct braid_socket *socket, u32 without, u32 with)
{
	if (braid_state_word()) {
		u64 word = *braid_state_at(tp) & ~((u64)without << BRAID_STATE_SHIFT);

		*braid_state_at(tp) = word | (u64)with << BRAID_STATE_SHIFT;
	} else {
		socket->state = (socket->state & ~without) | with;
	}
}

/* The deferred restart: its idle time, and in the lower half of the word that of its time. */
braid_inline u64 braid_take_restart(struct tcp_sock *tp)
{
	u64 word = *braid_state_at(tp);

	*braid_state_at(tp) = word & ~((u64)BRAID_RESTARTED << BRAID_STATE_SHIFT);
	return word & ((1ull << BRAID_STATE_SHIFT) - 1);
}

/* The word of icsk_ca_priv with a small algorithm's private memory between hooks. */
braid_inline u32 braid_private_word(void)
{
	return 1 + braid_public_words() + BRAID_SOCKET_WORDS;
}

braid_inline void *braid_private_of(const struct braid_hook *hook)
{
	return braid_is_small() ? braid_private_at(hook->work) : braid_private_in(hook->socket);
}

/* Claims a scratch buffer; returns whether one was free. */
braid_inline u32 braid_take_place(struct braid_hook *hook)
{
	struct braid_desk *desk = braid_desk();
	u32 first, second, third, place;

	if (!desk)
		return 0;
	/* The first free one. By arithmetic: the verifier would explore each number to the end. */
	first = desk->taken[0];
	second = desk->taken[1] & first;
	third = desk->taken[2] & second;
	place = (first + second + third) & (BRAID_PLACES - 1);
	/* One instruction, as a hook that preempts this one may claim the same. */
	if (__sync_lock_test_and_set(&desk->taken[place], 1))
		return 0;
	hook->work = braid_work_at(desk, place);
	hook->taken = &desk->taken[place];
	return 1;
}

/* Returns whether the algorithm can run for this socket, with its state in the hook; then braid_end must follow. */
braid_inline u32 braid_begin(struct braid_hook *hook, struct tcp_sock *tp, u64 create)
{
	u64 *priv;
	u32 k;

	hook->tp = tp;
	hook->socket = braid_socket_of(tp, create);
	if (!hook->socket || !braid_take_place(hook))
		return 0;
	if (create)
		tp->inet_conn.icsk_ca_priv[0] = braid_identity();
	priv = braid_private_at(hook->work);
#pragma unroll
	for (k = 0; braid_is_small() && k < braid_private_words(); k++)
		priv[k] = tp->inet_conn.icsk_ca_priv[braid_private_word() + k];
	hook->work->is_traced = braid_is_recorded(tp);
	return 1;
}

braid_inline void braid_end(const struct braid_hook *hook)
{
	const u64 *priv = braid_private_at(hook->work);
	u32 k;

#pragma unroll
	for (k = 0; braid_is_small() && k < braid_private_words(); k++)
		hook->tp->inet_conn.icsk_ca_priv[braid_private_word() + k] = priv[k];
	*hook->taken = 0;
}

/* The socket closes or changes its algorithm. */
braid_inline void braid_forget(struct tcp_sock *tp)
{
	tp->inet_conn.icsk_ca_priv[0] = 0;
	if (!braid_is_small())
		braid_delete_storage(tp);
}

/* Notes something in a socket's state. */
braid_inline void braid_mark(struct tcp_sock *tp, u32 state)
{
	struct braid_socket *socket = 0;

	if (!braid_is_ours(tp))
		return;
	if (!braid_state_word()) {
		socket = braid_socket_of(tp, 0);
		if (!socket)
			return;
	}
	braid_change_state(tp, socket, 0, state);
}

#endif
