// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The smallest possible congestion control in BPF: it calls the kernel's Reno. cost.py compares with it. */
#include "fixed.h"
#include "bpf.h"
#include "tcp.h"
#include "compat.h"

SEC("struct_ops") u32 bare_ssthresh(u64 *args)
{
	return tcp_reno_ssthresh((struct sock *)args[0]);
}

SEC("struct_ops") void bare_cong_avoid(u64 *args)
{
	tcp_reno_cong_avoid((struct sock *)args[0], (u32)args[1], (u32)args[2]);
}

SEC("struct_ops") u32 bare_undo_cwnd(u64 *args)
{
	return tcp_reno_undo_cwnd((struct sock *)args[0]);
}

SEC(".struct_ops")
struct tcp_congestion_ops bare_reno = { .name = "bare_reno",
					.flags = TCP_CONG_NON_RESTRICTED,
					.ssthresh = (void *)bare_ssthresh,
					.cong_avoid = (void *)bare_cong_avoid,
					.undo_cwnd = (void *)bare_undo_cwnd };
