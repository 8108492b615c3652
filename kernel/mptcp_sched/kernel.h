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
	/* What the default scheduler chooses. It also sets the connection's timer and finds out who is no longer stale. */
	struct sock *(*get_send)(struct mptcp_sock *msk);
	/* Whom the kernel has send again what was lost with another subflow. */
	struct sock *(*get_retrans)(struct mptcp_sock *msk);
	/* Asks the scheduler and sends; with the connection's lock held. */
	void (*push_pending)(struct sock *sk, unsigned int flags);
};
extern struct braid_kernel braid_kernel;

/* Finds them. 0, or an error, after it was said what is wrong. */
int braid_kernel_find(void);

#endif
