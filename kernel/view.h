/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An algorithm's view of its connection, read from the kernel's sockets.
 *
 * A hook holds the lock of its own subflow only; siblings and their list may change at any time. So every step is
 * checked, the walk is bounded, loads through BRAID_CAST yield 0 instead of faulting, and values of siblings are
 * clamped to the algorithms' range. Any inconsistency ends the walk, and the subflows seen so far count. If self is not
 * among them it is alone, and every algorithm equals its single-path base.
 */
#ifndef BRAID_VIEW_H
#define BRAID_VIEW_H

/* Identity of the compiled algorithm; defined by BRAID_ALGORITHM. */
braid_inline u64 braid_identity(void);
braid_inline u32 braid_public_words(void);
braid_inline u32 braid_flags(void);

braid_inline u32 braid_couples(void)
{
	return !(braid_flags() & BRAID_UNCOUPLED);
}

braid_inline u32 braid_hears_growth_only(void)
{
	return braid_flags() & BRAID_GROWTH_ONLY;
}

braid_inline u32 braid_owns_cwnd(void)
{
	return (braid_flags() & BRAID_OWNS_CWND) != 0;
}

/* Whether it reads everything about siblings, or about self. */
braid_inline u32 braid_reads_all(void)
{
	return !(braid_flags() & BRAID_RATES_OF_SIBLINGS);
}

braid_inline u32 braid_reads_all_of_self(void)
{
	return !(braid_flags() & BRAID_RATES_OF_SELF);
}

/* Whether it reads siblings' path fields. */
braid_inline u32 braid_reads_paths(void)
{
	return braid_reads_all() || braid_flags() & BRAID_PATHS_OF_SIBLINGS;
}

braid_inline u32 braid_reads_unless(u32 flag)
{
	return braid_reads_all() || !(braid_flags() & flag);
}

braid_inline u32 braid_hears_hints(void)
{
	return braid_couples() && braid_reads_paths();
}

/* The first public word in use. */
braid_inline u32 braid_first_word(void)
{
	return braid_flags() & BRAID_NO_LOW_WORDS ? BRAID_VERDICT_WORD : 0;
}

/* Name and layout version as a unique number: 9 characters of [a-z0-9] in 47 bits. In the first word of icsk_ca_priv,
 * before the public words. */
braid_inline u64 braid_identity_of(const char *name, u32 length)
{
	u64 identity = 0;
	u32 i;

#pragma unroll
	for (i = 0; i < 9; i++) {
		u32 digit = 0;

		if (i < length)
			digit = name[i] >= 'a' ? name[i] - 'a' + 1 : name[i] - '0' + 27;
		identity = identity * 37 + digit;
	}
	return identity << 16 | BRAID_LAYOUT_VERSION;
}

/* Whether published words have our layout. After a live replacement old sockets keep the old ops, so the ops pointer is
 * not compared. No other algorithm has such a first word: the kernel clears it when an algorithm takes over, and its
 * own algorithms keep windows and times there, far from these 64 bits. */
braid_inline u32 braid_is_same_algorithm(const struct tcp_sock *tp)
{
	return braid_equal(tp->inet_conn.icsk_ca_priv[0], braid_identity());
}

braid_inline u32 braid_is_established(const struct tcp_sock *tp)
{
	u32 state = tp->inet_conn.icsk_inet.sk.__sk_common.skc_state;

	return (1u << TCP_ESTABLISHED | 1u << TCP_CLOSE_WAIT) >> (state & 31) & 1;
}

/* min(x, BRAID_SSTHRESH_INFINITE) and max(x, 1), in fewer instructions than with fixed.h. */
braid_inline u32 braid_bounded(u32 x)
{
	return (x | (0 - (x >> 31))) & BRAID_SSTHRESH_INFINITE;
}

braid_inline u32 braid_positive(u32 x)
{
	return x + braid_below32(x, 1);
}

/* The fields that every algorithm reads, of self and siblings, in addition to the flags set by the caller. */
braid_inline void braid_read_window(struct braid_subflow *subflow, const struct tcp_sock *tp)
{
	u32 srtt_us = tp->srtt_us >> 3;
	u32 k;

	subflow->cwnd = braid_positive(braid_bounded(tp->snd_cwnd));
	subflow->ssthresh = braid_bounded(tp->snd_ssthresh);
	subflow->ca_state = BRAID_BITS(&tp->inet_conn, icsk_ca_state);
	subflow->flags |= braid_is_established(tp) & braid_below32(0, srtt_us);
	subflow->srtt_us = srtt_us;
	for (k = braid_first_word(); k < braid_public_words(); k++)
		subflow->public_words[k] = tp->inet_conn.icsk_ca_priv[k + 1];
}

/* Bytes of MPTCP's data sequence signal in each packet: mss_cache does not include them, tcp_current_mss() does. The
 * option has 4 bytes, a mapping of 14 and an acknowledgement of 4 or 8, rounded up to words. 0 before MPTCP is
 * negotiated, or without it. A connection that falls back later still includes them. */
braid_inline u32 braid_option_bytes(const struct tcp_sock *tp)
{
	const struct mptcp_subflow_context *context;

	if (!tp->is_mptcp || !tp->inet_conn.icsk_ulp_data)
		return 0;
	context = BRAID_CAST(tp->inet_conn.icsk_ulp_data, struct mptcp_subflow_context);
	return (BRAID_BITS(context, mp_capable) | BRAID_BITS(context, mp_join)) *
	       (24 + 4 * BRAID_CAST(context->conn, struct mptcp_sock)->use_64bit_ack);
}

braid_inline void braid_read_mss(struct braid_subflow *subflow, const struct tcp_sock *tp)
{
	subflow->mss = braid_positive((u32)braid_sub(tp->mss_cache, braid_option_bytes(tp)));
}

braid_inline void braid_read_bytes(struct braid_subflow *subflow, const struct tcp_sock *tp)
{
	subflow->snd_una = tp->bytes_acked;
}

braid_inline void braid_read_path(struct braid_subflow *subflow, const struct tcp_sock *tp)
{
	u32 min_rtt_us = tp->rtt_min.s[0].v;

	subflow->min_rtt_us = min_rtt_us == BRAID_U32_MAX ? 0 : min_rtt_us;
	subflow->last_ack_us = tp->delivered_mstamp;
	subflow->hint = 0; /* see hints.h */
}

braid_inline void braid_read_clamp(struct braid_subflow *subflow, const struct tcp_sock *tp)
{
	subflow->cwnd_clamp = braid_positive(tp->snd_cwnd_clamp);
}

/* The remaining fields. */
braid_inline void braid_read_rest(struct braid_subflow *subflow, const struct tcp_sock *tp)
{
	subflow->last_rtt_us = tp->rack.rtt_us;
	subflow->in_flight = tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
	subflow->prior_cwnd = tp->prior_cwnd;
	subflow->delivered = tp->delivered;
	subflow->delivered_ce = tp->delivered_ce;
	subflow->lost = tp->lost;
	subflow->snd_nxt = tp->bytes_acked + (u32)(tp->snd_nxt - tp->snd_una);
	subflow->pacing_rate = tp->inet_conn.icsk_inet.sk.sk_pacing_status ? tp->inet_conn.icsk_inet.sk.sk_pacing_rate
									   : 0;
}

/* The subflow of an entry in its connection's list. */
braid_inline const struct mptcp_subflow_context *braid_context(const struct list_head *at)
{
	return BRAID_CAST((const void *)at -
				  __builtin_preserve_field_info(((struct mptcp_subflow_context *)0)->node, 0),
			  struct mptcp_subflow_context);
}

braid_inline void braid_read_context(struct braid_subflow *subflow, const struct mptcp_subflow_context *context)
{
	subflow->id = context->subflow_id;
	if (braid_reads_all())
		subflow->flags |= (BRAID_BITS(context, backup) | BRAID_BITS(context, request_bkup)) * BRAID_BACKUP;
}

/* Fields that the algorithm does not read, for a trace. Not inlined: rare. */
static __attribute__((noinline)) void braid_read_unread(struct braid_subflow *subflow, const struct tcp_sock *tp)
{
	braid_read_mss(subflow, tp);
	braid_read_bytes(subflow, tp);
	braid_read_path(subflow, tp);
	braid_read_clamp(subflow, tp);
	braid_read_rest(subflow, tp);
}

braid_inline void braid_read_sibling(struct braid_subflow *subflow, const struct tcp_sock *tp)
{
	subflow->flags |= braid_is_same_algorithm(tp) * BRAID_SAME_ALGORITHM;
	braid_read_window(subflow, tp);
	if (braid_reads_unless(BRAID_NO_MSS_OF_SIBLINGS))
		braid_read_mss(subflow, tp);
	if (braid_reads_unless(BRAID_NO_BYTES_OF_SIBLINGS))
		braid_read_bytes(subflow, tp);
	if (braid_reads_paths())
		braid_read_path(subflow, tp);
	if (braid_reads_all()) {
		braid_read_clamp(subflow, tp);
		braid_read_rest(subflow, tp);
	}
}

/* Reads siblings into the view, and of self its index and the connection's data about it. The index stays
 * BRAID_MAX_SUBFLOWS for plain TCP, a subflow that fell back to it, and one that is being joined or closed. Returns the
 * number of eligible siblings on this algorithm. */
braid_inline u32 braid_see_siblings(struct braid_view *view, const struct tcp_sock *tp, const volatile u32 *is_traced)
{
	const struct mptcp_subflow_context *context;
	const struct mptcp_sock *connection;
	const struct list_head *at;
	const void *conn;
	u64 head, own;
	u32 i, flags, coupled = 0;

	view->self = BRAID_MAX_SUBFLOWS;
	if (!braid_couples() || !tp->is_mptcp || !tp->inet_conn.icsk_ulp_data)
		return 0;
	context = BRAID_CAST(tp->inet_conn.icsk_ulp_data, struct mptcp_subflow_context);
	conn = context->conn;
	if (!conn || (u64)context->tcp_sock != (u64)tp)
		return 0;
	own = (u64)&context->node;
	connection = BRAID_CAST(conn, struct mptcp_sock);
	head = (u64)&connection->conn_list;
	at = connection->conn_list.next;
	if (braid_reads_all_of_self() || *is_traced)
		view->connection = connection->token;
	view->n = 0;
	for (i = 0; i < BRAID_MAX_SUBFLOWS; i++) {
		struct braid_subflow *subflow = &view->subflow[i];

		if (!at || (u64)at == head)
			break;
		context = braid_context(at);
		if ((u64)at == own) {
			view->self = i;
			subflow->flags = 0;
			if (braid_reads_all_of_self() || *is_traced)
				braid_read_context(subflow, context);
		} else {
			const void *sibling = context->tcp_sock;

			if (!sibling || (u64)context->conn != (u64)conn)
				break;
			subflow->flags = 0;
			if (braid_reads_unless(BRAID_NO_ID_OF_SIBLINGS) || *is_traced)
				braid_read_context(subflow, context);
			braid_read_sibling(subflow, BRAID_CAST(sibling, struct tcp_sock));
			if (!braid_reads_all() && *is_traced)
				braid_read_unread(subflow, BRAID_CAST(sibling, struct tcp_sock));
			flags = *(volatile u32 *)&subflow->flags;
			coupled += flags & BRAID_ELIGIBLE & (flags / BRAID_SAME_ALGORITHM);
		}
		view->n = i + 1;
		at = context->node.next;
	}
	return coupled;
}

/* Fills in the view. Returns the number of eligible subflows on this algorithm. */
braid_inline u32 braid_see(struct braid_view *view, const struct tcp_sock *tp, const volatile u32 *is_traced)
{
	/* Read back from memory, where the verifier knows nothing about it: it would explore everything below for each
	 * index. */
	volatile u32 *place = &view->self;
	u32 coupled = braid_see_siblings(view, tp, is_traced);
	struct braid_subflow *self;

	if (*place >= BRAID_MAX_SUBFLOWS) {
		*place = 0;
		view->connection = tp->inet_conn.icsk_inet.sk.__sk_common.skc_hash;
		view->n = 1;
		view->subflow[0].id = 1;
		view->subflow[0].flags = 0;
	}
	self = braid_self(view);
	self->flags |= BRAID_SAME_ALGORITHM;
	/* Not through BRAID_CAST, whose loads cost more. */
	braid_read_window(self, tp);
	braid_read_mss(self, tp);
	braid_read_bytes(self, tp);
	braid_read_clamp(self, tp);
	if (braid_reads_all_of_self()) {
		braid_read_path(self, tp);
		braid_read_rest(self, tp);
	} else if (*is_traced) {
		braid_read_unread(self, tp);
	}
	return coupled + (self->flags & BRAID_ELIGIBLE);
}

#endif
