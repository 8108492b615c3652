// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Registers Braid's schedulers with the kernel's MPTCP: braid_NAME in the sysctl net.mptcp.scheduler.
 *
 * The kernel's interface is a table of three or four functions: struct_ops programs can replace this file once kernels
 * allow them.
 */
#include <linux/module.h>
#include <linux/string.h>
#include <linux/version.h>
#include <net/mptcp.h>

#include "choose.h"
#include "connection.h"
#include "kernel.h"
#include "layout.h"

#define DECLARE(name_) extern const struct braid_scheduler braid_scheduler_##name_;
#define ENTRY(name_) { .scheduler = &braid_scheduler_##name_ },
/* S(blest) S(daps) ...: all files of schedulers/. */
#include "list.h"
BRAID_SCHEDULERS(DECLARE)

static struct registered {
	struct mptcp_sched_ops ops;
	const struct braid_scheduler *scheduler;
	u32 params[BRAID_MODULE_PARAMS];
} registered[] = { BRAID_SCHEDULERS(ENTRY) };

static char *set = "";
module_param(set, charp, 0444);
MODULE_PARM_DESC(set, "parameters: NAME.KEY=VALUE,... as whole numbers of their units (braid schedulers NAME)");

/* The default scheduler's behaviour, for connections without memory for ours. */
static int choose_default(struct sock *ssk)
{
	if (!ssk)
		return -EINVAL;
	WRITE_ONCE(braid_field(u8, inet_csk(ssk)->icsk_ulp_data, mptcp_subflow_context_scheduled), 1);
	return 0;
}

static int get_send(struct mptcp_sock *msk)
{
	struct braid_connection *own = braid_connection_find(msk);

	if (!own) {
		const struct mptcp_sched_ops *ops = braid_field(struct mptcp_sched_ops *, msk, mptcp_sock_sched);
		const struct registered *mine = container_of(ops, struct registered, ops);

		own = braid_connection_new(msk, mine->scheduler, mine->params);
	}
	return own ? braid_choose_send(own, msk) : choose_default(braid_kernel.get_send(msk));
}

static int get_retrans(struct mptcp_sock *msk)
{
	struct braid_connection *own = braid_connection_find(msk);

	if (own)
		braid_choose_settle(own, msk);
	return choose_default(braid_kernel.get_retrans(msk));
}

static void release(struct mptcp_sock *msk)
{
	braid_connection_release(msk);
}

#ifndef BRAID_HAS_GET_RETRANS
/* Until about 6.15 one function handles both. */
static int get_subflow(struct mptcp_sock *msk, struct mptcp_sched_data *data)
{
	return data->reinject ? get_retrans(msk) : get_send(msk);
}
#endif

static int __init set_param(char *assignment)
{
	char *value = strchr(assignment, '='), *key = strchr(assignment, '.');
	int i;
	u32 k, number;

	if (!value || !key || key > value) {
		pr_err("braid_sched: set=%s: it takes NAME.KEY=VALUE, such as rr.segments=2\n", assignment);
		return -EINVAL;
	}
	*value++ = 0;
	*key++ = 0;
	for (i = 0; i < ARRAY_SIZE(registered); i++) {
		const struct braid_scheduler *scheduler = registered[i].scheduler;

		if (strcmp(scheduler->name, assignment))
			continue;
		for (k = 0; k < scheduler->n_params; k++) {
			const struct braid_scheduler_param *param = &scheduler->params[k];

			if (strcmp(param->name, key))
				continue;
			if (kstrtou32(value, 10, &number) || number < param->low || number > param->high) {
				pr_err("braid_sched: %s.%s=%s: it takes whole numbers from %u to %u\n", assignment, key,
				       value, param->low, param->high);
				return -EINVAL;
			}
			registered[i].params[k] = number;
			return 0;
		}
	}
	pr_err("braid_sched: set: there is no scheduler %s with a parameter %s\n", assignment, key);
	return -EINVAL;
}

static int __init set_params(void)
{
	char *text = kstrdup(set, GFP_KERNEL), *rest = text, *assignment;
	int i, error = 0;
	u32 k;

	if (!text)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(registered); i++) {
		const struct braid_scheduler *scheduler = registered[i].scheduler;

		for (k = 0; k < scheduler->n_params; k++)
			/* Data assigned to a kernel's subflow stays there. */
			registered[i].params[k] = strcmp(scheduler->params[k].name, "reschedule")
							  ? scheduler->params[k].initial
							  : 0;
	}
	while (!error && (assignment = strsep(&rest, ",")))
		if (*assignment)
			error = set_param(assignment);
	kfree(text);
	return error;
}

static void unregister(int n)
{
	while (n--)
		braid_kernel.unregister_scheduler(&registered[n].ops);
	/* They can no longer be found. */
	synchronize_rcu();
	braid_connections_end();
}

static int __init begin(void)
{
	int i, error;

	error = braid_kernel_find();
	if (error)
		return error;
	error = braid_layout_find();
	if (error == -ENOENT)
		pr_err("braid_sched: cannot read /sys/kernel/btf/vmlinux: mount /sys; the kernel needs CONFIG_DEBUG_INFO_BTF\n");
	if (!error)
		error = set_params();
	if (!error)
		error = braid_connections_begin();
	if (error)
		return error;
	for (i = 0; i < ARRAY_SIZE(registered); i++) {
		struct mptcp_sched_ops *ops = &registered[i].ops;

		ops->owner = THIS_MODULE;
		ops->release = release;
#ifdef BRAID_HAS_GET_RETRANS
		ops->get_send = get_send;
		ops->get_retrans = get_retrans;
#else
		ops->get_subflow = get_subflow;
#endif
		snprintf(ops->name, sizeof(ops->name), "braid_%s", registered[i].scheduler->name);
		error = braid_kernel.register_scheduler(ops);
		if (error) {
			pr_err("braid_sched: the kernel does not take %s (error %d)\n", ops->name, error);
			unregister(i);
			return error;
		}
	}
	return 0;
}

static void __exit end(void)
{
	unregister(ARRAY_SIZE(registered));
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("Packet schedulers of Braid for MPTCP");
MODULE_VERSION("0.1.0");
