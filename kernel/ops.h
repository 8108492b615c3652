/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions that the kernel calls, and the tables of them. */
#ifndef BRAID_OPS_H
#define BRAID_OPS_H

braid_inline void braid_call_algorithm(const struct braid_hook *hook, u32 type)
{
	braid_deliver(braid_view(hook), braid_private_of(hook), &hook->work->event, type);
}

SEC("struct_ops") void braid_init(u64 *args)
{
	braid_on_init((struct tcp_sock *)args[0]);
}

SEC("struct_ops") void braid_release(u64 *args)
{
	braid_on_release((struct tcp_sock *)args[0]);
}

SEC("struct_ops") u32 braid_ssthresh(u64 *args)
{
	return braid_on_ssthresh((struct tcp_sock *)args[0]);
}

SEC("struct_ops") u32 braid_undo_cwnd(u64 *args)
{
	return braid_on_undo_cwnd((struct tcp_sock *)args[0]);
}

/* The rest is loaded where braid_ops refers to it. */
SEC("?struct_ops") void braid_pkts_acked(u64 *args)
{
	braid_on_pkts_acked((struct tcp_sock *)args[0], ((const struct ack_sample *)args[1])->rtt_us);
}

SEC("?struct_ops") void braid_cong_avoid(u64 *args)
{
	braid_on_cong_avoid((struct tcp_sock *)args[0], (u32)args[1], (u32)args[2]);
}

SEC("?struct_ops") void braid_cong_control(u64 *args)
{
	braid_control((struct tcp_sock *)args[0], (const struct rate_sample *)args[3]);
}

/* Before 6.10, see compat.h. */
SEC("?struct_ops") void braid_cong_control_6_4(u64 *args)
{
	braid_control((struct tcp_sock *)args[0], (const struct rate_sample *)args[1]);
}

SEC("?struct_ops") void braid_set_state(u64 *args)
{
	braid_on_set_state((struct tcp_sock *)args[0], (u8)args[1]);
}

SEC("?struct_ops") void braid_cwnd_event_tx_start(u64 *args)
{
	braid_start((struct tcp_sock *)args[0]);
}

SEC("?struct_ops") void braid_cwnd_event(u64 *args)
{
	struct tcp_sock *tp = (struct tcp_sock *)args[0];

	if (BRAID_IS((u32)args[1], enum tcp_ca_event, CA_EVENT_CWND_RESTART))
		braid_mark(tp, BRAID_DECAYED);
	else if (BRAID_IS((u32)args[1], enum tcp_ca_event, CA_EVENT_TX_START))
		braid_start(tp);
}

#define BRAID_HOOKS(flags_, on_idle_restart, cong_control_)                                             \
	.flags = TCP_CONG_NON_RESTRICTED, .init = (void *)braid_init, .release = (void *)braid_release, \
	.ssthresh = (void *)braid_ssthresh, .undo_cwnd = (void *)braid_undo_cwnd,                       \
	.cwnd_event = BRAID_MINDS(on_idle_restart) ? (void *)braid_cwnd_event : 0,                      \
	.cong_avoid = (flags_) & BRAID_OWNS_CWND ? 0 : (void *)braid_cong_avoid,                        \
	.pkts_acked = (flags_) & (BRAID_OWNS_CWND | BRAID_GROWTH_ONLY) ? 0 : (void *)braid_pkts_acked,  \
	.cong_control = (flags_) & BRAID_OWNS_CWND ? (void *)(cong_control_) : 0,                       \
	.set_state = (flags_) & BRAID_OWNS_CWND ? (void *)braid_set_state : 0

/* Optional sections: user space creates the one that fits the kernel, under a name of its choice. An algorithm that
 * ignores idle restarts does not pay for them: applications that send little restart often. One that is told of growth only
 * does not pay for the hook that takes note of each ACK. */
#define BRAID_OPS(flags_, on_idle_restart)                                                                          \
	SEC("?.struct_ops.link")                                                                                    \
	struct tcp_congestion_ops braid_ops_6_4 = { BRAID_HOOKS(flags_, on_idle_restart, braid_cong_control_6_4) }; \
	SEC("?.struct_ops.link")                                                                                    \
	struct tcp_congestion_ops braid_ops = { BRAID_HOOKS(flags_, on_idle_restart, braid_cong_control) };         \
	SEC("?.struct_ops.link")                                                                                    \
	struct tcp_congestion_ops___7_1 braid_ops_7_1 = {                                                           \
		BRAID_HOOKS(flags_, on_idle_restart, braid_cong_control),                                           \
		.cwnd_event_tx_start = BRAID_MINDS(on_idle_restart) ? (void *)braid_cwnd_event_tx_start : 0         \
	};

#endif
