/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The used fields of the kernel's sockets. The loader looks each up by name in the running kernel's type information
 * (CO-RE), so offsets and the rest of a structure do not matter, and the objects do not depend on the build machine's
 * kernel. compat.h has differences between versions.
 */
#ifndef BRAID_TCP_H
#define BRAID_TCP_H

#define BRAID_CORE __attribute__((preserve_access_index))

struct list_head {
	struct list_head *next;
} BRAID_CORE;

struct net {
	u64 net_cookie;
} BRAID_CORE;

struct net_device {
	char name[16];
	int ifindex;
} BRAID_CORE;

struct dst_entry {
	struct net_device *dev;
} BRAID_CORE;

struct in6_addr {
	u8 bytes[16];
};

struct sock_common {
	u32 skc_hash;
	u32 skc_rcv_saddr;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	struct {
		struct net *net;
	} skc_net;
	struct in6_addr skc_v6_rcv_saddr;
} BRAID_CORE;

struct sock {
	struct sock_common __sk_common;
	struct dst_entry *sk_dst_cache;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
} BRAID_CORE;

struct inet_sock {
	struct sock sk;
} BRAID_CORE;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	void *icsk_ca_ops;
	void *icsk_ulp_data;
	u8 icsk_ca_state : 5;
	u8 icsk_pending;
	u64 icsk_ca_priv[13];
} BRAID_CORE;

struct minmax_sample {
	u32 v;
} BRAID_CORE;

struct minmax {
	struct minmax_sample s[3];
} BRAID_CORE;

struct tcp_rack {
	u32 rtt_us;
} BRAID_CORE;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 snd_cwnd_clamp;
	u32 prior_cwnd;
	u32 max_packets_out;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 srtt_us;
	u32 mss_cache;
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u64 bytes_acked;
	u64 tcp_mstamp;
	u64 first_tx_mstamp;
	u64 delivered_mstamp;
	u32 app_limited;
	struct minmax rtt_min;
	struct tcp_rack rack;
	u8 is_cwnd_limited : 1;
	_Bool is_mptcp;
} BRAID_CORE;

struct mptcp_subflow_context {
	struct list_head node;
	u32 request_bkup : 1;
	u32 mp_capable : 1;
	u32 mp_join : 1;
	u32 backup : 1;
	u32 subflow_id;
	struct sock *tcp_sock;
	struct sock *conn;
} BRAID_CORE;

struct mptcp_sock {
	u32 token;
	_Bool use_64bit_ack;
	struct list_head conn_list;
} BRAID_CORE;

struct ack_sample {
	s32 rtt_us;
} BRAID_CORE;

struct rate_sample {
	u32 prior_delivered;
	s32 delivered;
	long interval_us;
	long rtt_us;
	s32 losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	_Bool is_app_limited;
} BRAID_CORE;

enum tcp_ca_event {
	CA_EVENT_TX_START = 0,
	CA_EVENT_CWND_RESTART = 1,
};

enum {
	AF_INET6 = 10,
	TCP_ESTABLISHED = 1,
	TCP_CLOSE_WAIT = 8,
	TCP_CONG_NON_RESTRICTED = 1,
	SK_PACING_NONE = 0,
	SK_PACING_NEEDED = 1,
};

/* One load. The verifier has no other kind. */
#define BRAID_LOAD(x) (x)

/* A bit field, wherever the running kernel has it. */
#define BRAID_BITS(object, field)                                                                             \
	({                                                                                                    \
		const void *at_ = (const void *)(object) + __builtin_preserve_field_info((object)->field, 0); \
		u64 bits_ = 0;                                                                                \
		switch (__builtin_preserve_field_info((object)->field, 1)) {                                  \
		case 1: bits_ = *(const u8 *)at_; break;                                                      \
		case 2: bits_ = *(const unsigned short *)at_; break;                                          \
		case 4: bits_ = *(const u32 *)at_; break;                                                     \
		case 8: bits_ = *(const u64 *)at_; break;                                                     \
		}                                                                                             \
		bits_ <<= __builtin_preserve_field_info((object)->field, 4);                                  \
		bits_ >> __builtin_preserve_field_info((object)->field, 5);                                   \
	})

/* A field of this many bytes, wherever the running kernel has it, as words. */
#define BRAID_WORDS(object, field) \
	((const u64 *)((const void *)(object) + __builtin_preserve_field_info((object)->field, 0)))

/* A pointer for reading, where invalid loads yield 0. Never to be written through. */
extern void *bpf_rdonly_cast(const void *object, u32 type) __attribute__((section(".ksyms")));
#define BRAID_CAST(pointer, type) ((type *)bpf_rdonly_cast((pointer), __builtin_btf_type_id(*(type *)0, 1)))

/* Whether value equals the enumerator of the running kernel. */
#define BRAID_IS(value, type, enumerator)                                 \
	(__builtin_preserve_enum_value(*(typeof(type) *)enumerator, 0) && \
	 (value) == __builtin_preserve_enum_value(*(typeof(type) *)enumerator, 1))

/* Fallback of a socket without storage. */
extern u32 tcp_reno_ssthresh(struct sock *sk) __attribute__((section(".ksyms")));
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __attribute__((section(".ksyms")));
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __attribute__((section(".ksyms")));

#endif
