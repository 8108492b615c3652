/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Intervals between congestion events, after SBDV (Wei et al. 2018): subflows share a bottleneck if the time between
 * their events varies little.
 *
 *	of the last 10 events of self:  d = time - time of the nearest event of the peer,  V = variance of d
 *	V_0 = I^2 / 12, the variance if one had nothing to do with the other; I: the mean interval of who has fewer events
 *	together if V < 0.1 V_0 and |mean d| < the largest RTT, apart if V > 0.3 V_0 or there were no events for 10 s
 */
#ifndef BRAID_SBD_INTERVAL_H
#define BRAID_SBD_INTERVAL_H

#include "detector.h"

#define INTERVAL_SCALE 1000u
#define INTERVAL_EVENTS 10u
/* Times of events are in 2^10 us, the paper's resolution. */
#define INTERVAL_TIME_BITS 10
/* Beyond this distance events are unrelated. */
#define INTERVAL_FAR 0xfffffu

#define INTERVAL_FIRST interval_join
#define INTERVAL_PARAMS(P)                                                                                            \
	P(interval_join, 100, 0, 10000, INTERVAL_SCALE, "", "together below this share of the variance of strangers") \
	P(interval_part, 300, 0, 10000, INTERVAL_SCALE, "", "apart above this share")                                 \
	P(interval_events, 4, 2, INTERVAL_EVENTS, 1, "events", "minimum before a decision")                           \
	P(interval_silence, 10000000, 100000, 1000000000, 1000000, "s", "apart after this time without an event")

BRAID_PARAMS(interval, INTERVAL_PARAMS);

struct interval_statistics {
	u64 partners;               /* ids */
	u32 event[INTERVAL_EVENTS]; /* the newest first, 2^10 us */
	u32 events;                 /* number of events */
	u32 reserved;
};
_Static_assert(sizeof(struct interval_statistics) <= SBD_STATISTICS_WORDS * 8, "public words of event intervals");

struct interval_state {
	u64 last_us; /* latest congestion; 0: never */
	u64 seen;    /* statements on which the group is based */
};

/* Mean time between the events, squared; events as published, at least 2. */
braid_inline u64 interval_square(const struct interval_statistics *statistics)
{
	u32 events = braid_min32(statistics->events, INTERVAL_EVENTS), oldest = statistics->event[0], k;
	u64 mean;

	for (k = 1; k < INTERVAL_EVENTS; k++)
		oldest = (u32)braid_select(braid_below32(k, events), statistics->event[k], oldest);
	mean = braid_min(braid_div((u32)(statistics->event[0] - oldest), braid_sub(events, 1)), INTERVAL_FAR);
	return mean * mean;
}

/* Time from the peer's nearest event to `us`; INTERVAL_FAR if there is none near. */
braid_inline s32 interval_to_nearest(const struct interval_statistics *peer, u32 moment)
{
	u32 nearest = INTERVAL_FAR, sign = 0, k;

	for (k = 0; k < INTERVAL_EVENTS; k++) {
		u32 later = moment - peer->event[k], earlier = 0 - later, is_earlier = braid_below32(earlier, later);
		u32 distance = (u32)braid_select(is_earlier, earlier, later);
		u32 nearer = braid_below32(distance, nearest) & braid_below32(k, peer->events);

		sign = (u32)braid_select(nearer, is_earlier, sign);
		nearest = (u32)braid_select(nearer, distance, nearest);
	}
	return (s32)braid_select(sign, 0 - nearest, nearest);
}

/* Whether a peer is a partner now; `was`: whether it was one before. */
braid_inline u32 interval_is_partner(const struct interval_statistics *own, const struct interval_statistics *peer,
				     const struct interval_params *params, u32 rtt_us, u32 was)
{
	u32 events = braid_min32(own->events, INTERVAL_EVENTS), k, joins, parts;
	u64 strangers = braid_max(interval_square(own), interval_square(peer)), variance, far;
	s64 sum = 0, squares = 0;

	for (k = 0; k < INTERVAL_EVENTS; k++) {
		s64 apart = interval_to_nearest(peer, own->event[k]);
		s64 counts = (s64)braid_below32(k, events);

		sum += apart * counts;
		squares += apart * apart * counts;
	}
	/* 12 n^2 V against n^2 I^2 */
	variance = 12 * (u64)(squares * events - sum * sum);
	strangers *= (u64)events * events;
	far = braid_select((u32)((u64)sum >> 63), (u64)-sum, (u64)sum) << INTERVAL_TIME_BITS;
	joins = braid_product_below(variance, INTERVAL_SCALE, strangers, params->interval_join) &
		braid_below(far, (u64)rtt_us * events);
	parts = braid_product_below(strangers, params->interval_part, variance, INTERVAL_SCALE);
	if (braid_min32(events, peer->events) < params->interval_events)
		return was;
	return (was | joins) & ~parts & 1;
}

braid_inline void interval_compare(struct braid_view *view, const struct interval_params *params, u32 peers)
{
	struct braid_subflow *self = braid_self(view);
	struct interval_statistics *own = SBD_STATISTICS(interval, self);
	u64 partners = 0;
	u32 i;

	braid_for_each(i, peers)
	{
		const struct braid_subflow *peer = &view->subflow[i];
		u64 bit = sbd_id_bit(peer);
		u32 was = braid_below(0, own->partners & bit), rtt_us = braid_max32(self->srtt_us, peer->srtt_us);
		u32 is = interval_is_partner(own, SBD_STATISTICS(interval, peer), params, rtt_us, was);

		partners |= bit & (0 - (u64)is);
	}
	own->partners = partners;
}

braid_inline void interval_init(struct braid_view *view, struct interval_state *state,
				const struct interval_params *params, const struct braid_event *event)
{
}

braid_inline void interval_on_ack(struct braid_view *view, struct interval_state *state,
				  const struct interval_params *params, const struct braid_event *event)
{
	struct interval_statistics *own = SBD_STATISTICS(interval, braid_self(view));
	u32 peers = sbd_peers(view), i;

	/* A subflow without an event for a long time shares with no other, be it self or the peer. */
	if (event->now_us - state->last_us > params->interval_silence)
		own->partners = 0;
	braid_for_each(i, peers)
	{
		u32 latest = SBD_STATISTICS(interval, &view->subflow[i])->event[0];
		u64 silent_us = (u64)(u32)((u32)(event->now_us >> INTERVAL_TIME_BITS) - latest) << INTERVAL_TIME_BITS;

		own->partners &= ~(sbd_id_bit(&view->subflow[i]) &
				   (0 - (u64)braid_below(params->interval_silence, silent_us)));
	}
	sbd_decide_connected(view, peers, SBD_STATISTICS_WORD, &state->seen, event->now_us);
}

braid_inline void interval_on_loss(struct braid_view *view, struct interval_state *state,
				   const struct interval_params *params, const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	struct interval_statistics *own = SBD_STATISTICS(interval, self);
	u32 is_same = state->last_us && event->now_us - state->last_us < self->srtt_us, k;

	state->last_us = event->now_us;
	if (is_same)
		return;
	for (k = INTERVAL_EVENTS - 1; k > 0; k--)
		own->event[k] = own->event[k - 1];
	own->event[0] = (u32)(event->now_us >> INTERVAL_TIME_BITS);
	own->events = braid_min32(own->events + 1, INTERVAL_EVENTS);
	interval_compare(view, params, sbd_peers(view));
}

#endif
