// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Braid's algorithms as congestion controls of the kernel: braid_NAME in net.ipv4.tcp_available_congestion_control. */
#include <linux/module.h>

#include "control.h"
#include "instance.h"
#include "registry.h"

static int __init begin(void)
{
	int error = braid_registry_begin();

	if (!error)
		error = braid_control_begin();
	if (error)
		return error;
	error = braid_instances_begin();
	if (error)
		braid_control_end();
	return error;
}

static void __exit end(void)
{
	braid_control_end();
	braid_instances_end();
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("Coupled congestion control for Multipath TCP");
