// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * STTF, shortest transfer time first (Hurtig et al., IEEE/ACM ToN 2019): predicts the delivery time of a packet
 * appended to each path's queue now, including the growth of its window, and takes the earliest.
 *
 *	q = queued + 1, free = max(cwnd - in_flight, 0)
 *	q <= free:  T = R/2
 *	else:       q -= free, W = grow(cwnd), rounds = 1; while q > W: q -= W, W = grow(W), rounds += 1
 *	            T = R + (rounds - 1) R + R/2
 *	grow(W) = 2 W up to ssthresh, above W + 1
 *
 * Queued packets are rescheduled if the same rule would now distribute them differently by more than a packet.
 */
#include "scheduler.h"
#include "opportunistic.h"

#define STTF_PARAMS(P)                                                                                      \
	P(rtt, 0, 0, 1, 1, "srtt|last", "the smoothed RTT, or the latest sample, as in the published code") \
	P(reschedule, 1, 0, 1, 1, "off|on", "take back data queued on the wrong path")                      \
	P(retransmit, 1, 0, 1, 1, "off|on",                                                                 \
	  "send the oldest segment again on a faster path when the receive window is full")

BRAID_SCHEDULER_PARAMS(sttf, STTF_PARAMS);

struct sttf_private {
	struct opportunistic opportunistic;
};

/* Maximum of packets that are rescheduled. */
#define STTF_PLANNED 32

/* Rounds for q packets with a window that starts at w and grows by one packet per round: the least m >= 1 with q <= m w
 * + m (m - 1)/2. */
braid_inline u64 sttf_linear_rounds(u64 q, u64 w)
{
	u64 b, m;

	/* Queues are shorter than this; products stay within 64 bits. */
	q = braid_min(q, 1 << 24);
	if (q <= w)
		return 1;
	b = 2 * w - 1;
	m = (braid_sqrt(b * b + 8 * q) - b) / 2;

	/* The root is rounded down: m is the result or one less. */
	return m + (m * w + m * (m - 1) / 2 < q);
}

/* Twice the time to delivery of a packet behind `queued` others, microseconds. */
braid_inline u64 sttf_time(const struct braid_path *path, u64 queued, u32 last)
{
	u64 free = path->cwnd > path->in_flight ? path->cwnd - path->in_flight : 0;
	u64 r = last && path->last_rtt_us ? path->last_rtt_us : path->srtt_us;
	u64 q = queued + 1, w = braid_max32(path->cwnd, 1), rounds = 1;
	u32 i;

	if (q <= free)
		return r;
	q -= free;
	/* Slow start: 32 doublings are more than any queue. */
	for (i = 0; i < 32; i++) {
		if (w > path->ssthresh)
			break;
		w *= 2;
		if (q <= w)
			return (2 * rounds + 1) * r;
		q -= w;
		rounds++;
	}
	return (2 * (rounds - 1 + sttf_linear_rounds(q, w + 1)) + 1) * r;
}

static void sttf_on_choose(const struct braid_paths *view, struct sttf_private *priv, const struct sttf_params *params,
			   struct braid_choice *choice)
{
	u32 able = braid_paths_with(view, BRAID_PATH_USABLE | BRAID_PATH_MEMORY, BRAID_PATH_LOSS);
	u32 planned[BRAID_MAX_PATHS], total = 0, differs = 0, i, k;
	u64 rank[BRAID_MAX_PATHS];

	choice->flags |= BRAID_QUEUE;
	for (i = 0; i < BRAID_MAX_PATHS; i++) {
		rank[i] = sttf_time(&view->path[i], 0, params->rtt);
		planned[i] = 0;
		total += able >> i & 1 ? view->path[i].queued : 0;
	}
	if (params->reschedule && able & (able - 1) && total > 1 && total <= STTF_PLANNED) {
		for (k = 0; k < STTF_PLANNED; k++) {
			u32 best = k < total ? braid_first(able, rank) : BRAID_NO_PATH;

			if (best == BRAID_NO_PATH)
				break;
			best &= BRAID_MAX_PATHS - 1;
			planned[best]++;
			rank[best] = sttf_time(&view->path[best], planned[best], params->rtt);
		}
		braid_for_each_path(i, able)
			differs |= planned[i] > view->path[i].queued + 1 || view->path[i].queued > planned[i] + 1;
		if (differs) {
			choice->flags |= BRAID_RECALL;
			return;
		}
	}
	for (i = 0; i < BRAID_MAX_PATHS; i++)
		rank[i] = sttf_time(&view->path[i], view->path[i].queued, params->rtt);
	braid_send(choice, braid_choose(view, able, rank, choice), 1);
}

static void sttf_on_join(const struct braid_paths *view, struct sttf_private *priv, const struct sttf_params *params,
			 struct braid_choice *choice)
{
	opportunistic_join(view, &priv->opportunistic);
}

static void sttf_on_blocked(const struct braid_paths *view, struct sttf_private *priv, const struct sttf_params *params,
			    struct braid_choice *choice)
{
	opportunistic_blocked(view, &priv->opportunistic, params->retransmit, 0, choice);
}

BRAID_SCHEDULER(sttf, STTF_PARAMS, BRAID_QUEUES, sttf_on_choose, sttf_on_join, BRAID_IGNORE, sttf_on_blocked)
