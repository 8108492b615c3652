/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fields that this module uses of the kernel's private structures, see layout.h. */
#ifndef BRAID_MODULE_FIELDS_H
#define BRAID_MODULE_FIELDS_H

/* F(structure, field, size in bits; 0 for a flag: a bit or a bool) */
#define BRAID_LAYOUT(F)                         \
	F(mptcp_subflow_context, tcp_sock, 64)  \
	F(mptcp_subflow_context, conn, 64)      \
	F(mptcp_subflow_context, mp_capable, 0) \
	F(mptcp_subflow_context, mp_join, 0)    \
	F(mptcp_sock, use_64bit_ack, 0)

#endif
