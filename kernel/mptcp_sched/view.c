// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A scheduler's view of a connection, from the kernel's sockets. */
#include <linux/list.h>
#include <net/mptcp.h>
#include <net/tcp.h>

#include "layout.h"
#include "view.h"

/* Bytes of MPTCP's option in a data packet: kind and length, acknowledgement of 4 or 8 bytes, mapping, checksum. */
static u32 option_bytes(const struct mptcp_sock *msk)
{
	u32 ack = braid_flag(msk, mptcp_sock_use_64bit_ack) ? 8 : 4;
	u32 checksum = braid_flag(msk, mptcp_sock_csum_enabled) ? 2 : 0;

	return ALIGN(4 + ack + 14 + checksum, 4);
}

static bool is_active(const void *subflow, const struct sock *ssk)
{
	if (braid_flag(subflow, mptcp_subflow_context_request_join) &&
	    !braid_flag(subflow, mptcp_subflow_context_fully_established))
		return false;
	return (1 << inet_sk_state_load(ssk)) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT);
}

static void fill(struct braid_connection *own, u32 index, const void *subflow, u32 options)
{
	struct sock *ssk = braid_field(struct sock *, subflow, mptcp_subflow_context_tcp_sock);
	struct braid_path *path = &own->view.path[index];
	const struct tcp_sock *tp = tcp_sk(ssk);
	u8 state = inet_csk(ssk)->icsk_ca_state;
	u32 rtt = READ_ONCE(tp->srtt_us);

	memset(path, 0, sizeof(*path));
	path->mss = max(tp->mss_cache, options + 1) - options;
	path->srtt_us = rtt >> 3;
	path->rttvar_us = READ_ONCE(tp->mdev_us) >> 2;
	path->mdev_max_us = READ_ONCE(tp->rttvar_us);
	path->last_rtt_us = tp->rack.rtt_us;
	path->cwnd = tcp_snd_cwnd(tp);
	path->ssthresh = tp->snd_ssthresh;
	path->in_flight = tcp_packets_in_flight(tp);
	path->queued = DIV_ROUND_UP(READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt), path->mss);
	path->memory = READ_ONCE(ssk->sk_wmem_queued);
	path->pacing_rate = READ_ONCE(ssk->sk_pacing_rate);
	if (is_active(subflow, ssk)) {
		path->flags |= BRAID_PATH_ESTABLISHED;
		if (!inet_csk(ssk)->icsk_retransmits)
			path->flags |= BRAID_PATH_USABLE;
	}
	if (path->in_flight + path->queued < path->cwnd && !hrtimer_is_queued((struct hrtimer *)&tp->pacing_timer))
		path->flags |= BRAID_PATH_ROOM;
	if (sk_stream_memory_free(ssk))
		path->flags |= BRAID_PATH_MEMORY;
	if (braid_flag(subflow, mptcp_subflow_context_backup) ||
	    braid_flag(subflow, mptcp_subflow_context_request_bkup))
		path->flags |= BRAID_PATH_BACKUP;
	if (braid_flag(subflow, mptcp_subflow_context_stale))
		path->flags |= BRAID_PATH_STALE;
	if (state == TCP_CA_Loss)
		path->flags |= BRAID_PATH_LOSS;
	if (state == TCP_CA_Open)
		path->flags |= BRAID_PATH_OPEN;
}

/* The index of a subflow; a new one gets the first free; BRAID_NO_PATH if there are too many. */
static u32 index_of(struct braid_connection *own, const void *subflow, bool *is_new)
{
	u32 id = braid_field(u32, subflow, mptcp_subflow_context_subflow_id), i;

	*is_new = false;
	for (i = 0; i < BRAID_MAX_PATHS; i++)
		if (own->known[i].subflow == subflow && own->known[i].id == id)
			return i;
	for (i = 0; i < BRAID_MAX_PATHS; i++) {
		if (own->known[i].subflow)
			continue;
		own->known[i] = (struct braid_known){ .subflow = subflow, .id = id };
		*is_new = true;
		return i;
	}
	return BRAID_NO_PATH;
}

/* Frees the indices of removed subflows. */
static void forget(struct braid_connection *own, const struct list_head *subflows)
{
	struct list_head *entry;
	u32 i;

	for (i = 0; i < BRAID_MAX_PATHS; i++) {
		bool is_there = false;

		if (!own->known[i].subflow)
			continue;
		list_for_each(entry, subflows)
		{
			const void *subflow = braid_of(entry, mptcp_subflow_context_node);

			is_there |= own->known[i].subflow == subflow &&
				    own->known[i].id == braid_field(u32, subflow, mptcp_subflow_context_subflow_id);
		}
		if (is_there)
			continue;
		own->known[i].subflow = NULL;
		memset(&own->view.path[i], 0, sizeof(own->view.path[i]));
		braid_carried_leave(&own->carried, i);
	}
}

void braid_view_deliver(struct braid_connection *own, enum braid_scheduler_event event, u32 self)
{
	memset(&own->choice, 0, sizeof(own->choice));
	own->view.self = self;
	own->scheduler->on_event[event](&own->view, own->private, own->params, &own->choice);
}

u64 braid_view_window_end(const struct braid_connection *own, const struct mptcp_sock *msk)
{
	u64 seen = READ_ONCE(braid_field(u64, msk, mptcp_sock_wnd_end));

	return own->is_clamped && braid_before(seen, own->window_end) ? own->window_end : seen;
}

void braid_view_refresh(struct braid_connection *own, struct mptcp_sock *msk)
{
	const struct list_head *subflows = &braid_field(struct list_head, msk, mptcp_sock_conn_list);
	u64 una = READ_ONCE(braid_field(u64, msk, mptcp_sock_snd_una));
	u64 next = braid_field(u64, msk, mptcp_sock_snd_nxt);
	u64 window_end = braid_view_window_end(own, msk);
	struct braid_paths *view = &own->view;
	u32 joined = 0, sampled = 0, options = option_bytes(msk), i;
	struct list_head *entry;

	forget(own, subflows);
	braid_carried_trim(&own->carried, una);
	view->now_us = ktime_to_us(ktime_get());
	view->flags = 0;
	view->n = 0;
	view->window = window_end - una;
	view->window_left = braid_before(next, window_end) ? window_end - next : 0;
	view->unassigned = braid_field(u64, msk, mptcp_sock_write_seq) - next;
	view->head_carriers = una == next ? 0 : braid_carried_at(&own->carried, una);
	list_for_each(entry, subflows)
	{
		const void *subflow = braid_of(entry, mptcp_subflow_context_node);
		const struct tcp_sock *tp = tcp_sk(braid_field(struct sock *, subflow, mptcp_subflow_context_tcp_sock));
		struct braid_known *known;
		bool is_new;

		i = index_of(own, subflow, &is_new);
		if (i == BRAID_NO_PATH)
			continue;
		known = &own->known[i];
		fill(own, i, subflow, options);
		view->n = max(view->n, i + 1);
		if (is_new) {
			known->cursor = una;
			joined |= 1u << i;
		} else if (known->srtt != tp->srtt_us || known->delivered != tp->delivered) {
			sampled |= 1u << i;
		}
		known->srtt = tp->srtt_us;
		known->delivered = tp->delivered;
		if (own->scheduler->flags & BRAID_COPIES) {
			u64 from = braid_before(known->cursor, una) ? una : known->cursor;

			known->cursor = from;
			view->path[i].behind = DIV_ROUND_UP_ULL(next - from, view->path[i].mss);
		}
	}
	braid_for_each_path(i, joined) braid_view_deliver(own, BRAID_JOIN, i);
	braid_for_each_path(i, sampled) braid_view_deliver(own, BRAID_RTT, i);
}
