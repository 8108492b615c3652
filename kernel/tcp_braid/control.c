// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The module's interface to `braid`, see control.h. */
#include <linux/module.h>

#include "compat.h"
#include "control.h"
#include "hints.h"
#include "instance.h"
#include "registry.h"
#include "ring.h"

static struct genl_family family;

static const char *text_of(const struct genl_info *info, int attribute)
{
	return info->attrs[attribute] ? nla_data(info->attrs[attribute]) : NULL;
}

static int load(struct sk_buff *skb, struct genl_info *info)
{
	const char *name = text_of(info, BRAID_ATTR_NAME), *set = text_of(info, BRAID_ATTR_SET);
	const char *algorithm_name = text_of(info, BRAID_ATTR_ALGORITHM), *spec = text_of(info, BRAID_ATTR_SPEC);
	const struct braid_algorithm *algorithm = algorithm_name ? braid_algorithm_of(algorithm_name) : NULL;
	int error;

	if (!algorithm)
		return -ENOENT;
	if (!name)
		return -EINVAL;
	mutex_lock(&braid_instances_lock);
	error = braid_load(name, algorithm, set ? set : "", spec ? spec : algorithm_name);
	mutex_unlock(&braid_instances_lock);
	return error;
}

static int unload(struct sk_buff *skb, struct genl_info *info)
{
	const char *name = text_of(info, BRAID_ATTR_NAME);
	struct braid_instance *instance;

	mutex_lock(&braid_instances_lock);
	instance = name ? braid_instance_of(name) : NULL;
	if (instance)
		braid_unload(instance);
	mutex_unlock(&braid_instances_lock);
	return instance ? 0 : -ENOENT;
}

static void sum(const struct braid_instance *instance, struct braid_counts *all)
{
	u32 k;
	int cpu;

	memset(all, 0, sizeof(*all));
	for_each_possible_cpu(cpu) for (k = 0; k < sizeof(*all) / sizeof(u64);
					k++)((u64 *)all)[k] += ((const u64 *)per_cpu_ptr(instance->counts, cpu))[k];
}

static void *begin_message(struct sk_buff *skb, struct netlink_callback *cb, u8 command)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &family, NLM_F_MULTI, command);
}

static int put_version(struct sk_buff *skb, struct netlink_callback *cb, const struct braid_instance *instance,
		       const struct braid_version *version)
{
	bool is_current = version == instance->current_version;
	struct braid_counts counts;
	void *message = begin_message(skb, cb, BRAID_CMD_LOADED);

	if (!message)
		return -EMSGSIZE;
	sum(instance, &counts);
	if (nla_put_string(skb, BRAID_ATTR_NAME, instance->ops.name + strlen("braid_")) ||
	    nla_put_string(skb, BRAID_ATTR_ALGORITHM, instance->algorithm->name) ||
	    nla_put_string(skb, BRAID_ATTR_SPEC, version->spec) || nla_put_u32(skb, BRAID_ATTR_VERSION, version->id) ||
	    nla_put_u32(skb, BRAID_ATTR_SOCKETS, version->sockets) ||
	    (is_current && nla_put_flag(skb, BRAID_ATTR_CURRENT)) ||
	    nla_put(skb, BRAID_ATTR_ACKS, sizeof(counts.acks), counts.acks) ||
	    nla_put(skb, BRAID_ATTR_LOSSES, sizeof(counts.losses), counts.losses)) {
		genlmsg_cancel(skb, message);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, message);
	return 0;
}

/* args[0]: messages so far. */
static int dump_loaded(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct braid_instance *instance;
	const struct braid_version *version;
	long i = 0;
	int error = 0;

	mutex_lock(&braid_instances_lock);
	braid_versions_lock();
	BRAID_EACH_INSTANCE(instance)
	{
		if (!instance->is_registered)
			continue;
		list_for_each_entry(version, &instance->versions, entry)
		{
			if (error || i++ < cb->args[0])
				continue;
			error = put_version(skb, cb, instance, version);
			if (!error)
				cb->args[0] = i;
		}
	}
	braid_versions_unlock();
	mutex_unlock(&braid_instances_lock);
	return skb->len;
}

static int put_node(struct sk_buff *skb, struct netlink_callback *cb, const struct braid_node *node)
{
	const struct sock *sk = (const struct sock *)node->tp;
	u64 cookie = atomic64_read(&sk->sk_cookie);
	void *message = begin_message(skb, cb, BRAID_CMD_SOCKETS);

	if (!message)
		return -EMSGSIZE;
	if (nla_put(skb, BRAID_ATTR_COOKIE, sizeof(cookie), &cookie) ||
	    nla_put_string(skb, BRAID_ATTR_ALGORITHM, node->instance->algorithm->name) ||
	    nla_put_u32(skb, BRAID_ATTR_ID, node->is_subflow ? node->id : 0) ||
	    nla_put_u32(skb, BRAID_ATTR_VERSION, node->version->id) ||
	    nla_put(skb, BRAID_ATTR_WORDS, ICSK_CA_PRIV_SIZE - sizeof(u64), node->tp->inet_conn.icsk_ca_priv + 1)) {
		genlmsg_cancel(skb, message);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, message);
	return 0;
}

static int dump_sockets(struct sk_buff *skb, struct netlink_callback *cb)
{
	return braid_dump_nodes(skb, cb, put_node);
}

static int state(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *hints = info->attrs[BRAID_ATTR_HINTS];

	if (!hints)
		return braid_hints_replace(NULL, 0);
	if (nla_len(hints) % sizeof(struct braid_stated))
		return -EINVAL;
	return braid_hints_replace(nla_data(hints), nla_len(hints) / sizeof(struct braid_stated));
}

/* An answer with room for that many bytes; `put` fills it. */
static int answer(struct genl_info *info, u8 command, u32 bytes, int (*put)(struct sk_buff *skb))
{
	struct sk_buff *skb = genlmsg_new(bytes, GFP_KERNEL);
	void *message = skb ? genlmsg_put_reply(skb, info, &family, 0, command) : NULL;

	if (!message || put(skb)) {
		nlmsg_free(skb);
		return -ENOMEM;
	}
	genlmsg_end(skb, message);
	return genlmsg_reply(skb, info);
}

static void end_traces(void)
{
	struct braid_instance *instance;

	BRAID_EACH_INSTANCE(instance)
	WRITE_ONCE(instance->is_traced, false);
}

static int record(struct sk_buff *skb, struct genl_info *info)
{
	const char *name = text_of(info, BRAID_ATTR_NAME);
	struct braid_instance *instance;
	int error = 0;

	mutex_lock(&braid_instances_lock);
	instance = name ? braid_instance_of(name) : NULL;
	if (!name)
		end_traces();
	else if (!instance)
		error = -ENOENT;
	else if (info->attrs[BRAID_ATTR_BYTES])
		error = braid_ring_begin(nla_get_u32(info->attrs[BRAID_ATTR_BYTES]));
	if (instance && !error)
		WRITE_ONCE(instance->is_traced, true);
	mutex_unlock(&braid_instances_lock);
	return error;
}

/* args[0]: ends after an empty message. */
static int dump_records(struct sk_buff *skb, struct netlink_callback *cb)
{
	void *message;
	int room;

	if (cb->args[0])
		return 0;
	message = begin_message(skb, cb, BRAID_CMD_RECORDS);
	if (!message)
		return -EMSGSIZE;
	room = skb_tailroom(skb) - 2 * NLA_HDRLEN;
	if (room > 0 && braid_ring_put(skb, BRAID_ATTR_RECORDS, min(room & ~7, 1 << 15)) == 0)
		cb->args[0] = 1;
	genlmsg_end(skb, message);
	return skb->len;
}

static int put_recorded(struct sk_buff *skb)
{
	u64 sequence, lost;

	braid_ring_counts(&sequence, &lost);
	return nla_put(skb, BRAID_ATTR_SEQUENCE, sizeof(sequence), &sequence) ||
	       nla_put(skb, BRAID_ATTR_LOST, sizeof(lost), &lost);
}

static int recorded(struct sk_buff *skb, struct genl_info *info)
{
	return answer(info, BRAID_CMD_RECORDED, 64, put_recorded);
}

static const struct nla_policy policy[BRAID_ATTRS] = {
	[BRAID_ATTR_NAME] = { .type = NLA_NUL_STRING, .len = TCP_CA_NAME_MAX },
	[BRAID_ATTR_ALGORITHM] = { .type = NLA_NUL_STRING, .len = TCP_CA_NAME_MAX },
	[BRAID_ATTR_SET] = { .type = NLA_NUL_STRING, .len = 2048 },
	[BRAID_ATTR_SPEC] = { .type = NLA_NUL_STRING, .len = 2048 },
	[BRAID_ATTR_HINTS] = { .type = NLA_BINARY },
	[BRAID_ATTR_BYTES] = { .type = NLA_U32 },
};

static const struct genl_small_ops ops[] = {
	{ .cmd = BRAID_CMD_LOAD, .flags = GENL_ADMIN_PERM, .doit = load },
	{ .cmd = BRAID_CMD_UNLOAD, .flags = GENL_ADMIN_PERM, .doit = unload },
	{ .cmd = BRAID_CMD_LOADED, .dumpit = dump_loaded },
	{ .cmd = BRAID_CMD_SOCKETS, .flags = GENL_ADMIN_PERM, .dumpit = dump_sockets },
	{ .cmd = BRAID_CMD_STATE, .flags = GENL_ADMIN_PERM, .doit = state },
	{ .cmd = BRAID_CMD_RECORD, .flags = GENL_ADMIN_PERM, .doit = record },
	{ .cmd = BRAID_CMD_RECORDS, .flags = GENL_ADMIN_PERM, .dumpit = dump_records },
	{ .cmd = BRAID_CMD_RECORDED, .doit = recorded },
};

static struct genl_family family __ro_after_init = {
	.name = BRAID_FAMILY,
	.version = BRAID_FAMILY_VERSION,
	.maxattr = BRAID_ATTRS - 1,
	.policy = policy,
	.netnsok = true,
	.module = THIS_MODULE,
	.small_ops = ops,
	.n_small_ops = ARRAY_SIZE(ops),
};

int __init braid_control_begin(void)
{
	return genl_register_family(&family);
}

void braid_control_end(void)
{
	genl_unregister_family(&family);
	braid_hints_end();
	braid_ring_end();
}
