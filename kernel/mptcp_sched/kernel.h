/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions of net/mptcp that the kernel does not export to modules. */
#ifndef BRAID_MODULE_KERNEL_H
#define BRAID_MODULE_KERNEL_H

#include <linux/types.h>

struct mptcp_sched_ops;
struct mptcp_sock;
struct sock;

struct braid_kernel {
	int (*register_scheduler)(struct mptcp_sched_ops *ops);
	void (*unregister_scheduler)(struct mptcp_sched_ops *ops);
	/* The default scheduler's choice. Also sets the connection's timer and ends staleness of subflows. */
	struct sock *(*get_send)(struct mptcp_sock *msk);
	/* The kernel's subflow for reinjecting another subflow's data. */
	struct sock *(*get_retrans)(struct mptcp_sock *msk);
	/* Calls the scheduler and sends; with the connection's lock held. */
	void (*push_pending)(struct sock *sk, unsigned int flags);
};
extern struct braid_kernel braid_kernel;

/* Finds them. 0, or an error that has been logged. */
int braid_kernel_find(void);

#endif
