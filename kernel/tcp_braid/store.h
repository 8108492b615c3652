/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where things lie:
 *
 *	icsk_ca_priv   the node's address, then the public words, which siblings read
 *	the node       what siblings know of a socket; behind it, what the host keeps and private memory
 *	the stack      what a hook works on: view, event, record of a trace
 *
 * Unlike the eBPF host it notes every idle restart in the node, so nothing here depends on the room in icsk_ca_priv.
 */
#ifndef BRAID_STORE_H
#define BRAID_STORE_H

struct braid_own {
	struct braid_node node;
	/* Not read by siblings: a line of its own. */
	struct braid_socket socket ____cacheline_aligned;
	struct braid_note note;
	u64 state; /* the state and a restart that was noted, see below */
	void *priv;
	u64 behind[]; /* private memory, unless it is large */
};

struct braid_work {
	u32 coupled;
	u32 is_traced;
	struct braid_record record;
	struct braid_event event;
};

struct braid_place {
	struct braid_work work;
	struct braid_view view;
};

struct braid_hook {
	struct tcp_sock *tp;
	struct braid_socket *socket;
	struct braid_work *work;
	struct braid_place place;
};

/* Defined by BRAID_ALGORITHM. */
braid_inline u32 braid_private_bytes(void);
braid_inline const struct braid_algorithm *braid_algorithm_here(void);

braid_inline struct braid_instance *braid_instance_at(const struct tcp_sock *tp)
{
	return container_of(tp->inet_conn.icsk_ca_ops, struct braid_instance, ops);
}

/* Null before init and after release. */
braid_inline struct braid_own *braid_own_of(const struct tcp_sock *tp)
{
	return (struct braid_own *)(unsigned long)tp->inet_conn.icsk_ca_priv[0];
}

braid_inline u32 braid_is_ours(const struct tcp_sock *tp)
{
	return tp->inet_conn.icsk_ca_priv[0] != 0;
}

braid_inline void braid_count_ack(const struct braid_hook *hook)
{
	this_cpu_inc(braid_instance_at(hook->tp)->counts->acks[hook->work->coupled]);
}

braid_inline void braid_count_loss(const struct braid_hook *hook, u32 cause)
{
	if (cause < BRAID_COUNTED_CAUSES)
		this_cpu_inc(braid_instance_at(hook->tp)->counts->losses[cause]);
}

/* Restarts can be noted: the algorithm does not look at the view then. */
braid_inline u32 braid_state_word(void)
{
	return braid_flags() & BRAID_RESTARTS_UNSEEN;
}

braid_inline u32 braid_note_word(void)
{
	return 1;
}

braid_inline u32 braid_is_small(void)
{
	return 1;
}

braid_inline struct braid_socket *braid_socket_of(struct tcp_sock *tp, u64 create)
{
	return &braid_own_of(tp)->socket;
}

braid_inline struct braid_note *braid_note_of(struct tcp_sock *tp, struct braid_socket *socket)
{
	return &braid_own_of(tp)->note;
}

/* From above: the state, the idle time, the lower half of the restart's time. */
#define BRAID_STATE_SHIFT 59
#define BRAID_IDLE_BITS (BRAID_STATE_SHIFT - 32)

braid_inline u64 *braid_state_at(const struct tcp_sock *tp)
{
	return &braid_own_of(tp)->state;
}

braid_inline u32 braid_state(const struct tcp_sock *tp, const struct braid_socket *socket)
{
	return *braid_state_at(tp) >> BRAID_STATE_SHIFT;
}

/* Clears `without`, sets `with`. */
braid_inline void braid_change_state(struct tcp_sock *tp, struct braid_socket *socket, u32 without, u32 with)
{
	u64 word = *braid_state_at(tp) & ~((u64)without << BRAID_STATE_SHIFT);

	*braid_state_at(tp) = word | (u64)with << BRAID_STATE_SHIFT;
}

/* The restart that was noted: its idle time, and in the lower half of the word that of its time. */
braid_inline u64 braid_take_restart(struct tcp_sock *tp)
{
	u64 word = *braid_state_at(tp);

	*braid_state_at(tp) = word & ~((u64)BRAID_RESTARTED << BRAID_STATE_SHIFT);
	return word & ((1ull << BRAID_STATE_SHIFT) - 1);
}

braid_inline struct braid_view *braid_view_of(struct braid_work *work)
{
	return &container_of(work, struct braid_place, work)->view;
}

braid_inline void *braid_private_of(const struct braid_hook *hook)
{
	return braid_own_of(hook->tp)->priv;
}

/* Private memory that would take the node over 2 KB, and kmalloc to 4, is allocated by itself. */
braid_inline u32 braid_is_large(void)
{
	return sizeof(struct braid_own) + braid_private_bytes() > 2048;
}

static __attribute__((__noinline__)) struct braid_own *braid_create(struct tcp_sock *tp)
{
	u32 behind = braid_is_large() ? 0 : braid_private_bytes();
	struct braid_own *own = kzalloc(sizeof(*own) + behind, GFP_ATOMIC | __GFP_NOWARN);

	if (!own)
		return 0;
	own->priv = braid_is_large() ? kzalloc(braid_private_bytes(), GFP_ATOMIC | __GFP_NOWARN) : own->behind;
	if (!own->priv) {
		kfree(own);
		return 0;
	}
	braid_join(&own->node, (struct sock *)tp, braid_instance_at(tp));
	return own;
}

/* The socket closes or changes its algorithm. */
braid_inline void braid_forget(struct tcp_sock *tp)
{
	struct braid_own *own = braid_own_of(tp);

	if (!own)
		return;
	tp->inet_conn.icsk_ca_priv[0] = 0;
	if (braid_is_large())
		kfree(own->priv);
	braid_leave(&own->node);
}

/* Returns whether the algorithm can work for this socket; then braid_end has to follow. */
braid_inline u32 braid_begin(struct braid_hook *hook, struct tcp_sock *tp, u64 create)
{
	struct braid_own *own;

	if (create)
		tp->inet_conn.icsk_ca_priv[0] = (unsigned long)braid_create(tp);
	own = braid_own_of(tp);
	if (!own)
		return 0;
	hook->tp = tp;
	hook->socket = &own->socket;
	hook->work = &hook->place.work;
	hook->work->is_traced = READ_ONCE(braid_instance_at(tp)->is_traced);
	/* A record has all of it. */
	if (unlikely(hook->work->is_traced))
		memset(&hook->place.view, 0, sizeof(hook->place.view));
	return 1;
}

braid_inline void braid_end(const struct braid_hook *hook)
{
}

braid_inline void braid_mark(struct tcp_sock *tp, u32 state)
{
	if (braid_is_ours(tp))
		braid_change_state(tp, 0, 0, state);
}

/* See hints.h. */
struct braid_hinted;

braid_inline struct braid_hinted *braid_hinted_of(struct braid_socket *socket)
{
	return 0;
}

braid_inline void braid_hint(struct braid_view *view, struct braid_hinted *hinted, const struct tcp_sock *tp)
{
	struct braid_node *node = &braid_own_of(tp)->node;
	u32 generation = READ_ONCE(braid_hint_generation);

	if (!generation)
		return;
	braid_refresh_hint(node, generation);
	braid_self(view)->hint = node->hint;
}

/* See view.h. */
braid_inline u32 braid_option_bytes(const struct tcp_sock *tp, const void *known)
{
	struct braid_node *node = &braid_own_of(tp)->node;
	u32 bytes;

	if (known)
		return READ_ONCE(((const struct braid_node *)known)->option_bytes);
	if (!node->is_subflow)
		return 0;
	bytes = braid_mptcp_option((const struct sock *)tp);
	/* Siblings read it from the same cache line. */
	if (bytes != node->option_bytes)
		WRITE_ONCE(node->option_bytes, bytes);
	return bytes;
}

braid_inline u32 braid_see_siblings(struct braid_view *view, const struct tcp_sock *tp, const volatile u32 *is_traced)
{
	const struct braid_node *node = &braid_own_of(tp)->node, *other;
	const struct braid_group *group = node->group;
	u32 n = 0, coupled = 0;

	view->self = BRAID_MAX_SUBFLOWS;
	if (!braid_couples() || !node->is_subflow)
		return 0;
	view->connection = group->number;
	rcu_read_lock();
	list_for_each_entry_rcu(other, &group->members, entry)
	{
		struct braid_subflow *subflow = &view->subflow[n];

		/* A subflow leaves when its socket is destroyed, minutes after MPTCP has closed it. */
		if (other != node && !braid_is_established(other->tp))
			continue;
		subflow->id = other->id;
		subflow->flags = 0;
		if (other == node) {
			view->self = n;
		} else {
			if (other->instance->algorithm == node->instance->algorithm)
				subflow->flags = BRAID_SAME_ALGORITHM;
			braid_read_sibling(subflow, other->tp, other);
			if (*is_traced)
				braid_read_unread(subflow, other->tp, other);
			if (braid_reads_paths() || *is_traced)
				subflow->hint = READ_ONCE(other->hint);
			/* After what was read of its socket. */
			smp_rmb();
			if (unlikely(READ_ONCE(other->gone)))
				continue;
			coupled += subflow->flags & BRAID_ELIGIBLE & (subflow->flags / BRAID_SAME_ALGORITHM);
		}
		if (++n == BRAID_MAX_SUBFLOWS)
			break;
	}
	rcu_read_unlock();
	view->n = n;
	return coupled;
}

#endif
