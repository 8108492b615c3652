/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Identifies a socket for user space: its cookie, as in sock_diag, and for an MPTCP subflow its connection's token and
 * its number there, as in MPTCP_FULL_INFO. For programs that are not congestion controls.
 */
#ifndef BRAID_SOCKET_H
#define BRAID_SOCKET_H

static u64 (*const bpf_get_socket_cookie)(void *sk) = (void *)46;
static struct tcp_sock *(*const bpf_skc_to_tcp_sock)(void *sk) = (void *)137;

/* Both stay unchanged for plain TCP. */
braid_inline void braid_read_subflow(const struct tcp_sock *tp, u32 *token, u32 *subflow_id)
{
	const struct mptcp_subflow_context *context;

	if (!tp->is_mptcp || !tp->inet_conn.icsk_ulp_data)
		return;
	context = BRAID_CAST(tp->inet_conn.icsk_ulp_data, struct mptcp_subflow_context);
	*subflow_id = context->subflow_id;
	if (context->conn)
		*token = BRAID_CAST(context->conn, struct mptcp_sock)->token;
}

#endif
