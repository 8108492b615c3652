/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The siblings of a subflow, by walking the kernel's own list of the connection's subflows.
 *
 * The list changes while it is walked. So every step is checked, the walk is bounded, and loads through BRAID_CAST yield 0
 * instead of faulting. Anything odd ends the walk: what was seen so far counts.
 */
#ifndef BRAID_SIBLINGS_H
#define BRAID_SIBLINGS_H

/* Published words have our layout. After a live replace old sockets keep the old ops, so the ops pointer says nothing; and
 * nothing else has such a first word: the kernel clears it when an algorithm takes over, and what its own keep there are
 * windows and times, far from these 64 bits. */
braid_inline u32 braid_is_same_algorithm(const struct tcp_sock *tp)
{
	return braid_equal(tp->inet_conn.icsk_ca_priv[0], braid_identity());
}

/* See view.h. */
braid_inline u32 braid_option_bytes(const struct tcp_sock *tp, const void *known)
{
	const struct mptcp_subflow_context *context;

	if (!tp->is_mptcp || !tp->inet_conn.icsk_ulp_data)
		return 0;
	context = BRAID_CAST(tp->inet_conn.icsk_ulp_data, struct mptcp_subflow_context);
	return (BRAID_BITS(context, mp_capable) | BRAID_BITS(context, mp_join)) *
	       (24 + 4 * BRAID_CAST(context->conn, struct mptcp_sock)->use_64bit_ack);
}

/* The subflow whose entry in its connection's list that is. */
braid_inline const struct mptcp_subflow_context *braid_context(const struct list_head *at)
{
	return BRAID_CAST((const void *)at -
				  __builtin_preserve_field_info(((struct mptcp_subflow_context *)0)->node, 0),
			  struct mptcp_subflow_context);
}

braid_inline void braid_read_context(struct braid_subflow *subflow, const struct mptcp_subflow_context *context)
{
	subflow->id = context->subflow_id;
	if (braid_reads_all())
		subflow->flags |= (BRAID_BITS(context, backup) | BRAID_BITS(context, request_bkup)) * BRAID_BACKUP;
}

/* See view.h. */
braid_inline u32 braid_see_siblings(struct braid_view *view, const struct tcp_sock *tp, const volatile u32 *is_traced)
{
	const struct mptcp_subflow_context *context;
	const struct mptcp_sock *connection;
	const struct list_head *at;
	const void *conn;
	u64 head, own;
	u32 i, flags, coupled = 0;

	view->self = BRAID_MAX_SUBFLOWS;
	if (!braid_couples() || !tp->is_mptcp || !tp->inet_conn.icsk_ulp_data)
		return 0;
	context = BRAID_CAST(tp->inet_conn.icsk_ulp_data, struct mptcp_subflow_context);
	conn = context->conn;
	if (!conn || (u64)context->tcp_sock != (u64)tp)
		return 0;
	own = (u64)&context->node;
	connection = BRAID_CAST(conn, struct mptcp_sock);
	head = (u64)&connection->conn_list;
	at = connection->conn_list.next;
	if (braid_reads_all_of_self() || *is_traced)
		view->connection = connection->token;
	view->n = 0;
	for (i = 0; i < BRAID_MAX_SUBFLOWS; i++) {
		struct braid_subflow *subflow = &view->subflow[i];

		if (!at || (u64)at == head)
			break;
		context = braid_context(at);
		if ((u64)at == own) {
			view->self = i;
			subflow->flags = 0;
			if (braid_reads_all_of_self() || *is_traced)
				braid_read_context(subflow, context);
		} else {
			const void *sibling = context->tcp_sock;

			if (!sibling || (u64)context->conn != (u64)conn)
				break;
			subflow->flags = 0;
			if (braid_reads_unless(BRAID_NO_ID_OF_SIBLINGS) || *is_traced)
				braid_read_context(subflow, context);
			subflow->flags |= braid_is_same_algorithm(BRAID_CAST(sibling, struct tcp_sock)) *
					  BRAID_SAME_ALGORITHM;
			braid_read_sibling(subflow, BRAID_CAST(sibling, struct tcp_sock), 0);
			if (!braid_reads_all() && *is_traced)
				braid_read_unread(subflow, BRAID_CAST(sibling, struct tcp_sock), 0);
			flags = *(volatile u32 *)&subflow->flags;
			coupled += flags & BRAID_ELIGIBLE & (flags / BRAID_SAME_ALGORITHM);
		}
		view->n = i + 1;
		at = context->node.next;
	}
	return coupled;
}

#endif
