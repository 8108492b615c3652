/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The hooks that only algorithms have that own their window (BRAID_OWNS_CWND); the others they share, see hooks.h.
 *
 * cong_control comes once per ACK in place of all that the kernel would do with the window, after losses are marked and
 * the state has changed. So it delivers on_recovered and on_ack at once; nothing is ever late.
 *
 * on_loss is delivered in ssthresh(), but for a timeout in set_state(), which the kernel calls at every timeout, also
 * within an episode. By then it has set the window to what is in flight and one more; the algorithm sees its own.
 */
#ifndef BRAID_RATE_H
#define BRAID_RATE_H

/* Without storage: the kernel's Reno, as far as it goes where the kernel does not reduce the window. */
braid_inline void braid_control_without_storage(struct tcp_sock *tp, u32 acked)
{
	u32 state = BRAID_BITS(&tp->inet_conn, icsk_ca_state);

	if (state == BRAID_CWR || state == BRAID_RECOVERY)
		tp->snd_cwnd = braid_clamp(tp->snd_cwnd, 1, braid_max32(tp->snd_ssthresh, 1));
	else
		tcp_reno_cong_avoid((struct sock *)tp, 0, acked);
}

braid_inline void braid_control(struct tcp_sock *tp, const struct rate_sample *sample)
{
	struct braid_socket *socket = braid_socket_of(tp, 0);
	u32 acked = sample->acked_sacked, bytes_acked;
	struct braid_event *event;

	if (!socket) {
		braid_control_without_storage(tp, acked);
		return;
	}
	braid_look(socket, tp);
	braid_settle(socket, tp);
	event = braid_event(socket, BRAID_ON_ACK, tp->tcp_mstamp);
	bytes_acked = (u32)tp->bytes_acked - socket->bytes_acked;
	event->acked = acked;
	event->acked_bytes = bytes_acked;
	if (bytes_acked && !braid_is_reducing(braid_self(braid_view_of(socket))))
		event->grow = acked;
	if (sample->rtt_us > 0)
		event->rtt_us = (u32)sample->rtt_us;
	event->rate_losses = sample->losses;
	event->prior_in_flight = sample->prior_in_flight;
	if (sample->interval_us > 0 && sample->delivered >= 0) {
		event->rate_delivered = sample->delivered;
		event->rate_interval_us = (u32)sample->interval_us;
		event->rate_prior_delivered = sample->prior_delivered;
		if (sample->is_app_limited)
			event->flags |= BRAID_ACK_APP_LIMITED;
	}
	if (tp->delivered_ce != socket->delivered_ce)
		event->flags |= BRAID_ACK_ECE;
	if (braid_is_cwnd_limited(tp))
		event->flags |= BRAID_ACK_CWND_LIMITED;
	socket->delivered_ce = tp->delivered_ce;
	socket->bytes_acked = (u32)tp->bytes_acked;
	braid_deliver_to(socket, BRAID_ON_ACK);
	braid_count_ack(socket->coupled);
	braid_apply(socket, tp);
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
	struct tcp_sock *tp = (struct tcp_sock *)args[0];
	struct braid_socket *socket;

	if ((u8)args[1] != BRAID_LOSS)
		return;
	socket = braid_socket_of(tp, 0);
	if (!socket)
		return;
	braid_look(socket, tp);
	braid_self(braid_view_of(socket))->cwnd = socket->cwnd;
	braid_settle(socket, tp);
	braid_lose(socket, tp, BRAID_CAUSE_RTO);
}

#endif
