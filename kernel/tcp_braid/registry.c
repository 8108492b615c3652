// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The table of connections, see registry.h; and how an MPTCP subflow's connection is found. */
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/mptcp.h>
#include <net/tcp.h>

#include "compat.h"
#include "instance.h"
#include "layout.h"
#include "registry.h"

#define BUCKET_BITS 10
#define BUCKETS (1 << BUCKET_BITS)

static struct bucket {
	spinlock_t lock;
	struct hlist_head groups;
} buckets[BUCKETS];

static atomic64_t numbers;

/* Where a subflow's context has its own socket and its connection, in bytes. */
static u32 own_at, conn_at;
/* The flags of the context and the connection are known, too. */
static bool has_flags;

static char *layout = "none: this kernel has no MPTCP";
module_param(layout, charp, 0444);
MODULE_PARM_DESC(layout, "read only: how MPTCP connections are found, by BTF or by a probe");
static bool use_btf = true;
module_param(use_btf, bool, 0444);
MODULE_PARM_DESC(use_btf, "0: find MPTCP connections by a probe even where the kernel has type information");

#if IS_ENABLED(CONFIG_MPTCP)
static bool is_connection_of(const struct sock *conn, const struct sock *sk)
{
	u16 protocol;
	struct net *net;

	/* A wrong guess may be any number. */
	if (!conn || (unsigned long)conn & (sizeof(long) - 1) || conn == sk ||
	    copy_from_kernel_nofault(&protocol, &conn->sk_protocol, sizeof(protocol)) ||
	    copy_from_kernel_nofault(&net, &conn->sk_net, sizeof(net)))
		return false;
	return protocol == IPPROTO_MPTCP && net == sock_net(sk);
}

static const void *context_of(const struct sock *sk)
{
	return sk_is_mptcp(sk) ? rcu_access_pointer(inet_csk(sk)->icsk_ulp_data) : NULL;
}

static const struct sock *connection_of(const struct sock *sk)
{
	const void *context = context_of(sk);
	const struct sock *conn;

	if (!context || *(const struct sock *const *)(context + own_at) != sk)
		return NULL;
	conn = READ_ONCE(*(const struct sock *const *)(context + conn_at));
	if (is_connection_of(conn, sk))
		return conn;
	pr_warn_once(KBUILD_MODNAME
		     ": the connection of a subflow is not where it was found before: it is not coupled\n");
	return NULL;
}

u32 braid_mptcp_option(const struct sock *sk)
{
	const void *context = context_of(sk);
	const struct sock *conn;

	if (!context)
		return 0;
	/* Without type information: a subflow whose peer never sent data, as most senders are. */
	if (!has_flags)
		return 24;
	if (!braid_flag(context, mptcp_subflow_context_mp_capable) &&
	    !braid_flag(context, mptcp_subflow_context_mp_join))
		return 0;
	conn = READ_ONCE(*(const struct sock *const *)(context + conn_at));
	return 24 + 4 * (conn && braid_flag(conn, mptcp_sock_use_64bit_ack));
}

/* Whether `sk` is a subflow of `conn` whose context has both next to each other, as in all kernels seen (5.15 to 7.3). */
static bool __init fits(const struct sock *sk, const struct sock *conn)
{
	const void *context, *words[2];
	u16 protocol;
	u32 at;

	if (!sk || (unsigned long)sk & (sizeof(long) - 1) || sk == conn ||
	    copy_from_kernel_nofault(&protocol, &sk->sk_protocol, sizeof(protocol)) || protocol != IPPROTO_TCP ||
	    copy_from_kernel_nofault(&context, &inet_csk(sk)->icsk_ulp_data, sizeof(context)) || !context)
		return false;
	for (at = 0; at < 1024; at += sizeof(void *)) {
		if (copy_from_kernel_nofault(words, context + at, sizeof(words)))
			return false;
		if (words[0] == sk && words[1] == conn) {
			own_at = at;
			conn_at = at + sizeof(void *);
			return true;
		}
	}
	return false;
}

/* Without type information: looks at a connection of the module's own, which has one subflow once it is bound. */
static int __init probe(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct socket *socket;
	const struct sock *sk;
	bool found = false;
	u32 at;
	int error = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_MPTCP, &socket);

	if (error) {
		pr_err(KBUILD_MODNAME
		       ": no MPTCP socket (error %d): the kernel has no type information, so it needs net.mptcp.enabled=1 while this module is loaded\n",
		       error);
		return error;
	}
	error = kernel_bind(socket, (braid_sockaddr *)&any, sizeof(any));
	for (at = 0; !error && !found && at + sizeof(sk) <= socket->sk->sk_prot_creator->obj_size; at += sizeof(sk)) {
		sk = *(const struct sock *const *)((const u8 *)socket->sk + at);
		found = fits(sk, socket->sk);
	}
	sock_release(socket);
	if (!found) {
		pr_err(KBUILD_MODNAME
		       ": this kernel's MPTCP is laid out in an unknown way, and it has no type information: boot one with CONFIG_DEBUG_INFO_BTF\n");
		return -ENOEXEC;
	}
	layout = "probe";
	return 0;
}

static int __init find_layout(void)
{
	int error = use_btf ? braid_layout_find() : -ENOENT;

	if (error == -ENOENT)
		return probe();
	if (error)
		return error;
	own_at = braid_layout.mptcp_subflow_context_tcp_sock / 8;
	conn_at = braid_layout.mptcp_subflow_context_conn / 8;
	has_flags = true;
	layout = "BTF";
	return 0;
}
#else
static const struct sock *connection_of(const struct sock *sk)
{
	return NULL;
}

u32 braid_mptcp_option(const struct sock *sk)
{
	return 0;
}

static int __init find_layout(void)
{
	pr_info(KBUILD_MODNAME ": this kernel has no MPTCP: algorithms run on single paths\n");
	return 0;
}
#endif

static struct bucket *bucket_of(const struct sock *conn)
{
	return &buckets[hash_ptr(conn, BUCKET_BITS)];
}

static struct braid_group *group_of(const struct bucket *bucket, const struct sock *conn)
{
	struct braid_group *group;

	hlist_for_each_entry(group, &bucket->groups, bucket) if (group->conn == conn) return group;
	return NULL;
}

void braid_join(struct braid_node *node, struct sock *sk, struct braid_instance *instance)
{
	const struct sock *conn = connection_of(sk), *key = conn ? conn : sk;
	struct braid_group *fresh = kzalloc(sizeof(*fresh), GFP_ATOMIC | __GFP_NOWARN), *group;
	struct bucket *bucket = bucket_of(key);

	node->tp = tcp_sk(sk);
	node->instance = instance;
	node->version = braid_version_get(instance);
	node->is_subflow = conn != NULL;
	node->id = 1;
	spin_lock_bh(&bucket->lock);
	group = group_of(bucket, key);
	if (!group && fresh) {
		group = fresh;
		fresh = NULL;
		group->conn = key;
		group->number = atomic64_inc_return(&numbers);
		INIT_LIST_HEAD(&group->members);
		hlist_add_head(&group->bucket, &bucket->groups);
	}
	if (group) {
		node->id = ++group->next_id;
		node->group = group;
		list_add_tail_rcu(&node->entry, &group->members);
	} else {
		node->is_subflow = false;
	}
	spin_unlock_bh(&bucket->lock);
	kfree(fresh);
}

void braid_leave(struct braid_node *node)
{
	struct braid_group *group = node->group;

	if (group) {
		/* A subflow holds its connection until after this, so the key is still that of the connection. */
		struct bucket *bucket = bucket_of(group->conn);

		spin_lock_bh(&bucket->lock);
		WRITE_ONCE(node->gone, true);
		/* Readers see `gone` before anything that another owner of the socket writes. */
		smp_wmb();
		list_del_rcu(&node->entry);
		if (list_empty(&group->members)) {
			hlist_del(&group->bucket);
			kfree_rcu(group, rcu);
		}
		spin_unlock_bh(&bucket->lock);
	}
	braid_version_put(node->instance, node->version);
	kfree_rcu(node, rcu);
}

int braid_dump_nodes(struct sk_buff *skb, struct netlink_callback *cb,
		     int (*put)(struct sk_buff *skb, struct netlink_callback *cb, const struct braid_node *node))
{
	const struct net *net = sock_net(skb->sk);
	const struct braid_group *group;
	const struct braid_node *node;
	int error = 0;

	for (; !error && cb->args[0] < BUCKETS; cb->args[0]++) {
		struct bucket *bucket = &buckets[cb->args[0]];
		long i = 0;

		/* Nodes of a locked bucket stay, and so do their sockets. */
		spin_lock_bh(&bucket->lock);
		hlist_for_each_entry(group, &bucket->groups, bucket)
		{
			list_for_each_entry(node, &group->members, entry)
			{
				if (i++ < cb->args[1] || sock_net((const struct sock *)node->tp) != net)
					continue;
				error = put(skb, cb, node);
				if (error)
					goto full;
				cb->args[1] = i;
			}
		}
		cb->args[1] = 0;
		spin_unlock_bh(&bucket->lock);
		continue;
	full:
		spin_unlock_bh(&bucket->lock);
		break;
	}
	return skb->len;
}

int __init braid_registry_begin(void)
{
	int i;

	for (i = 0; i < BUCKETS; i++)
		spin_lock_init(&buckets[i].lock);
	return find_layout();
}
