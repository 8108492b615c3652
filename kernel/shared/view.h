/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection as its algorithm sees it, read from the kernel's sockets.
 *
 * A hook runs under the lock of its own subflow only, and siblings may change. So each field of a sibling is
 * loaded once (BRAID_LOAD) and clamped to what algorithms count with. The host finds siblings (braid_see_siblings).
 * If self is not among the subflows found, self is alone, and with one subflow every algorithm is its single-path base.
 */
#ifndef BRAID_VIEW_H
#define BRAID_VIEW_H

/* Of the algorithm that is compiled; defined by BRAID_ALGORITHM. */
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

braid_inline u32 braid_paces(void)
{
	return (braid_flags() & BRAID_PACES) != 0;
}

braid_inline u32 braid_owns_cwnd(void)
{
	return (braid_flags() & BRAID_OWNS_CWND) != 0;
}

/* Whether it reads all that a host knows of siblings, or of self. */
braid_inline u32 braid_reads_all(void)
{
	return !(braid_flags() & BRAID_RATES_OF_SIBLINGS);
}

braid_inline u32 braid_reads_all_of_self(void)
{
	return !(braid_flags() & BRAID_RATES_OF_SELF);
}

/* Whether it reads that of siblings. */
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

/* The first public word that it has. */
braid_inline u32 braid_first_word(void)
{
	return braid_flags() & BRAID_NO_LOW_WORDS ? BRAID_VERDICT_WORD : 0;
}

/* Name and layout version as a number, different for different ones: 9 characters of [a-z0-9] in 47 bits. Kept in the
 * first word of icsk_ca_priv, before the public words. */
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

braid_inline u32 braid_is_established(const struct tcp_sock *tp)
{
	u32 state = BRAID_LOAD(tp->inet_conn.icsk_inet.sk.__sk_common.skc_state);

	return (1u << TCP_ESTABLISHED | 1u << TCP_CLOSE_WAIT) >> (state & 31) & 1;
}

/* min(x, BRAID_SSTHRESH_INFINITE) and max(x, 1), in fewer instructions than by what is in fixed.h. */
braid_inline u32 braid_bounded(u32 x)
{
	return (x | (0 - (x >> 31))) & BRAID_SSTHRESH_INFINITE;
}

braid_inline u32 braid_positive(u32 x)
{
	return x + braid_below32(x, 1);
}

/* The fields that every algorithm reads, of self and of siblings, added to the flags that the caller has set. */
braid_inline void braid_read_window(struct braid_subflow *subflow, const struct tcp_sock *tp)
{
	u32 srtt_us = BRAID_LOAD(tp->srtt_us) >> 3;
	u32 k;

	subflow->cwnd = braid_positive(braid_bounded(BRAID_LOAD(tp->snd_cwnd)));
	subflow->ssthresh = braid_bounded(BRAID_LOAD(tp->snd_ssthresh));
	subflow->ca_state = BRAID_BITS(&tp->inet_conn, icsk_ca_state);
	subflow->flags |= braid_is_established(tp) & braid_below32(0, srtt_us);
	subflow->srtt_us = srtt_us;
	for (k = braid_first_word(); k < braid_public_words(); k++)
		subflow->public_words[k] = BRAID_LOAD(tp->inet_conn.icsk_ca_priv[k + 1]);
}

/* Defined by the host: bytes that MPTCP's data sequence signal takes from each packet. mss_cache does not count them,
 * tcp_current_mss() does. The option has 4 bytes, a mapping of 14 and an acknowledgement of 4 or 8, rounded up to words. None
 * before MPTCP is agreed on, or where the peer does not speak it. A connection that falls back later still counts them.
 * `known` is what the host has of a sibling; null for self. */
braid_inline u32 braid_option_bytes(const struct tcp_sock *tp, const void *known);

braid_inline void braid_read_mss(struct braid_subflow *subflow, const struct tcp_sock *tp, const void *known)
{
	subflow->mss = braid_positive((u32)braid_sub(BRAID_LOAD(tp->mss_cache), braid_option_bytes(tp, known)));
}

braid_inline void braid_read_bytes(struct braid_subflow *subflow, const struct tcp_sock *tp)
{
	subflow->snd_una = BRAID_LOAD(tp->bytes_acked);
}

braid_inline void braid_read_path(struct braid_subflow *subflow, const struct tcp_sock *tp)
{
	u32 min_rtt_us = BRAID_LOAD(tp->rtt_min.s[0].v);

	subflow->min_rtt_us = min_rtt_us == BRAID_U32_MAX ? 0 : min_rtt_us;
	subflow->last_ack_us = BRAID_LOAD(tp->delivered_mstamp);
	subflow->hint = 0; /* see hints.h */
}

braid_inline void braid_read_clamp(struct braid_subflow *subflow, const struct tcp_sock *tp)
{
	subflow->cwnd_clamp = braid_positive(BRAID_LOAD(tp->snd_cwnd_clamp));
}

braid_inline u64 braid_pacing_rate(const struct tcp_sock *tp)
{
	return tp->inet_conn.icsk_inet.sk.sk_pacing_status ? tp->inet_conn.icsk_inet.sk.sk_pacing_rate : 0;
}

/* The fields that are left. */
braid_inline void braid_read_rest(struct braid_subflow *subflow, const struct tcp_sock *tp)
{
	subflow->last_rtt_us = BRAID_LOAD(tp->rack.rtt_us);
	subflow->in_flight = BRAID_LOAD(tp->packets_out) - (BRAID_LOAD(tp->sacked_out) + BRAID_LOAD(tp->lost_out)) +
			     BRAID_LOAD(tp->retrans_out);
	subflow->prior_cwnd = BRAID_LOAD(tp->prior_cwnd);
	subflow->delivered = BRAID_LOAD(tp->delivered);
	subflow->delivered_ce = BRAID_LOAD(tp->delivered_ce);
	subflow->lost = BRAID_LOAD(tp->lost);
	subflow->snd_nxt = BRAID_LOAD(tp->bytes_acked) + (u32)(BRAID_LOAD(tp->snd_nxt) - BRAID_LOAD(tp->snd_una));
	subflow->pacing_rate = braid_pacing_rate(tp);
}

/* What the algorithm does not read, for a trace. Not inlined: it is rare. */
static __attribute__((__noinline__)) void braid_read_unread(struct braid_subflow *subflow, const struct tcp_sock *tp,
							    const void *known)
{
	braid_read_mss(subflow, tp, known);
	braid_read_bytes(subflow, tp);
	braid_read_path(subflow, tp);
	braid_read_clamp(subflow, tp);
	braid_read_rest(subflow, tp);
}

braid_inline void braid_read_sibling(struct braid_subflow *subflow, const struct tcp_sock *tp, const void *known)
{
	braid_read_window(subflow, tp);
	if (braid_reads_unless(BRAID_NO_MSS_OF_SIBLINGS))
		braid_read_mss(subflow, tp, known);
	if (braid_reads_unless(BRAID_NO_BYTES_OF_SIBLINGS))
		braid_read_bytes(subflow, tp);
	if (braid_reads_paths())
		braid_read_path(subflow, tp);
	if (braid_reads_all()) {
		braid_read_clamp(subflow, tp);
		braid_read_rest(subflow, tp);
	}
}

/* Defined by the host. The siblings into the view, and of self its place and what the connection knows about it. That place
 * remains BRAID_MAX_SUBFLOWS for plain TCP, a subflow that fell back to it, and one that is just being joined or closed. Returns
 * how many eligible siblings run this algorithm. */
braid_inline u32 braid_see_siblings(struct braid_view *view, const struct tcp_sock *tp, const volatile u32 *is_traced);

/* Fills in the view. Returns how many eligible subflows run this algorithm. */
braid_inline u32 braid_see(struct braid_view *view, const struct tcp_sock *tp, const volatile u32 *is_traced)
{
	/* Back from memory, as the verifier knows nothing about it there: it would explore all that follows for each place. */
	volatile u32 *place = &view->self;
	u32 coupled = braid_see_siblings(view, tp, is_traced);
	struct braid_subflow *self;

	if (*place >= BRAID_MAX_SUBFLOWS) {
		*place = 0;
		view->connection = tp->inet_conn.icsk_inet.sk.__sk_common.skc_hash;
		view->n = 1;
		view->subflow[0].id = 1;
		view->subflow[0].flags = 0;
		coupled = 0;
	}
	self = braid_self(view);
	self->flags |= BRAID_SAME_ALGORITHM;
	/* Not through BRAID_CAST, where each load costs more. */
	braid_read_window(self, tp);
	braid_read_mss(self, tp, 0);
	braid_read_bytes(self, tp);
	braid_read_clamp(self, tp);
	if (braid_reads_all_of_self()) {
		braid_read_path(self, tp);
		braid_read_rest(self, tp);
	} else if (*is_traced) {
		braid_read_unread(self, tp, 0);
	}
	return coupled + (self->flags & BRAID_ELIGIBLE);
}

#endif
