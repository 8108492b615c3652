/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where things lie. An ACK is processed now on one CPU, now on another, and every cache line that was written on the other
 * one costs as much as a small algorithm. So as little as possible is written that another CPU reads:
 *
 *	icsk_ca_priv   the identity, the public words, the note of an ACK. And of a small algorithm all that is left: what
 *	               the host keeps of a socket and private memory. Its lines are in this CPU's cache anyway
 *	the storage    of other algorithms: what the host keeps of a socket and private memory
 *	the CPU        what a call works on: view, event, record of a trace
 *
 * A hook can be interrupted by one of another socket, and preempted by any number, so a CPU has several places to work at.
 * A hook that finds none free does what one without storage does: the kernel's Reno.
 */
#ifndef BRAID_STORE_H
#define BRAID_STORE_H

#define BRAID_PLACES 4u

/* What a call works on. Parameters, private memory and the view follow; from the record to the view's last subflow it is one
 * record of a trace. */
struct braid_work {
	u32 coupled; /* eligible subflows on this algorithm; here, as the verifier would follow each number to the end */
	u32 is_traced; /* somebody records calls */
	struct braid_record record;
	struct braid_event event;
};

/* Of one CPU. */
struct braid_desk {
	volatile u32 taken[BRAID_PLACES]; /* 1: a hook works at that place */
};

/* Defined by BRAID_ALGORITHM: the CPU's desk, and a place of it; a socket's storage, null if it has none, which create may
 * change; what lies at a place and in the storage besides. */
braid_inline struct braid_desk *braid_desk(void);
braid_inline struct braid_work *braid_work_at(struct braid_desk *desk, u32 place);
braid_inline struct braid_socket *braid_storage_of(struct tcp_sock *tp, u64 create);
braid_inline void braid_forget(struct tcp_sock *tp);
braid_inline struct braid_view *braid_view_of(struct braid_work *work);
braid_inline void *braid_private_at(struct braid_work *work);
braid_inline void *braid_private_in(struct braid_socket *storage);
braid_inline struct braid_note *braid_note_in(struct braid_socket *storage);
braid_inline struct braid_hinted *braid_hinted_of(struct braid_socket *storage);
braid_inline u32 braid_private_words(void);
/* Of the record that is to be written: how long it is. */
braid_inline u32 braid_record_bytes(struct braid_work *work);
/* Copy the parameters and the private memory to the place. */
braid_inline void braid_record_params(struct braid_work *work);
braid_inline void braid_record_private(struct braid_work *work, const void *priv);

/* Whether somebody records calls, see trace.h. */
braid_inline u32 braid_is_recorded(void);

#define BRAID_SOCKET_WORDS 3
#define BRAID_NOTE_WORDS 3
_Static_assert(sizeof(struct braid_socket) == BRAID_SOCKET_WORDS * 8, "words");
_Static_assert(sizeof(struct braid_note) == BRAID_NOTE_WORDS * 8, "words");

braid_inline u32 braid_note_words(void)
{
	return braid_owns_cwnd() || braid_hears_growth_only() ? 0 : BRAID_NOTE_WORDS;
}

/* All of it fits into icsk_ca_priv, and there are no hints to remember. */
braid_inline u32 braid_is_small(void)
{
	return !braid_owns_cwnd() && !braid_hears_hints() &&
	       braid_public_words() + BRAID_SOCKET_WORDS + braid_note_words() + braid_private_words() <=
		       BRAID_PUBLIC_WORDS;
}

/* Where in icsk_ca_priv the note is; 0: there is no room for it. */
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

/* What the host keeps of a socket; null: the algorithm has not begun there. */
braid_inline struct braid_socket *braid_socket_of(struct tcp_sock *tp, u64 create)
{
	if (!braid_is_small())
		return braid_storage_of(tp, create);
	if (!create && tp->inet_conn.icsk_ca_priv[0] != braid_identity())
		return 0;
	return (struct braid_socket *)&tp->inet_conn.icsk_ca_priv[1 + braid_public_words()];
}

/*
 * The word of icsk_ca_priv that has the state and a restart that was noted; 0: there is no room for it, or no use.
 * From above: the state, the idle time, the lower half of the restart's time.
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

/* What of BRAID_REDUCED and so on is the case. */
braid_inline u32 braid_state(const struct tcp_sock *tp, const struct braid_socket *socket)
{
	return braid_state_word() ? tp->inet_conn.icsk_ca_priv[braid_state_word()] >> BRAID_STATE_SHIFT : socket->state;
}

/* Of that some is no longer the case, and some is now. */
braid_inline void braid_change_state(struct tcp_sock *tp, struct braid_socket *socket, u32 without, u32 with)
{
	if (braid_state_word()) {
		u64 word = tp->inet_conn.icsk_ca_priv[braid_state_word()];

		word &= ~((u64)without << BRAID_STATE_SHIFT);
		tp->inet_conn.icsk_ca_priv[braid_state_word()] = word | (u64)with << BRAID_STATE_SHIFT;
	} else {
		socket->state = (socket->state & ~without) | with;
	}
}

/* The restart that was noted: its idle time, and in the lower half of the word that of its time. */
braid_inline u64 braid_take_restart(struct tcp_sock *tp)
{
	u64 word = tp->inet_conn.icsk_ca_priv[braid_state_word()];

	tp->inet_conn.icsk_ca_priv[braid_state_word()] = word & ~((u64)BRAID_RESTARTED << BRAID_STATE_SHIFT);
	return word & ((1ull << BRAID_STATE_SHIFT) - 1);
}

/* The word of icsk_ca_priv at which a small algorithm's private memory is while no hook runs. */
braid_inline u32 braid_private_word(void)
{
	return 1 + braid_public_words() + BRAID_SOCKET_WORDS;
}

braid_inline void *braid_private_of(const struct braid_hook *hook)
{
	return braid_is_small() ? braid_private_at(hook->work) : braid_private_in(hook->socket);
}

/* Takes a place, and returns whether there was one. */
braid_inline u32 braid_take_place(struct braid_hook *hook)
{
	struct braid_desk *desk = braid_desk();
	u32 first, second, third, place;

	if (!desk)
		return 0;
	/* The first that is free. By arithmetic: the verifier would follow each number to the end. */
	first = desk->taken[0];
	second = desk->taken[1] & first;
	third = desk->taken[2] & second;
	place = (first + second + third) & (BRAID_PLACES - 1);
	/* One instruction, as a hook that preempts this one may want the same. */
	if (__sync_lock_test_and_set(&desk->taken[place], 1))
		return 0;
	hook->work = braid_work_at(desk, place);
	hook->taken = &desk->taken[place];
	return 1;
}

/* Returns whether the algorithm can work for this socket, with all it needs in the hook; then braid_end has to follow. */
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
	hook->work->is_traced = braid_is_recorded();
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

/* Notes something in a socket's state. */
braid_inline void braid_mark(struct tcp_sock *tp, u32 state)
{
	struct braid_socket *socket = 0;

	if (tp->inet_conn.icsk_ca_priv[0] != braid_identity())
		return;
	if (!braid_state_word()) {
		socket = braid_socket_of(tp, 0);
		if (!socket)
			return;
	}
	braid_change_state(tp, socket, 0, state);
}

#endif
