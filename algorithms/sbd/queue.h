/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared bottlenecks by queueing delay: packets that are in one FIFO queue at the same time wait equally long.
 *
 *	slot:  4.1 ms of the time at which packets were sent; its value is the smallest RTT in it
 *	pair:  values x and y of two subflows whose slots match within one, shifted against each other by lags of 0, 1/4,
 *	       1/2, 3/4 and 1 of the difference of their minimum RTTs
 *	u, v:  x and y without level and slope, exponential means of about 16 pairs
 *	block: 0.2 s, at least two RTTs and four pairs
 *	       rho = 1 - max(sum (u-v)^2 - noise, 0) / sum (u^2 + v^2)
 *	       weight = energy / (energy + floor), energy = sum (u^2 + v^2)
 *	score: + weight * llr(rho), within +-4: llr rises from -minus at low over 0 at pivot to plus at high
 *	together above join, apart below -part; in between all stays as it is, and so it does while queues are quiet
 *
 *	frame: 64 slots, 0.26 s, of the time at half the way; its value is the mean of its slots, and its noise the variance
 *	       of slots over their number
 *	slow:  frames of the same number are compared as slots are, without their level, an exponential mean of eight; of
 *	       eight frames the evidence goes into the same scores. It sees what takes seconds, where jitter hides what is
 *	       faster or subflows hardly ever send at the same time; and it finds out two queues that grew alike
 *
 * Of two subflows the one with the smaller minimum RTT compares: its packets of the matching time are acknowledged
 * first. It publishes the subflows it shares with; the other one publishes its latest slots and frames.
 *
 * RTTs that may contain a delayed ACK's wait are left out: those of an ACK for a single packet, while most ACKs are for
 * two or more.
 *
 * noise: differences explained by the transmission time of a packet and by neighbouring slots. Differences of that size
 * are no evidence against; if they explain nearly everything, there is no evidence for either.
 */
#ifndef BRAID_SBD_QUEUE_H
#define BRAID_SBD_QUEUE_H

#include "detector.h"

#define QUEUE_SLOT_BITS 12 /* us */
#define QUEUE_DELAY_BITS 5 /* unit of a delay in a slot: 32 us */
#define QUEUE_RING 8u      /* slots published */
#define QUEUE_HISTORY 128u /* own stored slots: half a second */
#define QUEUE_LAGS 5u
#define QUEUE_ALIKE_US 8000u /* RTTs this close count as equal */
#define QUEUE_ROUNDS 4u      /* maximum of a peer's slots compared per ACK */
#define QUEUE_SCALE 1000u
#define QUEUE_PAIRS 4u     /* minimum of pairs in a block */
#define QUEUE_MEAN_BITS 4  /* memory of level and slope: 16 pairs */
#define QUEUE_NOISE_BITS 5 /* memory of the noise: 32 slots */
#define QUEUE_FRAME_BITS 6 /* slots: 0.26 s */
#define QUEUE_FRAMES 8u    /* frames of a comparison, and the memory of their level: about two seconds */
#define QUEUE_LEVEL_BITS 3
#define QUEUE_CLOSED 8u /* own frames remembered */

#define QUEUE_FIRST queue_block
#define QUEUE_PARAMS(P)                                                                                              \
	P(queue_block, 200000, 50000, 5000000, 1000000, "s", "minimum length of a block")                            \
	P(queue_floor, 300, 1, 100000, 1, "us", "variation of a queue at which a block has half its weight")         \
	P(queue_packets, 1300, 0, 10000, QUEUE_SCALE, "", "noise of a slot, in packets' times on the link")          \
	P(queue_chance, 1500, 0, 10000, QUEUE_SCALE, "", "noise of a slot, in squared differences to its neighbour") \
	P(queue_excuse, 400, 0, 10000, QUEUE_SCALE, "", "part of a difference that the noise explains")              \
	P(queue_low, 300, 0, 1000, QUEUE_SCALE, "", "concordance at or below which a block is wholly against it")    \
	P(queue_pivot, 750, 0, 1000, QUEUE_SCALE, "", "concordance of a neutral block")                              \
	P(queue_high, 950, 0, 1000, QUEUE_SCALE, "", "concordance at or above which a block is wholly for it")       \
	P(queue_raw, 200, 0, 1000, QUEUE_SCALE, "",                                                                  \
	  "concordance, without correction for noise, below which no block is for it")                               \
	P(queue_ramp, 300, 1, 1000, QUEUE_SCALE, "", "distance above queue_raw at which evidence has full weight")   \
	P(queue_minus, 2000, 0, 4000, QUEUE_SCALE, "", "largest evidence of a block against it")                     \
	P(queue_plus, 2000, 0, 4000, QUEUE_SCALE, "", "largest evidence of a block for it")                          \
	P(queue_join, 2500, 0, 4000, QUEUE_SCALE, "", "together above this score")                                   \
	P(queue_part, 0, 0, 4000, QUEUE_SCALE, "", "apart below minus this score")                                   \
	P(queue_anew, 600, 0, 1000, QUEUE_SCALE, "",                                                                 \
	  "while apart, level and slope restart after a block with this share of the largest evidence against it")   \
	P(queue_most, 4000, 1, 30000, QUEUE_SCALE, "", "bound of the score on either side")

BRAID_PARAMS(queue, QUEUE_PARAMS);

struct queue_statistics {
	u64 partners; /* ids */
	u32 written;  /* slots published so far; wraps */
	u32 strength; /* thousandths: the smallest score for or against over self's comparisons; 0 before the first */
	u32 ring[QUEUE_RING]; /* slot << 16 | RTT, by number of the slot; 0: none */
	u32 frames[2];        /* the latest, see queue_frame */
};
_Static_assert(sizeof(struct queue_statistics) <= SBD_STATISTICS_WORDS * 8, "public words of queues");

/* A comparison at one lag. Delays in 32 us with QUEUE_MEAN_BITS fraction bits, their squares in (32 us)^2. */
struct queue_lag {
	s32 mean_x, mean_y;
	s32 slope_x, slope_y;
	s32 cross;  /* sum 2uv */
	u32 energy; /* sum u^2 + v^2 */
	short score;
	u16 pairs;
};

/* A comparison of frames, in the units of struct queue_lag. */
struct queue_slow {
	s32 mean_x, mean_y;
	s32 cross;
	u32 energy;
	u32 noise; /* sum over the pairs */
	u16 heard; /* the peer's latest compared frame */
	u16 pairs;
};

/* State of a comparison with a peer. */
struct queue_peer {
	u32 id;
	u32 read;   /* its compared slots */
	u32 block;  /* own slot at which the block began */
	u32 noise;  /* mean squared difference of its neighbouring slots, (32 us)^2 */
	u32 before; /* its previous slot */
	short best; /* the largest score */
	u16 together;
	struct queue_lag lag[QUEUE_LAGS];
	struct queue_slow slow;
};

struct queue_state {
	u16 history[QUEUE_HISTORY];                 /* RTT by slot; 0: none */
	struct queue_peer peer[BRAID_MAX_SUBFLOWS]; /* by index in the view */
	u64 seen;                                   /* statements on which the group is based */
	u64 last_us;                                /* latest ACK that delivered something */
	u32 slot;                                   /* the open slot */
	u32 least;                                  /* its smallest RTT so far; 0: none is open */
	u32 noise;                                  /* own, as a peer's */
	u32 before;
	u32 gap;   /* a packet's time on the link: low quantile of the time per packet between ACKs, us */
	u32 whole; /* share of ACKs for two packets or more, of 1024 */
	u32 frame; /* the open frame */
	u32 slots; /* in it */
	u32 first; /* the first of them */
	u32 sum;
	u32 square;               /* of the distances from the first */
	u32 variance;             /* variance of a frame's slots, the mean of several frames; 0: unknown */
	u32 due;                  /* a closed frame has not been compared with peers' yet */
	u32 closed[QUEUE_CLOSED]; /* own frames, by number */
};

/* The RTT of an own slot or of the nearest one, by its number's lower 16 bits; 0: none. The open slot and left-out
 * slots are 0; slots older than the history do not exist. */
braid_inline u32 queue_near_slot(const struct queue_state *state, u32 slot)
{
	u32 known = braid_below32((state->slot - slot) & 0xffff, QUEUE_HISTORY - 1);
	u32 at = state->history[slot & (QUEUE_HISTORY - 1)], before = state->history[(slot - 1) & (QUEUE_HISTORY - 1)],
	    after = state->history[(slot + 1) & (QUEUE_HISTORY - 1)];

	before = (u32)braid_select(braid_below32(0, before), before, after);
	return (u32)braid_select(braid_below32(0, at), at, before) & (0 - known);
}

/* a / 2^n, rounded towards minus infinity. */
braid_inline s32 queue_shift(s32 a, u32 n)
{
	return a >> n;
}

/* A pair at one lag; `is` is 0 for none. Free of branches, as it is run at every lag of every peer. */
braid_inline void queue_pair(struct queue_lag *lag, u32 x, u32 y, u32 is)
{
	s32 begun = 0 - (s32)braid_below32(0, (u32)lag->mean_y), take = 0 - (s32)is;
	s32 sx = (s32)(x << QUEUE_MEAN_BITS), sy = (s32)(y << QUEUE_MEAN_BITS);
	s32 u = (sx - lag->mean_x) & begun, v = (sy - lag->mean_y) & begun, du, dv;
	s64 uv, energy;

	lag->mean_x += ((queue_shift(u, QUEUE_MEAN_BITS) & begun) | ((sx - lag->mean_x) & ~begun)) & take;
	lag->mean_y += ((queue_shift(v, QUEUE_MEAN_BITS) & begun) | ((sy - lag->mean_y) & ~begun)) & take;
	du = u - lag->slope_x;
	dv = v - lag->slope_y;
	lag->slope_x += queue_shift(du, QUEUE_MEAN_BITS) & take;
	lag->slope_y += queue_shift(dv, QUEUE_MEAN_BITS) & take;
	uv = (2 * (s64)du * dv) >> (2 * QUEUE_MEAN_BITS);
	energy = ((s64)du * du + (s64)dv * dv) >> (2 * QUEUE_MEAN_BITS);
	/* Nothing is added beyond a second squared. */
	is &= braid_below(lag->energy + (u64)energy, 1u << 30);
	take = 0 - (s32)is;
	lag->cross += (s32)uv & take;
	lag->energy += (u32)energy & (u32)take;
	lag->pairs = (u16)(lag->pairs + is);
}

/* The noise after another slot. */
braid_inline u32 queue_noisy(u32 noise, u32 before, u32 entry)
{
	u32 gap = ((entry >> 16) - (before >> 16)) & 0xffff;
	s64 d = (s64)(entry & 0xffff) - (s64)(before & 0xffff), square = (s64)braid_min((u64)(d * d), 1u << 20);
	u32 counts = braid_below32(0, before) & braid_below32(gap - 1, 2), first = braid_equal(noise, 0);
	s64 next = (s64)noise + ((square - (s64)noise) >> QUEUE_NOISE_BITS);

	next = (s64)braid_select(first, (u64)square, (u64)next);
	return (u32)braid_select(counts, (u64)next, noise);
}

/* max(a, 0) and max(-a, 0) */
braid_inline u64 queue_above(s64 a)
{
	return (u64)a & (((u64)a >> 63) - 1);
}

/* Evidence of this many pairs: the logarithm of the likelihood ratio, thousandths. `noise` is the sum over all pairs,
 * (32 us)^2, and `excuse` its part of their difference. */
braid_inline s64 queue_evidence(const struct queue_params *params, u64 pairs, u64 energy, s64 cross, u64 noise,
				u64 excuse)
{
	u64 floor_us = params->queue_floor, floor = (floor_us * floor_us * pairs) >> (2 * QUEUE_DELAY_BITS);
	u64 up_range = braid_sub(params->queue_high, params->queue_pivot);
	u64 down_range = braid_sub(params->queue_pivot, params->queue_low), weight, differs, up, down, sure;
	s64 excess;

	/* Two ratios to the energy, in thousandths: the difference beyond the noise, and the whole difference. */
	differs = queue_above((s64)(energy - (u64)cross) - (s64)excuse);
	differs = braid_div(differs * QUEUE_SCALE, energy + 1);
	excess = (s64)QUEUE_SCALE - (s64)params->queue_pivot - (s64)differs;
	up = braid_min(queue_above(excess), up_range);
	down = braid_min(queue_above(0 - excess), down_range);
	differs = braid_div((energy - (u64)cross) * QUEUE_SCALE, energy + 1);
	sure = braid_min(queue_above((s64)QUEUE_SCALE - (s64)params->queue_raw - (s64)differs), params->queue_ramp);
	up = braid_div(up * params->queue_plus, up_range);
	up = braid_div(up * sure, params->queue_ramp);
	down = braid_div(down * params->queue_minus, down_range);
	weight = braid_div(energy * QUEUE_SCALE, energy + 2 * (floor + noise) + 1);
	weight &= 0 - (u64)braid_below(49, weight);
	return (s64)(up * weight / QUEUE_SCALE) - (s64)(down * weight / QUEUE_SCALE);
}

/* Ends a block at one lag, if it has enough pairs. */
braid_inline void queue_end_block(struct queue_lag *lag, const struct queue_params *params, u64 noise)
{
	u32 enough = braid_below32(QUEUE_PAIRS - 1, lag->pairs);
	s64 bound = (s64)params->queue_most;
	u64 all = noise * lag->pairs;
	s64 evidence = queue_evidence(params, lag->pairs, lag->energy, lag->cross, all,
				      all * params->queue_excuse / QUEUE_SCALE) &
		       (0 - (s64)enough);
	s64 score = lag->score + evidence;
	u64 doubt = (u64)params->queue_minus * params->queue_anew / QUEUE_SCALE;
	/* One of two separate subflows may have moved to another queue: the step of its level would hide their common
	 * signal for seconds. */
	u32 anew = braid_below(doubt, queue_above(0 - evidence)) & braid_below(queue_above(lag->score), 1);

	score = (s64)braid_min(queue_above(score + bound), (u64)(2 * bound)) - bound;
	lag->score = (short)score;
	lag->cross &= (s32)(enough - 1);
	lag->energy &= enough - 1;
	lag->pairs &= (u16)(enough - 1);
	lag->mean_y &= (s32)(anew - 1);
	lag->slope_x &= (s32)(anew - 1);
	lag->slope_y &= (s32)(anew - 1);
}

/* A slot of the peer's at one lag, in slots. */
braid_inline void queue_compare(const struct queue_state *state, struct queue_lag *lag, u32 entry, u32 shift)
{
	u32 x = queue_near_slot(state, (entry >> 16) + shift);

	queue_pair(lag, x, entry & 0xffff, braid_below32(0, x));
}

/* Swaps the state of the subflow at an index with the entry there. */
braid_once u32 queue_move(struct braid_view *view, struct queue_state *state, u32 place)
{
	const struct braid_subflow *other;
	u32 *to, *from, i;

	if (!view || !state)
		return 0;
	place &= BRAID_MAX_SUBFLOWS - 1;
	other = &view->subflow[place];
	to = (u32 *)&state->peer[place];
	from = to;
	for (i = 0; i < BRAID_MAX_SUBFLOWS; i++) {
		if (state->peer[i].id == other->id)
			from = (u32 *)&state->peer[i];
	}
	if (from == to) {
		for (i = 0; i < sizeof(struct queue_peer) / 4; i++)
			to[i] = 0;
		((struct queue_peer *)to)->id = other->id;
		((struct queue_peer *)to)->block = state->slot;
		((struct queue_peer *)to)->read = SBD_STATISTICS(queue, other)->written;
		return 0;
	}
	for (i = 0; i < sizeof(struct queue_peer) / 4; i++) {
		u32 word = to[i];

		to[i] = from[i];
		from[i] = word;
	}
	return 0;
}

/* Compares a peer's new slots, and decides about it at the end of a block. */
braid_once u32 queue_look(struct braid_view *view, struct queue_state *state, const struct queue_params *params, u32 i)
{
	const struct braid_subflow *self, *other;
	const struct queue_statistics *theirs;
	struct queue_peer *peer;
	u32 apart, lags, ahead, round, k;
	u64 length;
	s64 best;

	if (!view || !state || !params)
		return 0;
	i &= BRAID_MAX_SUBFLOWS - 1;
	self = braid_self(view);
	other = &view->subflow[i];
	theirs = SBD_STATISTICS(queue, other);
	peer = &state->peer[i];
	/* slots by which the other's minimum RTT is larger; not so far that slots would be forgotten */
	apart = (u32)braid_min(queue_above((s64)other->min_rtt_us - (s64)self->min_rtt_us) >> QUEUE_SLOT_BITS,
			       QUEUE_HISTORY - 16);
	lags = apart > 1 ? QUEUE_LAGS : 1;
	length = braid_max(params->queue_block, 2 * (u64)self->srtt_us) >> QUEUE_SLOT_BITS;
	best = -(s64)params->queue_most;
	ahead = theirs->written - peer->read;

	peer->read = (u32)braid_select(braid_below32(QUEUE_RING, ahead), theirs->written - QUEUE_RING, peer->read);
	for (round = 0; round < QUEUE_ROUNDS; round++) {
		u32 entry = theirs->ring[peer->read % QUEUE_RING];

		/* Until own slots are closed up to the one after it. */
		if (peer->read == theirs->written || (short)((entry >> 16) + apart + 1 - state->slot) >= 0)
			break;
		for (k = 0; k < QUEUE_LAGS; k++) {
			if (k < lags)
				queue_compare(state, &peer->lag[k], entry, apart * k >> 2);
		}
		peer->noise = queue_noisy(peer->noise, peer->before, entry);
		peer->before = entry;
		peer->read++;
	}
	if (state->slot - peer->block >= length) {
		/* us^2, and to (32 us)^2 */
		u64 packet = braid_min((u64)state->gap * params->queue_packets / QUEUE_SCALE, 1u << 20);
		u64 chance = ((u64)state->noise + peer->noise) * params->queue_chance / (2 * QUEUE_SCALE);
		u64 noise = braid_max(packet * packet >> (2 * QUEUE_DELAY_BITS), chance);

		for (k = 0; k < QUEUE_LAGS; k++) {
			if (k < lags)
				queue_end_block(&peer->lag[k], params, noise);
		}
		for (k = 0; k < QUEUE_LAGS; k++)
			best += (s64)(queue_above(peer->lag[k].score - best) & (0 - (u64)braid_below32(k, lags)));
		peer->block = state->slot;
		peer->best = (short)best;
		if (best > (s64)params->queue_join)
			peer->together = 1;
		if (best < -(s64)params->queue_part)
			peer->together = 0;
	}
	return 0;
}

/* A frame: number << 24 | noise << 16 | mean of its slots; 0: none. The noise is the mean squared error of the mean in
 * (32 us)^2, as a number of three bits and a shift of five. */
braid_inline u32 queue_frame(u32 number, u32 mean, u64 noise)
{
	u32 shift = 61 - braid_min32(braid_clz(noise | 1), 61);

	return number << 24 | shift << 19 | (u32)(noise >> shift) << 16 | mean;
}

braid_inline u32 queue_frame_noise(u32 frame)
{
	return (frame >> 16 & 7) << (frame >> 19 & 31);
}

/* Compares a peer's oldest new frame with the own frame of that time; every eight frames give evidence. */
braid_once u32 queue_frames(struct braid_view *view, struct queue_state *state, const struct queue_params *params,
			    u32 i)
{
	const struct queue_statistics *statistics;
	struct queue_peer *peer;
	struct queue_slow *slow;
	s32 begun, x, y, u, v;
	s64 cross, energy, evidence, bound;
	u32 oldest = 0, before, theirs = 0, own = 0, k;
	u64 doubt;

	if (!view || !state || !params)
		return 0;
	i &= BRAID_MAX_SUBFLOWS - 1;
	statistics = SBD_STATISTICS(queue, &view->subflow[i]);
	peer = &state->peer[i];
	slow = &peer->slow;
	before = (state->frame - slow->heard) & 0xff;
	for (k = 0; k < 2; k++) {
		u32 frame = statistics->frames[k], age = (state->frame - (frame >> 24)) & 0xff;
		u32 here = state->closed[(frame >> 24) % QUEUE_CLOSED];

		if (frame && here && here >> 24 == frame >> 24 && age <= QUEUE_CLOSED && age < before && age > oldest) {
			oldest = age;
			theirs = frame;
			own = here;
		}
	}
	if (oldest == 0)
		return 0;
	slow->heard = (u16)(theirs >> 24);
	x = (s32)((own & 0xffff) << QUEUE_MEAN_BITS);
	y = (s32)((theirs & 0xffff) << QUEUE_MEAN_BITS);
	begun = 0 - (s32)braid_below32(0, (u32)slow->mean_y);
	u = (x - slow->mean_x) & begun;
	v = (y - slow->mean_y) & begun;
	slow->mean_x += (queue_shift(u, QUEUE_LEVEL_BITS) & begun) | ((x - slow->mean_x) & ~begun);
	slow->mean_y += (queue_shift(v, QUEUE_LEVEL_BITS) & begun) | ((y - slow->mean_y) & ~begun);
	cross = (2 * (s64)u * v) >> (2 * QUEUE_MEAN_BITS);
	energy = ((s64)u * u + (s64)v * v) >> (2 * QUEUE_MEAN_BITS);
	/* Nothing is added beyond a second squared. */
	if (slow->energy + (u64)energy < 1u << 30) {
		slow->cross += (s32)cross;
		slow->energy += (u32)energy;
	}
	slow->noise += queue_frame_noise(own) + queue_frame_noise(theirs);
	if (++slow->pairs < QUEUE_FRAMES)
		return 0;
	evidence = queue_evidence(params, slow->pairs, slow->energy, slow->cross, slow->noise, slow->noise);
	bound = (s64)params->queue_most;
	for (k = 0; k < QUEUE_LAGS; k++) {
		s64 score = peer->lag[k].score + evidence;

		score = (s64)braid_min(queue_above(score + bound), (u64)(2 * bound)) - bound;
		peer->lag[k].score = (short)score;
	}
	doubt = (u64)params->queue_minus * params->queue_anew / QUEUE_SCALE;
	if (queue_above(0 - evidence) > doubt && peer->best <= 0)
		slow->mean_y = 0;
	slow->cross = 0;
	slow->energy = 0;
	slow->noise = 0;
	slow->pairs = 0;
	return 0;
}

/* Closes the open frame. */
braid_inline void queue_end_frame(struct queue_statistics *own, struct queue_state *state)
{
	/* A single slot does not show its error. */
	if (state->slots > 1) {
		u64 n = state->slots;
		s64 off = (s64)state->sum - (s64)(n * state->first);
		u64 spread = queue_above((s64)state->square - (s64)braid_div((u64)(off * off), n));
		u32 variance = (u32)braid_div(spread, n - 1), frame;

		/* The variance of a few slots is unreliable: averaged over several frames. */
		state->variance += (u32)(queue_shift((s32)(variance - state->variance), QUEUE_LEVEL_BITS)) &
				   (0 - braid_below32(0, state->variance));
		state->variance = (u32)braid_select(braid_equal(state->variance, 0), variance, state->variance);
		frame = queue_frame(state->frame, (u32)braid_div(state->sum, n), braid_div(state->variance, n));

		state->closed[state->frame % QUEUE_CLOSED] = frame;
		own->frames[state->frame % 2] = frame;
		state->due = 1;
	}
	state->slots = 0;
	state->sum = 0;
	state->square = 0;
}

/* Closes the open slot. */
braid_inline void queue_close(struct braid_subflow *self, struct queue_state *state)
{
	struct queue_statistics *own = SBD_STATISTICS(queue, self);
	u32 entry = state->slot << 16 | state->least;
	/* By the time at half the RTT: subflows of one queue meet there within half the difference of their RTTs,
	 * wherever the queue is. */
	u32 frame = (state->slot + (self->min_rtt_us >> (QUEUE_SLOT_BITS + 1))) >> QUEUE_FRAME_BITS;
	s64 off;

	if (frame != state->frame) {
		queue_end_frame(own, state);
		state->frame = frame;
	}
	if (state->slots == 0)
		state->first = state->least;
	off = (s64)state->least - state->first;
	state->sum += state->least;
	state->square += (u32)braid_min((u64)(off * off), 1u << 24);
	state->slots++;
	state->history[state->slot & (QUEUE_HISTORY - 1)] = (u16)state->least;
	own->ring[own->written % QUEUE_RING] = entry;
	own->written++;
	state->noise = queue_noisy(state->noise, state->before, entry);
	state->before = entry;
}

/* Clears the history's slots up to this one. */
braid_once u32 queue_skip(struct queue_state *state, u32 slot)
{
	u32 gap, i;

	if (!state)
		return 0;
	gap = slot - state->slot;
	for (i = 0; i < QUEUE_HISTORY; i++) {
		if (i >= gap)
			break;
		state->history[(slot - i) & (QUEUE_HISTORY - 1)] = 0;
	}
	return 0;
}

/* Records an RTT in the slot in which the packet was sent. */
braid_inline void queue_sample(struct braid_subflow *self, struct queue_state *state, u64 sent_us, u32 rtt_us)
{
	u32 slot = (u32)(sent_us >> QUEUE_SLOT_BITS), delay = (u32)braid_clamp(rtt_us >> QUEUE_DELAY_BITS, 1, 0xffff);

	if (state->least == 0 || (s32)(slot - state->slot) > 0) {
		if (state->least)
			queue_close(self, state);
		queue_skip(state, slot);
		state->slot = slot;
		state->least = delay;
	} else if (slot == state->slot) {
		state->least = braid_min32(state->least, delay);
	}
}

/* Statistics of ACKs: a packet's time, and whether the receiver delays them. Returns whether the RTT of this one
 * contains no such delay. */
braid_inline u32 queue_acked(const struct braid_subflow *self, struct queue_state *state,
			     const struct braid_event *event)
{
	u32 gap;

	if (event->acked == 0)
		return 1;
	gap = (u32)braid_div(braid_min(event->now_us - state->last_us, 1000000), event->acked);
	if (state->last_us && gap >= 10) {
		if (state->gap == 0)
			state->gap = gap;
		else if (gap < state->gap)
			state->gap -= (state->gap - gap + 3) / 4;
		else
			state->gap += (braid_min32(gap, 2 * state->gap) - state->gap + 127) / 128;
	}
	state->last_us = event->now_us;
	state->whole += (event->acked > 1 ? 64u : 0u) - state->whole / 16;
	return event->acked > 1 || self->ca_state != BRAID_OPEN || state->whole < 200;
}

/*
 * The peers that self compares itself with: of two the one with the smaller minimum RTT compares; if they are nearly
 * equal the older one, since the difference may change its sign.
 */
braid_inline u32 queue_compared(const struct braid_view *view, u32 peers)
{
	const struct braid_subflow *self = braid_self((struct braid_view *)view);
	u32 i, set = 0;

	braid_for_each(i, peers)
	{
		const struct braid_subflow *other = &view->subflow[i];
		u32 faster = braid_below(self->min_rtt_us + (u64)QUEUE_ALIKE_US, other->min_rtt_us);
		u32 slower = braid_below(other->min_rtt_us + (u64)QUEUE_ALIKE_US, self->min_rtt_us);

		set |= (faster | ((1 ^ slower) & braid_below32(self->id, other->id))) << i;
	}
	return set;
}

/* The first peer whose state is at the wrong index, since earlier subflows have come or gone; none:
 * BRAID_MAX_SUBFLOWS. */
braid_inline u32 queue_misplaced(const struct braid_view *view, const struct queue_state *state, u32 peers)
{
	u32 found = BRAID_MAX_SUBFLOWS, i;

	braid_for_each(i, peers)
	{
		u32 differs = 1 ^ braid_equal(state->peer[i].id, view->subflow[i].id);

		found = (u32)braid_select(differs & braid_equal(found, BRAID_MAX_SUBFLOWS), i, found);
	}
	return found;
}

braid_inline void queue_init(struct braid_view *view, struct queue_state *state, const struct queue_params *params,
			     const struct braid_event *event)
{
}

braid_inline void queue_on_ack(struct braid_view *view, struct queue_state *state, const struct queue_params *params,
			       const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 peers = sbd_peers(view), compared = queue_compared(view, peers);
	u32 misplaced = queue_misplaced(view, state, peers), i;
	struct queue_params rules = *params; /* a function that is verified once takes no constants of the kernel's */
	u64 partners = 0, strength = 0x7fff;

	if (queue_acked(self, state, event) & braid_below32(0, event->rtt_us))
		queue_sample(self, state, event->now_us - event->rtt_us, event->rtt_us);
	if (misplaced < BRAID_MAX_SUBFLOWS) {
		/* One per ACK; comparisons wait until all are at their index. */
		queue_move(view, state, misplaced);
		return;
	}
	for (i = 0; i < BRAID_MAX_SUBFLOWS; i++) {
		/* Not by the bit itself: the verifier would remember each and explore all 256 sets. */
		if (braid_equal(compared >> i & 1, 1)) {
			if (state->due)
				queue_frames(view, state, &rules, i);
			queue_look(view, state, &rules, i);
		}
	}
	state->due = 0;
	braid_for_each(i, compared)
	{
		s64 best = state->peer[i].best;

		partners |= sbd_id_bit(&view->subflow[i]) & (0 - (u64)state->peer[i].together);
		strength = braid_min(strength, queue_above(best) + queue_above(-best));
	}
	SBD_STATISTICS(queue, self)->partners = partners;
	SBD_STATISTICS(queue, self)->strength = (u32)braid_select(braid_below32(0, compared), strength, 0);
	sbd_decide_connected(view, peers, SBD_STATISTICS_WORD, &state->seen, event->now_us);
}

braid_inline void queue_on_loss(struct braid_view *view, struct queue_state *state, const struct queue_params *params,
				const struct braid_event *event)
{
}

#endif
