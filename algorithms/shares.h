/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rates of a connection's subflows, and their shares of its total rate.
 *
 * The coupled increases look dimensional, but with x = w/rtt, X the sum of x and s = x/X they consist of windows and
 * shares:
 *
 *	max(w_k/rtt_k^2) / X^2         = s_b^2 / w_b, b being the subflow of the maximum         (LIA)
 *	(w_r/rtt_r^2) / X^2            = s_r^2 / w_r                                             (OLIA)
 *	(x_r/rtt_r) / X^2 (1+a)(4+a)   = (s_r + s_m) (4 s_r + s_m) / w_r, a = x_m/x_r, s_m = max (BALIA)
 *
 * So only RTT ratios matter. They are relative to the smallest RTT of the connection: at most 1, with 40 fraction bits.
 * Windows are clamped at 2^20 packets and RTTs at 2^24 us (16.7 s); the sum of 8 rates is less than 2^63, and the
 * fastest subflow alone is at least 2^40.
 */
#ifndef BRAID_SHARES_H
#define BRAID_SHARES_H

#include "braid.h"

#define BRAID_SPEED_BITS 40
#define BRAID_SHARE_BITS 31
#define BRAID_RTT_MAX ((1u << 24) - 1)

braid_inline u32 braid_rtt(const struct braid_subflow *subflow)
{
	return braid_min32(subflow->srtt_us, BRAID_RTT_MAX);
}

/* The window that counts in rates. Self's is cwnd: it does not grow in recovery, and at a loss ssthresh is still that
 * of the previous loss. */
braid_inline u32 braid_rate_window(const struct braid_view *view, u32 i)
{
	const struct braid_subflow *subflow = &view->subflow[i & (BRAID_MAX_SUBFLOWS - 1)];
	u32 is_reducing = braid_below32(subflow->ca_state - BRAID_CWR, 2), is_self = braid_equal(i, view->self);
	u64 window = braid_select(is_reducing & (1 ^ is_self), subflow->ssthresh, subflow->cwnd);

	return braid_min32(braid_max32((u32)window, 1), 1u << 20);
}

/* The same, or the smaller window that a subflow publishes: the low half of its first public word, in packets; 0:
 * none. */
braid_inline u32 braid_counted_window(const struct braid_view *view, u32 i, u32 published)
{
	const struct braid_subflow *subflow = &view->subflow[i & (BRAID_MAX_SUBFLOWS - 1)];
	u32 window = braid_rate_window(view, i), instead, knows;

	if (!published)
		return window;
	instead = braid_min32((u32)subflow->public_words[0], window);
	knows = braid_equal(subflow->flags & BRAID_SAME_ALGORITHM, BRAID_SAME_ALGORITHM) | braid_equal(i, view->self);
	return (u32)braid_select(knows & (1 ^ braid_equal(instead, 0)), instead, window);
}

/* Packets in the windows of all subflows of a set. */
braid_inline u64 braid_total_window(const struct braid_view *view, u32 set)
{
	u64 total = 0;
	u32 i;

	braid_for_each(i, set) total += braid_rate_window(view, i);
	return total;
}

/* Smallest RTT of the eligible subflows. */
braid_inline u32 braid_fastest_rtt(const struct braid_view *view, u32 eligible)
{
	u32 i, fastest = BRAID_U32_MAX;

	braid_for_each(i, eligible) fastest = braid_min32(fastest, view->subflow[i].srtt_us);
	return braid_min32(fastest, BRAID_RTT_MAX);
}

/* fastest / rtt of subflow i, 40 fraction bits. */
braid_inline u64 braid_speed(const struct braid_view *view, u32 i, u32 fastest)
{
	u32 rtt = braid_rtt(&view->subflow[i & (BRAID_MAX_SUBFLOWS - 1)]);

	/* The fastest subflow itself, the common case, needs no division. */
	return rtt == fastest ? 1ull << BRAID_SPEED_BITS : braid_div((u64)fastest << BRAID_SPEED_BITS, rtt);
}

/* rate / total with 31 fraction bits, for rate <= total; one division, off by less than 2^-30. */
braid_inline u64 braid_share(u64 rate, u64 total)
{
	u32 shift = braid_clz(total);

	return braid_div(braid_shl(rate, shift), braid_shl(total, shift) >> BRAID_SHARE_BITS);
}

#endif
