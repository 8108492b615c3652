/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The summary statistics of RFC 8382: subflows whose delays are skewed, vary and oscillate alike share a bottleneck.
 *
 *	skew   samples below the mean delay minus samples above it, per sample, over M intervals
 *	var    mean |delay - mean delay of the interval before|, over M intervals
 *	freq   share of N intervals in which the interval's mean crossed the mean delay by more than p_v var
 *	loss   packets lost per packet sent, over N intervals
 *	congested: skew < c_s, or skew < c_h and congested before, or loss > p_l
 *	one group: congested, and neighbours in freq, var, skew and loss, each in its order, closer than p_f, p_mad, p_s, p_d
 *
 * Delay is the one-way delay if the host knows it, else the RTT. Newer intervals have larger weights: the newest F of M
 * have M - F + 1, each earlier one has one less.
 */
#ifndef BRAID_SBD_RFC8382_H
#define BRAID_SBD_RFC8382_H

#include "detector.h"

#define RFC8382_SCALE 1000u
#define RFC8382_M_MAX 32u
#define RFC8382_N_MAX 64u
#define RFC8382_SIGNAL_RTT 1u
#define RFC8382_DENOMINATOR_VALID 1u
#define RFC8382_START_TOGETHER 1u
/* Fraction bits: of delays in us, and of skew, freq and loss. */
#define RFC8382_DELAY_BITS 4
#define RFC8382_BITS 16

#define RFC8382_FIRST rfc_interval
/* Differences between users of the statistics: length of the memory, when and how long a grouping must hold, and the
 * assumption before. */
#define RFC8382_TABLE(P, m, n, f, first, repeat, agree, start)                                                       \
	P(rfc_interval, 350000, 10000, 10000000, 1000000, "s", "T, time over which delays are averaged")             \
	P(rfc_m, m, 1, RFC8382_M_MAX, 1, "intervals", "M, memory of mean delay, skew and variability; RFC 8382: 30") \
	P(rfc_n, n, 1, RFC8382_N_MAX, 1, "intervals", "N, memory of oscillation and loss; RFC 8382: 50")             \
	P(rfc_f, f, 1, RFC8382_M_MAX, 1, "intervals", "F, number of the newest with full weight; RFC 8382: 20")      \
	P(rfc_c_s, 100, 0, 1000, RFC8382_SCALE, "", "c_s, a smaller skew shows congestion")                          \
	P(rfc_c_h, 300, 0, 1000, RFC8382_SCALE, "", "c_h, a smaller skew shows continued congestion")                \
	P(rfc_p_v, 700, 0, 10000, RFC8382_SCALE, "",                                                                 \
	  "p_v, minimum distance of a crossing from the mean, in variabilities")                                     \
	P(rfc_p_f, 100, 0, 1000, RFC8382_SCALE, "", "p_f, oscillations that differ by less are alike")               \
	P(rfc_p_mad, 100, 0, 1000, RFC8382_SCALE, "",                                                                \
	  "p_mad, relative difference below which variabilities are "                                                \
	  "alike")                                                                                                   \
	P(rfc_p_s, 150, 0, 2000, RFC8382_SCALE, "", "p_s, skews that differ by less are alike")                      \
	P(rfc_p_d, 100, 0, 1000, RFC8382_SCALE, "", "p_d, relative difference below which losses are alike")         \
	P(rfc_p_l, 50, 0, 1000, RFC8382_SCALE, "", "p_l, more loss shows congestion; RFC 8382 gives no number")      \
	P(rfc_first, first, 1, 1000, 1, "intervals", "minimum before the first decision")                            \
	P(rfc_repeat, repeat, 1, 32, 1, "decisions", "number of the last groupings that count")                      \
	P(rfc_agree, agree, 1, 32, 1, "decisions",                                                                   \
	  "together if this many of them agree, apart if this many disagree; otherwise unchanged")                   \
	P(rfc_start, start, 0, 1, 1, "apart|together", "labels before the first decision")                           \
	P(rfc_signal, 0, 0, 1, 1, "owd|rtt", "delay: one-way if the host knows it, or round trip")                   \
	P(rfc_denominator, 0, 0, 1, 1, "all|valid",                                                                  \
	  "variability: divided by all samples, as the RFC prints, or by "                                           \
	  "those of the intervals that count")
/* As RFC 8382. */
#define RFC8382_PARAMS(P) RFC8382_TABLE(P, 30, 50, 20, 2, 1, 1, 0)

BRAID_PARAMS(rfc8382, RFC8382_PARAMS);

struct rfc8382_statistics {
	u64 partners;   /* ids of those in the same group */
	u64 updated_us; /* 0: never */
	u32 skew;       /* plus 1, RFC8382_BITS fraction bits */
	u32 congested;
	u32 variability; /* us, RFC8382_DELAY_BITS fraction bits */
	u32 frequency;   /* RFC8382_BITS */
	u32 loss;        /* RFC8382_BITS */
	u32 reserved;
};
_Static_assert(sizeof(struct rfc8382_statistics) <= SBD_STATISTICS_WORDS * 8, "public words of RFC 8382");

struct rfc8382_peer {
	u32 id;
	u32 together; /* bit k: in the same group k decisions ago */
	u32 decisions;
	u32 adopted;
};

struct rfc8382_state {
	/* Ring buffers of the last intervals, by number of the interval. */
	s64 mean[RFC8382_M_MAX];      /* us, RFC8382_DELAY_BITS */
	u64 variation[RFC8382_M_MAX]; /* sum of |delay - mean before|, us with RFC8382_DELAY_BITS; 0 if it does not count */
	u32 samples[RFC8382_M_MAX]; /* of those that skew and variation are known of */
	s32 skew[RFC8382_M_MAX];    /* samples below minus samples above */
	u32 lost[RFC8382_N_MAX];
	u32 sent[RFC8382_N_MAX];
	/* The present interval. */
	s64 sum_us;
	u64 variation_now;
	u32 samples_now;
	s32 skew_now;
	u64 number;     /* now_us / T */
	u64 intervals;  /* that ended */
	s64 mean_delay; /* of the last M intervals */
	u64 crossings;  /* bit k: k intervals ago */
	u64 lost_sum;   /* sum over the last N intervals */
	u64 sent_sum;
	u32 lost_before; /* the subflow's counters when the interval began */
	u32 sent_before;
	u32 valid;     /* bit k: the variation k intervals ago counts */
	s32 side;      /* side of the mean delay on which the last crossing ended: 1 above, -1 below */
	s32 origin_us; /* first delay, the origin of delays, since clocks are not synchronised */
	u32 begun;
	u32 one_way; /* the host knows one-way delays */
	u32 reserved;
	struct rfc8382_peer peer[BRAID_MAX_SUBFLOWS];
	u64 seen; /* statements on which the group is based */
};

braid_inline s64 rfc8382_select(u32 condition, s64 a, s64 b)
{
	return (s64)braid_select(condition, (u64)a, (u64)b);
}

/* 1 if x < 0 */
braid_inline u32 rfc8382_negative(s64 x)
{
	return (u32)((u64)x >> 63);
}

braid_inline u64 rfc8382_distance(s64 a, s64 b)
{
	return (u64)rfc8382_select(rfc8382_negative(a - b), b - a, a - b);
}

braid_inline void rfc8382_sample(struct rfc8382_state *state, s32 delay_us)
{
	s64 delay, before;

	if (!state->begun) {
		state->begun = 1;
		state->origin_us = delay_us;
	}
	/* Differences of 32-bit clocks, which may wrap. */
	delay = (s64)(s32)((u32)delay_us - (u32)state->origin_us) * (1 << RFC8382_DELAY_BITS);
	state->sum_us += delay >> RFC8382_DELAY_BITS;
	state->samples_now++;
	if (state->intervals == 0)
		return;
	before = state->mean[(state->intervals - 1) & (RFC8382_M_MAX - 1)];
	state->variation_now += rfc8382_distance(delay, before);
	state->skew_now += (s32)rfc8382_negative(delay - state->mean_delay) -
			   (s32)rfc8382_negative(state->mean_delay - delay);
}

/* Number of set bits. */
braid_inline u64 rfc8382_bits(u64 x)
{
	x -= x >> 1 & 0x5555555555555555ull;
	x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
	return ((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full) * 0x0101010101010101ull >> 56;
}

/* Skew and variability of the last M intervals, weighted; and their mean delay. */
braid_inline void rfc8382_summarise(struct rfc8382_state *state, struct rfc8382_statistics *own,
				    const struct rfc8382_params *params, u32 with_variation)
{
	u32 m = params->rfc_m, full = braid_max32((u32)braid_sub(m + 1, params->rfc_f), 1), k;
	u32 memory = (u32)braid_min(state->intervals, m);
	u64 variation = 0, counted = 0, samples = 0;
	s64 skew = 0, means = 0;

	for (k = 0; k < RFC8382_M_MAX; k++) {
		u32 at = (u32)(state->intervals - 1 - k) & (RFC8382_M_MAX - 1);
		u32 known = braid_below32(k, memory), valid = state->valid >> k & 1;
		u64 weight = braid_min32((u32)braid_sub(m, k), full) * known;
		u64 weighted = weight * state->samples[at];

		samples += weighted;
		skew += state->skew[at] * (s64)weight;
		variation += state->variation[at] * weight * valid;
		counted += weighted * (valid | (params->rfc_denominator != RFC8382_DENOMINATOR_VALID));
		means += state->mean[at] * (s64)known;
	}
	if (!with_variation) {
		s64 share = braid_sdiv(skew * (1 << RFC8382_BITS), samples);

		own->skew = (u32)(share + (1 << RFC8382_BITS));
		state->mean_delay = braid_sdiv(means, memory);
		return;
	}
	own->variability = (u32)braid_min(braid_div(variation, counted), BRAID_U32_MAX);
}

/* Ends an interval: its statistics enter the summary. */
braid_inline void rfc8382_end_interval(struct braid_view *view, struct rfc8382_state *state,
				       const struct rfc8382_params *params, u64 now_us)
{
	struct braid_subflow *self = braid_self(view);
	struct rfc8382_statistics *own = SBD_STATISTICS(rfc8382, self);
	u32 at = (u32)state->intervals & (RFC8382_M_MAX - 1), at_n = (u32)state->intervals & (RFC8382_N_MAX - 1);
	u32 oldest = (u32)(state->intervals - params->rfc_n) & (RFC8382_N_MAX - 1), forgets, crosses;
	u32 sent = self->delivered + self->lost, n = params->rfc_n;
	s64 mean = braid_sdiv(state->sum_us * (1 << RFC8382_DELAY_BITS), state->samples_now);
	s64 mean_delay = state->mean_delay, margin, off;
	u64 skew;

	/* Updates the sums of N intervals first: the newest may overwrite the oldest. */
	forgets = braid_below(state->intervals, n) ^ 1;
	state->lost_sum -= state->lost[oldest] & (0 - forgets);
	state->sent_sum -= state->sent[oldest] & (0 - forgets);
	state->lost[at_n] = self->lost - state->lost_before;
	state->sent[at_n] = sent - state->sent_before;
	state->lost_sum += state->lost[at_n];
	state->sent_sum += state->sent[at_n];
	state->lost_before = self->lost;
	state->sent_before = sent;

	state->mean[at] = mean;
	/* The first interval has no previous mean: no skew, no variation, and no part in their denominators. */
	state->samples[at] = state->samples_now & (0 - braid_below32(0, (u32)braid_min(state->intervals, 1)));
	state->skew[at] = state->skew_now;
	state->variation[at] = state->variation_now;
	state->intervals++;
	rfc8382_summarise(state, own, params, 0);
	own->loss = (u32)braid_div(braid_min(state->lost_sum, state->sent_sum) << RFC8382_BITS, state->sent_sum);

	/* The first interval has no previous one to compare with. */
	skew = (u64)own->skew * RFC8382_SCALE;
	own->congested = state->intervals > 1 &&
			 (skew < (u64)(RFC8382_SCALE + params->rfc_c_s) << RFC8382_BITS ||
			  (own->congested && skew < (u64)(RFC8382_SCALE + params->rfc_c_h) << RFC8382_BITS) ||
			  (u64)own->loss * RFC8382_SCALE > (u64)params->rfc_p_l << RFC8382_BITS);
	/* Without congestion there is only noise, which neither varies nor oscillates. */
	state->valid = state->valid << 1 | own->congested;
	rfc8382_summarise(state, own, params, 1);

	margin = (s64)((u64)own->variability * params->rfc_p_v / RFC8382_SCALE);
	off = mean - mean_delay;
	crosses = 0;
	if (own->congested && off > margin && state->side != 1) {
		crosses = state->side != 0;
		state->side = 1;
	} else if (own->congested && -off > margin && state->side != -1) {
		crosses = state->side != 0;
		state->side = -1;
	}
	state->crossings = state->crossings << 1 | crosses;
	own->frequency = (u32)braid_div(rfc8382_bits(state->crossings & (braid_shl(1, n) - 1)) << RFC8382_BITS, n);
	own->updated_us = now_us;

	state->sum_us = 0;
	state->variation_now = 0;
	state->samples_now = 0;
	state->skew_now = 0;
}

/* Criteria of groups, in the order of their application. */
enum rfc8382_criterion { RFC8382_FREQUENCY, RFC8382_VARIABILITY, RFC8382_SKEW, RFC8382_LOSS };

braid_inline u64 rfc8382_value(const struct braid_view *view, u32 i, enum rfc8382_criterion criterion)
{
	const struct rfc8382_statistics *statistics = SBD_STATISTICS(rfc8382,
								     &view->subflow[i & (BRAID_MAX_SUBFLOWS - 1)]);

	switch (criterion) {
	case RFC8382_FREQUENCY: return statistics->frequency;
	case RFC8382_VARIABILITY: return statistics->variability;
	case RFC8382_SKEW: return statistics->skew;
	default: return statistics->loss;
	}
}

/* 1 if the larger value is less than the threshold above the smaller one; a relative threshold is of the larger one. */
braid_inline u32 rfc8382_is_near(u64 smaller, u64 larger, u32 threshold, u32 relative)
{
	u64 unit = relative ? larger : 1ull << RFC8382_BITS;

	return braid_below((larger - smaller) * RFC8382_SCALE, unit * threshold);
}

/*
 * The subflows of a set that are connected with self by neighbours in the order of their values. The RFC sorts, and
 * cuts where neighbours differ too much; equivalently, self's range grows while another value is within reach.
 */
braid_inline u32 rfc8382_neighbours(const struct braid_view *view, u32 set, enum rfc8382_criterion criterion,
				    u32 threshold, u32 relative)
{
	u64 low = rfc8382_value(view, view->self, criterion), high = low;
	u32 found = sbd_self_bit(view), round, i;

	/* Branch-free: see fixed.h. */
	for (round = 0; round < BRAID_MAX_SUBFLOWS - 1; round++) {
		for (i = 0; i < BRAID_MAX_SUBFLOWS; i++) {
			u64 value = rfc8382_value(view, i, criterion);
			u32 below = braid_below(value, low), above = braid_below(high, value);
			u32 near = (1 ^ (below | above)) | (below & rfc8382_is_near(value, low, threshold, relative)) |
				   (above & rfc8382_is_near(high, value, threshold, relative));

			near &= set >> i & 1;
			found |= near << i;
			low = braid_select(near, braid_min(low, value), low);
			high = braid_select(near, braid_max(high, value), high);
		}
	}
	return found;
}

/* The subflows of self's group at present. */
braid_inline u32 rfc8382_group(const struct braid_view *view, const struct rfc8382_params *params, u32 peers,
			       u64 now_us)
{
	u32 set = 0, high = 0, i;

	peers |= sbd_self_bit(view);
	braid_for_each(i, peers)
	{
		const struct rfc8382_statistics *statistics = SBD_STATISTICS(rfc8382, &view->subflow[i]);
		u32 recent = braid_below(now_us, statistics->updated_us + 2 * params->rfc_interval);

		set |= (braid_below32(0, statistics->congested) & recent) << i;
	}
	if (!(set & sbd_self_bit(view)))
		return 0;
	set = rfc8382_neighbours(view, set, RFC8382_FREQUENCY, params->rfc_p_f, 0);
	set = rfc8382_neighbours(view, set, RFC8382_VARIABILITY, params->rfc_p_mad, 1);
	set = rfc8382_neighbours(view, set, RFC8382_SKEW, params->rfc_p_s, 0);
	braid_for_each(i, set)
	{
		u64 loss = rfc8382_value(view, i, RFC8382_LOSS) * RFC8382_SCALE;

		high |= braid_below((u64)params->rfc_p_l << RFC8382_BITS, loss) << i;
	}
	/* Loss separates subflows with much loss from each other and from the rest. */
	if (high & sbd_self_bit(view))
		return rfc8382_neighbours(view, high, RFC8382_LOSS, params->rfc_p_d, 1);
	return set & ~high;
}

/* Records the decision about each peer, and adopts repeated ones. */
braid_inline void rfc8382_adopt(struct braid_view *view, struct rfc8382_state *state,
				const struct rfc8382_params *params, u32 peers, u32 group)
{
	struct rfc8382_statistics *own = SBD_STATISTICS(rfc8382, braid_self(view));
	u64 window = braid_shl(1, params->rfc_repeat) - 1;
	u64 partners = 0;
	u32 i;

	sbd_follow(view, &state->peer[0].id, sizeof(struct rfc8382_peer) / sizeof(u32));
	braid_for_each(i, peers)
	{
		struct rfc8382_peer *peer = &state->peer[i];
		const struct braid_subflow *subflow = &view->subflow[i];
		u32 known = braid_equal(peer->id, subflow->id), together, full;

		peer->id = subflow->id;
		peer->together = peer->together * known << 1 | (group >> i & 1);
		peer->decisions = braid_min32(peer->decisions * known + 1, 32);
		peer->adopted = known ? peer->adopted : params->rfc_start == RFC8382_START_TOGETHER;
		together = (u32)rfc8382_bits(peer->together & window);
		full = 1 ^ braid_below32(peer->decisions, params->rfc_repeat);
		peer->adopted |= full & (1 ^ braid_below32(together, params->rfc_agree));
		peer->adopted &= 1 ^ (full & (1 ^ braid_below32(params->rfc_repeat - together, params->rfc_agree)));
		partners |= sbd_id_bit(subflow) & (0 - (u64)(peer->adopted & 1));
	}
	own->partners = partners;
}

braid_inline void rfc8382_init(struct braid_view *view, struct rfc8382_state *state,
			       const struct rfc8382_params *params, const struct braid_event *event)
{
	const struct braid_subflow *self = braid_self(view);

	state->number = braid_div(event->now_us, params->rfc_interval);
	state->lost_before = self->lost;
	state->sent_before = self->delivered + self->lost;
}

braid_inline void rfc8382_on_ack(struct braid_view *view, struct rfc8382_state *state,
				 const struct rfc8382_params *params, const struct braid_event *event)
{
	struct rfc8382_statistics *own = SBD_STATISTICS(rfc8382, braid_self(view));
	u64 number = braid_div(event->now_us, params->rfc_interval);
	u32 peers = sbd_peers(view);

	/* All subflows number intervals from the same time on; an interval without a sample does not count. */
	if (number != state->number && state->samples_now) {
		rfc8382_end_interval(view, state, params, event->now_us);
		if (state->intervals >= params->rfc_first)
			rfc8382_adopt(view, state, params, peers, rfc8382_group(view, params, peers, event->now_us));
	}
	state->number = number;
	if (state->intervals < params->rfc_first && params->rfc_start == RFC8382_START_TOGETHER)
		own->partners = sbd_ids(view, peers);
	if (event->flags & BRAID_ACK_HAS_OWD && params->rfc_signal != RFC8382_SIGNAL_RTT) {
		state->one_way = 1;
		rfc8382_sample(state, event->owd_us);
	} else if (event->rtt_us && !state->one_way) {
		rfc8382_sample(state, (s32)event->rtt_us);
	}
	sbd_decide_connected(view, peers, SBD_STATISTICS_WORD, &state->seen, event->now_us);
}

braid_inline void rfc8382_on_loss(struct braid_view *view, struct rfc8382_state *state,
				  const struct rfc8382_params *params, const struct braid_event *event)
{
}

#endif
