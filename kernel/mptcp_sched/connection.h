/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the module keeps for a connection: the scheduler's memory, what it was told of the paths, and a timer. */
#ifndef BRAID_MODULE_CONNECTION_H
#define BRAID_MODULE_CONNECTION_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>

#include "carried.h"
#include "scheduler.h"

struct mptcp_sock;
struct sock;

struct braid_connection {
	struct hlist_node node;
	struct rcu_head rcu;
	refcount_t users;
	struct sock *sk;
	bool is_gone;
	const struct braid_scheduler *scheduler;
	const u32 *params;
	struct hrtimer timer;
	struct work_struct work;

	/* Paths by their index. */
	struct braid_known {
		const void *subflow; /* null: the index is free */
		u32 id;
		u32 srtt, delivered; /* at the last look */
		u64 cursor;          /* of a scheduler that copies: what it has not carried begins here */
	} known[BRAID_MAX_PATHS];
	struct braid_carried carried;

	/* The last choice, until what it has sent is seen. */
	struct {
		bool is_pending, is_copy, anew;
		u32 path;
		u64 from, to;
		/* Others that are to get the same. */
		u32 others;
	} given;
	/* The receive window as it is, while the kernel sees an end of its own: of what a path is to be given at once. */
	bool is_clamped;
	u64 window_end, clamped_to;
	/* New windows of paths, to be set when their locks can be had. */
	u32 cwnd[BRAID_MAX_PATHS], ssthresh[BRAID_MAX_PATHS];
	bool has_penalties;

	struct braid_paths view;
	struct braid_choice choice;
	u64 private[BRAID_SCHEDULER_BYTES / 8];
};

/* The table of connections, and who works when a timer is due. */
int braid_connections_begin(void);
void braid_connections_end(void);

/* That of a socket; null where there is none. With the socket's lock. */
struct braid_connection *braid_connection_find(struct mptcp_sock *msk);
/* A new one; null without memory. */
struct braid_connection *braid_connection_new(struct mptcp_sock *msk, const struct braid_scheduler *scheduler,
					      const u32 *params);
/* The socket goes. */
void braid_connection_release(struct mptcp_sock *msk);

/* Asks the scheduler again in so many microseconds, or earlier. */
void braid_connection_wake(struct braid_connection *own, u32 wake_us);
/* Asks it again as soon as the locks of all paths can be had. */
void braid_connection_work(struct braid_connection *own);

#endif
