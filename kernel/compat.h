/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Differences between kernels, one entry each: version, reason, and when the entry can be removed. The oldest supported
 * kernel is Linux 6.4.
 */
#ifndef BRAID_COMPAT_H
#define BRAID_COMPAT_H

/*
 * tcp_congestion_ops. The loader matches members by name, so only used members are here, and the name comes first,
 * where user space finds it. One instance per layout below; user space creates the one for the running kernel.
 */
struct tcp_congestion_ops {
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*cwnd_event)(struct sock *sk, u32 event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *sample);
	void (*set_state)(struct sock *sk, u8 new_state);
} BRAID_CORE;

/* Before 6.10 cong_control has two arguments, the socket and the sample, so it has its own program (rate.h) and an
 * instance of the same layout. Remove them when 6.10 is the oldest supported kernel. */

/* Since 7.1 CA_EVENT_TX_START is a separate callback, and cwnd_event no longer gets it. Remove the old one when 7.1 is
 * the oldest supported kernel. */
struct tcp_congestion_ops___7_1 {
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*cwnd_event)(struct sock *sk, u32 event);
	void (*cwnd_event_tx_start)(struct sock *sk);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *sample);
	void (*set_state)(struct sock *sk, u8 new_state);
} BRAID_CORE;

#endif
