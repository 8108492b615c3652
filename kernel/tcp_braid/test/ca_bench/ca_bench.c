// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Instructions that the hooks of one ACK take, for either host: calls them on a live MPTCP subflow again and again, with the
 * socket as ACKs leave it, and puts the socket back. In a guest whose clock counts instructions (-icount shift=0) a tick of
 * the time stamp counter is one. Logs the result and does not stay loaded.
 *
 *	insmod ca_bench.ko name=braid_lia
 */
#include <linux/module.h>
#include <net/inet_hashtables.h>
#include <net/tcp.h>
#include <asm/tsc.h>

static char *name = "";
module_param(name, charp, 0);
static int times = 2000;
module_param(times, int, 0);

static void nothing(struct sock *sk, u32 ack, u32 acked)
{
	barrier();
}

static const struct tcp_congestion_ops empty = { .cong_avoid = nothing };

/* What an ACK of one packet in congestion avoidance does to a socket before its hooks. */
static void acknowledge(struct tcp_sock *tp, u32 cwnd)
{
	tp->tcp_mstamp += 500;
	tp->delivered_mstamp = tp->tcp_mstamp;
	tp->bytes_acked += tp->mss_cache;
	tp->delivered++;
	tp->rack.rtt_us = tp->srtt_us >> 3;
	tp->snd_cwnd = cwnd;
	tp->is_cwnd_limited = 1;
}

static u64 ticks(struct sock *sk, const struct tcp_congestion_ops *ops)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ack_sample sample = { .pkts_acked = 1, .in_flight = 9 };
	u32 cwnd = tp->snd_cwnd;
	u64 sum = 0, begin;
	int i;

	for (i = 0; i < times; i++) {
		acknowledge(tp, cwnd);
		sample.rtt_us = tp->srtt_us >> 3;
		if (ops->pkts_acked) {
			begin = rdtsc();
			ops->pkts_acked(sk, &sample);
			sum += rdtsc() - begin;
		}
		begin = rdtsc();
		ops->cong_avoid(sk, tp->snd_una, 1);
		sum += rdtsc() - begin;
	}
	return sum;
}

static void measure(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;
	u32 cwnd = tp->snd_cwnd, ssthresh = tp->snd_ssthresh, delivered = tp->delivered;
	u64 mstamp = tp->tcp_mstamp, acked = tp->bytes_acked, none, all;
	unsigned long flags;

	local_bh_disable();
	local_irq_save(flags);
	tp->snd_ssthresh = min(ssthresh, cwnd / 2);
	none = ticks(sk, &empty);
	all = ticks(sk, ops);
	tp->snd_cwnd = cwnd;
	tp->snd_ssthresh = ssthresh;
	tp->delivered = delivered;
	tp->tcp_mstamp = mstamp;
	tp->bytes_acked = acked;
	local_irq_restore(flags);
	local_bh_enable();
	/* Less an empty hook: the reading of the counter and the call. */
	pr_info("ca_bench: %s %llu %u %u\n", ops->name, (all - (ops->pkts_acked ? 2 : 1) * none) / times, cwnd,
		inet_csk(sk)->icsk_ca_state);
}

static bool is_wanted(const struct sock *sk)
{
	return sk->sk_state == TCP_ESTABLISHED && sk_fullsock(sk) && sk->sk_protocol == IPPROTO_TCP &&
	       !strcmp(inet_csk(sk)->icsk_ca_ops->name, name) && inet_csk(sk)->icsk_ca_ops->cong_avoid &&
	       tcp_sk(sk)->snd_cwnd > 4 && tcp_sk(sk)->packets_out && inet_csk(sk)->icsk_ca_state == TCP_CA_Open;
}

static struct sock *find(u32 *bucket)
{
	/* Namespaces share the table, unless told otherwise. */
	const struct inet_hashinfo *table = init_net.ipv4.tcp_death_row.hashinfo;
	const struct hlist_nulls_node *node;
	struct sock *sk;

	for (; *bucket <= table->ehash_mask; (*bucket)++) {
		rcu_read_lock();
		sk_nulls_for_each_rcu(sk, node, &table->ehash[*bucket].chain)
		{
			if (!is_wanted(sk) || !refcount_inc_not_zero(&sk->sk_refcnt))
				continue;
			rcu_read_unlock();
			(*bucket)++;
			return sk;
		}
		rcu_read_unlock();
	}
	return NULL;
}

static int __init begin(void)
{
	struct sock *sk;
	u32 bucket = 0;

	while ((sk = find(&bucket))) {
		lock_sock(sk);
		if (is_wanted(sk))
			measure(sk);
		release_sock(sk);
		sock_put(sk);
	}
	return -ECANCELED;
}

module_init(begin);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("measures congestion control hooks");
