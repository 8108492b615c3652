// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Carries out a scheduler's decision with the kernel's means.
 *
 * The kernel calls the scheduler, and lets the marked subflow send from `first_pending` on: a piece of up to 32 KB, and
 * more until `snd_burst` is used up, regardless of its window. So:
 *
 * - The kernel's receive window ends at the end of the decision, until the kernel asks again (clamp).
 * - Copies use the kernel's reinjection after a failure: `first_pending` is set back to the copied data, with
 *   `recovery` set (go_back), and at the next call to the next new data (go_on). Only in process context with the
 *   socket's lock: elsewhere the subflow may send later, after the data has been acknowledged, and would send beyond
 *   the window's end, which corrupts the subflow's own window.
 */
#include <linux/list.h>
#include <net/mptcp.h>
#include <net/tcp.h>

#include "choose.h"
#include "kernel.h"
#include "layout.h"
#include "view.h"

/* Maximum that the kernel assigns to a subflow at once (MPTCP_SEND_BURST_SIZE). */
#define MOST_BYTES 65428

static u64 *seq_of(void *piece)
{
	return &braid_field(u64, piece, mptcp_data_frag_data_seq);
}

static u16 *length_of(void *piece)
{
	return &braid_field(u16, piece, mptcp_data_frag_data_len);
}

static u16 *sent_of(void *piece)
{
	return &braid_field(u16, piece, mptcp_data_frag_already_sent);
}

static void **head_of(struct mptcp_sock *msk)
{
	return &braid_field(void *, msk, mptcp_sock_first_pending);
}

static void *next_of(struct mptcp_sock *msk, void *piece)
{
	struct list_head *queue = &braid_field(struct list_head, msk, mptcp_sock_rtx_queue);
	struct list_head *entry = &braid_field(struct list_head, piece, mptcp_data_frag_list);

	return entry->next == queue ? NULL : braid_of(entry->next, mptcp_data_frag_list);
}

/* Position from which the kernel would send. */
static u64 position(struct mptcp_sock *msk)
{
	void *head = *head_of(msk);

	return head ? *seq_of(head) + *sent_of(head) : braid_field(u64, msk, mptcp_sock_snd_nxt);
}

/* Acknowledgements move the window's end, under the socket's spin lock. Callers hold the lock already, except in
 * process context. */
static bool lock_window(struct sock *sk)
{
	if (!sock_owned_by_user_nocheck(sk))
		return false;
	spin_lock_bh(&sk->sk_lock.slock);
	return true;
}

static void unlock_window(struct sock *sk, bool is_locked)
{
	if (is_locked)
		spin_unlock_bh(&sk->sk_lock.slock);
}

static void clamp_window(struct braid_connection *own, struct mptcp_sock *msk, u64 end)
{
	bool is_locked = lock_window(own->sk);
	u64 *seen = &braid_field(u64, msk, mptcp_sock_wnd_end);

	if (braid_before(end, *seen)) {
		own->window_end = *seen;
		own->is_clamped = true;
		WRITE_ONCE(*seen, end);
	}
	unlock_window(own->sk, is_locked);
}

static void unclamp_window(struct braid_connection *own, struct mptcp_sock *msk)
{
	bool is_locked;
	u64 *seen = &braid_field(u64, msk, mptcp_sock_wnd_end);

	if (!own->is_clamped)
		return;
	is_locked = lock_window(own->sk);
	/* An acknowledgement may have moved it. */
	if (braid_before(*seen, own->window_end))
		WRITE_ONCE(*seen, own->window_end);
	own->is_clamped = false;
	unlock_window(own->sk, is_locked);
}

/* The kernel sends from `from` next; `to` is limited to the piece of `from`. False if it is acknowledged. */
static bool go_back(struct mptcp_sock *msk, u64 from, u64 *to)
{
	struct list_head *queue = &braid_field(struct list_head, msk, mptcp_sock_rtx_queue), *entry;
	u64 next = braid_field(u64, msk, mptcp_sock_snd_nxt);

	list_for_each(entry, queue)
	{
		void *piece = braid_of(entry, mptcp_data_frag_list);
		u64 begin = *seq_of(piece), end = begin + *length_of(piece);

		if (!braid_before(from, end))
			continue;
		if (braid_before(from, begin) || !braid_before(from, next))
			return false;
		*to = braid_before(end, *to) ? end : *to;
		*to = braid_before(next, *to) ? next : *to;
		*sent_of(piece) = from - begin;
		*head_of(msk) = piece;
		/* Then the kernel accepts acknowledgements beyond its position of the next data to send. */
		braid_field(u64, msk, mptcp_sock_recovery_snd_nxt) = next;
		braid_field(u8, msk, mptcp_sock_recovery) = 1;
		return true;
	}
	return false;
}

/* The kernel sends new data next. */
static void go_on(struct mptcp_sock *msk)
{
	u64 next = braid_field(u64, msk, mptcp_sock_snd_nxt);
	void *piece;

	for (piece = *head_of(msk); piece; piece = next_of(msk, piece)) {
		u64 begin = *seq_of(piece);

		if (braid_before(next, begin + *length_of(piece))) {
			*sent_of(piece) = braid_before(begin, next) ? next - begin : 0;
			break;
		}
		*sent_of(piece) = *length_of(piece);
	}
	*head_of(msk) = piece;
}

/* Whether the kernel reinjects everything: then data after its position counts as not sent. */
static bool has_gone_back(struct mptcp_sock *msk)
{
	void *head = *head_of(msk), *piece = head ? next_of(msk, head) : NULL;

	return piece && braid_before(*seq_of(piece), braid_field(u64, msk, mptcp_sock_snd_nxt)) && !*sent_of(piece);
}

/* Records the data sent by the last decision. */
static void account(struct braid_connection *own, struct mptcp_sock *msk)
{
	u64 at = position(msk), to;

	if (!own->given.is_pending)
		return;
	own->given.is_pending = false;
	if (braid_before(at, own->given.from) || (own->given.is_copy && has_gone_back(msk))) {
		/* A subflow has been removed, and the kernel reinjects its data. */
		own->given.others = 0;
		return;
	}
	to = own->given.is_copy && braid_before(own->given.to, at) ? own->given.to : at;
	own->given.to = to;
	braid_carried_add(&own->carried, own->given.from, to, own->given.path, own->given.anew);
	if (own->known[own->given.path].cursor == own->given.from)
		own->known[own->given.path].cursor = to;
	if (own->given.is_copy)
		go_on(msk);
}

void braid_choose_settle(struct braid_connection *own, struct mptcp_sock *msk)
{
	unclamp_window(own, msk);
	account(own, msk);
}

static void *subflow_of(const struct braid_connection *own, u32 path)
{
	return (void *)own->known[path].subflow;
}

/* The path gets the data from `from` on, at most `bytes`. */
static int give(struct braid_connection *own, struct mptcp_sock *msk, u32 path, u64 from, u64 bytes, bool is_copy)
{
	void *subflow = subflow_of(own, path);
	u64 to = from + bytes;

	if (!subflow)
		return -EINVAL;
	if (is_copy && !go_back(msk, from, &to))
		return -EINVAL;
	own->given.is_pending = true;
	own->given.is_copy = is_copy;
	own->given.path = path;
	own->given.from = from;
	own->given.to = to;
	braid_field(s32, msk, mptcp_sock_snd_burst) = min_t(u64, to - from, S32_MAX);
	/* Data may be acknowledged before the kernel reinjects it by itself. */
	if (is_copy || !(own->scheduler->flags & BRAID_MAINLINE || own->view.flags & BRAID_REINJECTION))
		clamp_window(own, msk, to);
	WRITE_ONCE(braid_field(u8, subflow, mptcp_subflow_context_scheduled), 1);
	return 0;
}

static u64 room_bytes(const struct braid_path *path)
{
	u64 used = (u64)path->in_flight + path->queued;

	return used < path->cwnd ? (path->cwnd - used) * path->mss : 0;
}

/* Carries out a decision for the segment at `from`. */
static int carry_out(struct braid_connection *own, struct mptcp_sock *msk, u64 from)
{
	const struct braid_choice *choice = &own->choice;
	const struct braid_path *path;
	u64 bytes;
	u32 i = __ffs(choice->paths);

	path = &own->view.path[i];
	bytes = choice->packets ? (u64)choice->packets * path->mss : MOST_BYTES;
	if (!(choice->flags & BRAID_QUEUE))
		bytes = min(bytes, max(room_bytes(path), (u64)path->mss));
	own->given.anew = choice->flags & BRAID_FORGET;
	if (choice->flags & BRAID_COPY)
		return give(own, msk, i, own->known[i].cursor, min_t(u64, bytes, path->mss), true);
	own->given.others = choice->paths & ~(1u << i);
	return give(own, msk, i, from, bytes, false);
}

/* New data does not fit the receive window: paths with room may retransmit, and slow others down. */
static int blocked(struct braid_connection *own, struct mptcp_sock *msk)
{
	u64 una = READ_ONCE(braid_field(u64, msk, mptcp_sock_snd_una));
	u32 ready = braid_ready(&own->view), again = BRAID_NO_PATH, wake_us = 0, i, k;

	own->view.flags = BRAID_WINDOW_BLOCKED;
	braid_for_each_path(i, ready)
	{
		braid_view_deliver(own, BRAID_BLOCKED, i);
		for (k = 0; k < BRAID_MAX_PATHS; k++) {
			if (own->choice.cwnd[k] || own->choice.ssthresh[k]) {
				own->cwnd[k] = own->choice.cwnd[k];
				own->ssthresh[k] = own->choice.ssthresh[k];
				own->has_penalties = true;
			}
		}
		if (own->choice.flags & BRAID_RESEND_HEAD && again == BRAID_NO_PATH)
			again = i;
	}
	if (own->has_penalties)
		braid_connection_work(own);
	own->given.others = 0;
	own->given.anew = false;
	if (again != BRAID_NO_PATH && !give(own, msk, again, una, own->view.path[again].mss, true))
		return 0;
	/* While the window is full, a path with new room causes no call. */
	braid_for_each_path(i, braid_paths_with(&own->view, BRAID_PATH_USABLE, 0))
	{
		u32 rtt = own->view.path[i].srtt_us;

		if (rtt && (!wake_us || rtt < wake_us))
			wake_us = rtt;
	}
	if (una != braid_field(u64, msk, mptcp_sock_snd_nxt)) {
		braid_connection_wake(own, wake_us ? wake_us : USEC_PER_MSEC);
		return -EINVAL;
	}
	/* Nothing is in flight, so only a probe opens the window, which the kernel makes from data to send. */
	braid_for_each_path(i, braid_paths_with(&own->view, BRAID_PATH_ESTABLISHED, 0))
	{
		WRITE_ONCE(braid_field(u8, subflow_of(own, i), mptcp_subflow_context_scheduled), 1);
		return 0;
	}
	return -EINVAL;
}

static bool is_anyone_behind(const struct braid_connection *own)
{
	u32 i;

	for (i = 0; i < own->view.n; i++)
		if (own->view.path[i].behind && own->view.path[i].flags & BRAID_PATH_USABLE)
			return true;
	return false;
}

/* As soon as process context is available. */
static int later(struct braid_connection *own)
{
	braid_connection_work(own);
	return -EINVAL;
}

int braid_choose_send(struct braid_connection *own, struct mptcp_sock *msk)
{
	bool copies = own->scheduler->flags & BRAID_COPIES, has_copies;
	bool may_copy = sock_owned_by_user_nocheck(own->sk);
	u64 from, next, left;
	u32 i;

	/* Its choice is ignored: it sets the connection's timer and ends staleness of subflows. */
	braid_kernel.get_send(msk);
	braid_choose_settle(own, msk);
	braid_view_refresh(own, msk);
	has_copies = copies && is_anyone_behind(own);
	if (!may_copy && (own->given.others || has_copies))
		return later(own);
	/* Several paths were chosen: each of the others gets a copy of the data that the first has sent. */
	while (own->given.others) {
		i = __ffs(own->given.others);
		own->given.others &= ~(1u << i);
		if (braid_before(own->given.from, own->given.to) &&
		    !give(own, msk, i, own->given.from, own->given.to - own->given.from, true))
			return 0;
	}
	from = position(msk);
	next = braid_field(u64, msk, mptcp_sock_snd_nxt);
	left = braid_view_window_end(own, msk) - from;
	own->view.segment = min_t(u64, max(own->view.path[0].mss, TCP_MIN_MSS),
				  braid_field(u64, msk, mptcp_sock_write_seq) - from);
	own->view.carriers = 0;
	own->view.flags = 0;
	if (braid_before(from, next)) {
		own->view.flags = BRAID_REINJECTION;
		own->view.carriers = braid_carried_at(&own->carried, from);
	} else if (*head_of(msk) && (left >= own->view.segment || own->scheduler->flags & BRAID_MAINLINE)) {
		own->view.flags = BRAID_NEW_DATA;
	} else if (*head_of(msk) && !has_copies) {
		return may_copy ? blocked(own, msk) : later(own);
	}
	if (has_copies)
		/* Without new data, a path with new room causes no call. */
		braid_connection_wake(own, 10 * USEC_PER_MSEC);
	else if (!*head_of(msk))
		return -EINVAL;
	braid_view_deliver(own, BRAID_CHOOSE, 0);
	if (own->choice.paths)
		return carry_out(own, msk, from);
	if (own->choice.wake_us)
		braid_connection_wake(own, own->choice.wake_us);
	return -EINVAL;
}

void braid_choose_before_push(struct braid_connection *own)
{
	struct mptcp_sock *msk = (struct mptcp_sock *)own->sk;
	struct list_head *queue = &braid_field(struct list_head, msk, mptcp_sock_rtx_queue);
	u64 una = READ_ONCE(braid_field(u64, msk, mptcp_sock_snd_una));
	u64 next = braid_field(u64, msk, mptcp_sock_snd_nxt);
	u32 i;

	for (i = 0; own->has_penalties && i < BRAID_MAX_PATHS; i++) {
		void *subflow = subflow_of(own, i);
		struct sock *ssk;

		if (!subflow || !(own->cwnd[i] || own->ssthresh[i]))
			continue;
		ssk = braid_field(struct sock *, subflow, mptcp_subflow_context_tcp_sock);
		lock_sock(ssk);
		if (own->cwnd[i])
			tcp_snd_cwnd_set(tcp_sk(ssk), own->cwnd[i]);
		if (own->ssthresh[i])
			tcp_sk(ssk)->snd_ssthresh = own->ssthresh[i];
		release_sock(ssk);
		own->cwnd[i] = 0;
		own->ssthresh[i] = 0;
	}
	own->has_penalties = false;
	/* The kernel does not call without new data. Schedulers that copy are called anyway for copies of the last
	 * data: braid_choose_send finds the right position. */
	if (own->scheduler->flags & BRAID_COPIES && !*head_of(msk) && una != next && !list_empty(queue)) {
		u64 to = next;

		braid_view_refresh(own, msk);
		if (is_anyone_behind(own) && go_back(msk, next - 1, &to)) {
			own->given.is_pending = true;
			own->given.is_copy = true;
			own->given.from = next - 1;
			own->given.to = next - 1;
			own->given.path = 0;
			own->given.others = 0;
		}
	}
}
