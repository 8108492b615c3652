// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Finds kernel functions by name: a kprobe on a function has its address. */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <asm/cpufeature.h>

#include "kernel.h"

struct braid_kernel braid_kernel __ro_after_init;

#ifdef CONFIG_X86
static bool __init begins_with_endbr(const void *address)
{
	return *(const u32 *)address == 0xfa1e0ff3;
}
#endif

static void *__init find(const char *name)
{
	struct kprobe probe = { .symbol_name = name };
	void *address;
	int error = register_kprobe(&probe);

	if (error) {
		pr_err("braid_sched: this kernel has no function %s (error %d): it needs CONFIG_MPTCP and CONFIG_KPROBES\n",
		       name, error);
		return NULL;
	}
	address = probe.addr;
	unregister_kprobe(&probe);
#ifdef CONFIG_X86
	/* A probe is after the endbr instruction that marks functions for indirect calls. */
	if (begins_with_endbr(address - 4))
		return address - 4;
	if (boot_cpu_has(X86_FEATURE_IBT) && !begins_with_endbr(address)) {
		pr_err("braid_sched: the processor does not let a module call %s: boot with ibt=off\n", name);
		return NULL;
	}
#endif
	return address;
}

#define FIND(member, name)                        \
	do {                                      \
		braid_kernel.member = find(name); \
		if (!braid_kernel.member)         \
			return -ENOENT;           \
	} while (0)

int __init braid_kernel_find(void)
{
	FIND(register_scheduler, "mptcp_register_scheduler");
	FIND(unregister_scheduler, "mptcp_unregister_scheduler");
	FIND(get_send, "mptcp_subflow_get_send");
	FIND(get_retrans, "mptcp_subflow_get_retrans");
	FIND(push_pending, "__mptcp_push_pending");
	return 0;
}
