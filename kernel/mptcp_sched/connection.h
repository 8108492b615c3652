/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* State per connection: the scheduler's memory, the last known paths, and a timer. */
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
		u32 srtt, delivered; /* at the last sample */
		u64 cursor;          /* of a scheduler that copies: start of the data that it has not sent */
	} known[BRAID_MAX_PATHS];
	struct braid_carried carried;

	/* The last decision, until its data has been sent. */
	struct {
		bool is_pending, is_copy, anew;
		u32 path;
		u64 from, to;
		/* Further paths that get the same data. */
		u32 others;
	} given;
	/* The real receive window, while the kernel's ends at the end of a decision. */
	bool is_clamped;
	u64 window_end, clamped_to;
	/* New windows of paths, set once their locks are available. */
	u32 cwnd[BRAID_MAX_PATHS], ssthresh[BRAID_MAX_PATHS];
	bool has_penalties;

	struct braid_paths view;
	struct braid_choice choice;
	u64 private[BRAID_SCHEDULER_BYTES / 8];
};

/* The table of connections, and the work queue of timers. */
int braid_connections_begin(void);
void braid_connections_end(void);

/* The entry of a socket; null if there is none. With the socket's lock. */
struct braid_connection *braid_connection_find(struct mptcp_sock *msk);
/* Adds an entry; null without memory. */
struct braid_connection *braid_connection_new(struct mptcp_sock *msk, const struct braid_scheduler *scheduler,
					      const u32 *params);
/* The socket is released. */
void braid_connection_release(struct mptcp_sock *msk);

/* Calls the scheduler again after this many microseconds, or earlier. */
void braid_connection_wake(struct braid_connection *own, u32 wake_us);
/* Calls it again as soon as the locks of all paths are available. */
void braid_connection_work(struct braid_connection *own);

#endif
