// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The operator's hints, see hints.h. */
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#include "hints.h"
#include "registry.h"

static struct table {
	struct rcu_head rcu;
	u32 n;
	struct braid_stated stated[];
} __rcu *table;
static DEFINE_MUTEX(table_lock);
u32 braid_hint_generation __read_mostly;
static u32 generations;

static u32 stated_of(const struct braid_stated *key)
{
	const struct table *now = rcu_dereference(table);
	u32 i;

	for (i = 0; now && i < now->n; i++)
		if (!memcmp(&now->stated[i], key, offsetof(struct braid_stated, bottleneck)))
			return now->stated[i].bottleneck;
	return 0;
}

static u32 hint_of(const struct sock *sk, const struct net_device *device)
{
	struct braid_stated key = { .netns = sock_net(sk)->net_cookie, .kind = 1 };
	u32 hint;

	((__be32 *)key.words)[2] = htonl(0xffff);
	((__be32 *)key.words)[3] = sk->sk_rcv_saddr;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		memcpy(key.words, &sk->sk_v6_rcv_saddr, sizeof(key.words));
#endif
	hint = stated_of(&key);
	if (hint || !device)
		return hint;
	key.kind = 2;
	memset(key.words, 0, sizeof(key.words));
	strscpy((char *)key.words, device->name, sizeof(key.words));
	return stated_of(&key);
}

void braid_refresh_hint(struct braid_node *node, u32 generation)
{
	const struct sock *sk = (const struct sock *)node->tp;
	const struct net_device *device;
	const struct dst_entry *dst;
	int interface;

	rcu_read_lock();
	dst = rcu_dereference(sk->sk_dst_cache);
	device = dst ? dst->dev : NULL;
	interface = device ? device->ifindex : 0;
	/* While the route changes there is no interface. */
	if (generation != node->hinted || (interface && interface != node->interface)) {
		node->hinted = generation;
		node->interface = interface;
		WRITE_ONCE(node->hint, hint_of(sk, device));
	}
	rcu_read_unlock();
}

int braid_hints_replace(const struct braid_stated *stated, u32 n)
{
	struct table *now = NULL, *before;

	if (n > BRAID_MAX_HINTS)
		return -ENOSPC;
	if (n) {
		now = kzalloc(sizeof(*now) + n * sizeof(*stated), GFP_KERNEL);
		if (!now)
			return -ENOMEM;
		now->n = n;
		memcpy(now->stated, stated, n * sizeof(*stated));
	}
	mutex_lock(&table_lock);
	before = rcu_replace_pointer(table, now, lockdep_is_held(&table_lock));
	generations = max(generations + 1, 1u);
	WRITE_ONCE(braid_hint_generation, generations);
	mutex_unlock(&table_lock);
	if (before)
		kfree_rcu(before, rcu);
	return 0;
}

void braid_hints_end(void)
{
	kfree(rcu_dereference_protected(table, 1));
}
