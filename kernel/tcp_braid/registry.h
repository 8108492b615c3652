/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections and their subflows: the module's own table. A socket joins when an algorithm takes it over and leaves when the
 * algorithm is released. So no list of the kernel is walked, and no lock of a connection is taken.
 *
 * Siblings are read under RCU. A node outlives its readers (kfree_rcu). Its socket may be reused at once, since TCP's sockets
 * are SLAB_TYPESAFE_BY_RCU: what was read of a socket counts only if its node is not `gone` afterwards.
 */
#ifndef BRAID_REGISTRY_H
#define BRAID_REGISTRY_H

#include <linux/list.h>
#include <linux/rcupdate.h>

struct braid_instance;
struct braid_version;
struct netlink_callback;
struct sk_buff;
struct sock;
struct tcp_sock;

struct braid_group {
	struct hlist_node bucket;
	/* Key, never followed: the MPTCP connection, or the socket itself for plain TCP. */
	const struct sock *conn;
	struct list_head members;
	u64 number;
	u32 next_id;
	struct rcu_head rcu;
};

struct braid_node {
	struct list_head entry;
	const struct tcp_sock *tp;
	struct braid_instance *instance;
	struct braid_version *version;
	struct braid_group *group;
	u32 id;           /* within the group, from 1 */
	u32 option_bytes; /* see braid_option_bytes */
	u32 hint;         /* see hints.h */
	u32 hinted;       /* generation of hints that `hint` is from */
	int interface;    /* number of the interface that `hint` is for */
	bool is_subflow;
	bool gone;
	struct rcu_head rcu;
};

/* Adds a node to its group, which is made if there is none. Without memory for it the subflow is alone. */
void braid_join(struct braid_node *node, struct sock *sk, struct braid_instance *instance);
void braid_leave(struct braid_node *node);

/* Bytes of MPTCP's option in each packet of this subflow. */
u32 braid_mptcp_option(const struct sock *sk);

/* All nodes of a network namespace, for netlink: calls `put` until it returns an error. */
int braid_dump_nodes(struct sk_buff *skb, struct netlink_callback *cb,
		     int (*put)(struct sk_buff *skb, struct netlink_callback *cb, const struct braid_node *node));

/* Finds where a subflow's context has its connection. 0, or an error, which is logged. */
int braid_registry_begin(void);

#endif
