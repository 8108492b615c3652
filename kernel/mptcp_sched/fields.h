/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fields that this module uses of the kernel's private structures, see layout.h. */
#ifndef BRAID_MODULE_FIELDS_H
#define BRAID_MODULE_FIELDS_H

struct list_head;
struct mptcp_sched_ops;
struct sock;

/* F(structure, field, size in bits; 0 for a flag: a bit or a bool) */
#define BRAID_LAYOUT(F)                                \
	F(mptcp_sock, snd_nxt, 64)                     \
	F(mptcp_sock, snd_una, 64)                     \
	F(mptcp_sock, write_seq, 64)                   \
	F(mptcp_sock, wnd_end, 64)                     \
	F(mptcp_sock, recovery_snd_nxt, 64)            \
	F(mptcp_sock, recovery, 8)                     \
	F(mptcp_sock, snd_burst, 32)                   \
	F(mptcp_sock, conn_list, 128)                  \
	F(mptcp_sock, rtx_queue, 128)                  \
	F(mptcp_sock, first_pending, 64)               \
	F(mptcp_sock, sched, 64)                       \
	F(mptcp_sock, use_64bit_ack, 0)                \
	F(mptcp_sock, csum_enabled, 0)                 \
	F(mptcp_subflow_context, node, 128)            \
	F(mptcp_subflow_context, tcp_sock, 64)         \
	F(mptcp_subflow_context, subflow_id, 32)       \
	F(mptcp_subflow_context, scheduled, 8)         \
	F(mptcp_subflow_context, backup, 0)            \
	F(mptcp_subflow_context, request_bkup, 0)      \
	F(mptcp_subflow_context, request_join, 0)      \
	F(mptcp_subflow_context, fully_established, 0) \
	F(mptcp_subflow_context, stale, 0)             \
	F(mptcp_data_frag, list, 128)                  \
	F(mptcp_data_frag, data_seq, 64)               \
	F(mptcp_data_frag, data_len, 16)               \
	F(mptcp_data_frag, already_sent, 16)

#endif
