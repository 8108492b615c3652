/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where kernels differ, one entry each. Kbuild searches the kernel's headers and defines BRAID_HAS_...: distributions bring
 * changes back, so a version says little. The floor is Linux 5.15.
 */
#ifndef BRAID_COMPAT_H
#define BRAID_COMPAT_H

#include <net/genetlink.h>
#include <net/tcp.h>

/* Since 6.10 cong_control has two more arguments. */
#ifdef BRAID_HAS_CONTROL_ACK
#define BRAID_CONTROL_ARGUMENTS struct sock *sk, u32 ack, int flag, const struct rate_sample *sample
#else
#define BRAID_CONTROL_ARGUMENTS struct sock *sk, const struct rate_sample *sample
#endif

/* Since 7.1 CA_EVENT_TX_START is a callback of its own. */
#ifdef BRAID_HAS_TX_START
#define BRAID_TX_START(function) .cwnd_event_tx_start = (function),
#define BRAID_IS_TX_START(event) false
#else
#define BRAID_TX_START(function)
#define BRAID_IS_TX_START(event) ((event) == CA_EVENT_TX_START)
#endif

/* Since 7.x kernel_bind takes an address of another type. */
#ifdef BRAID_HAS_UNSIZED_ADDRESS
typedef struct sockaddr_unsized braid_sockaddr;
#else
typedef struct sockaddr braid_sockaddr;
#endif

#endif
