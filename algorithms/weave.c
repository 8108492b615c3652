// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * weave: the subflows that share a bottleneck are together one CUBIC flow (RFC 9438) at the RTT of the fastest of them.
 * Subflows of different bottlenecks are independent. weave.md derives the law.
 *
 * Over the subflows k of a group, b the fastest, s = w_r rtt_b / (rtt_r W) the share of subflow r in the group's rate:
 *
 *	window of the group:  W = sum_k w_k rtt_b / rtt_k
 *	growth:         C_r = C min(w_r / W, 1);  W_est += a min(rtt_r / (rtt_b W), 1 / w_r) per packet acknowledged
 *	episode:        a loss or mark of a packet sent after r's latest reduction; what was sent before belongs to that one
 *	                r publishes when the packet was sent, and reduces; each sibling reduces once, at its next ACK
 *	reduction:      first r passes a part of its window on:  w_r -= m (1 - s) w_r,  w_k += m s w_k for each sibling,
 *	                then each of them reduces as CUBIC:  W_max = w,  ssthresh = beta w, but at least 1
 *	                no growth for rtt_b afterwards
 *	slow start:     the first one ends for all when it ends for one
 *	rest:           while fewer than `each` packets per subflow are in W, the subflow with the least w / rtt^3 sends one
 *	                packet in `rest` seconds, and is no part of the sums; it wakes when the others have `each` packets for
 *	                one more even after a reduction, or when none of them can send
 *	of r alone:     a loss that meets an empty queue:  ssthresh = random w,  W_max = w
 *	                a loss while s < own / n:          ssthresh = beta w
 *
 * Groups: sbd/queue.h, by queueing delays at the same time; or what the host states.
 * A queue is empty if no RTT of the last round is above the smallest by more than `empty` times the largest recent queueing
 * delay, which loses an eighth each second.
 */
#include "cubic.h"
#include "sbd/hint.h"
#include "sbd/queue.h"
#include "sbd/reaction.h"

#define WEAVE_SCALE 1024u
#define WEAVE_SCALE_BITS 10
#define WEAVE_SECOND_US 1000000u
#define WEAVE_DECAY_US WEAVE_SECOND_US
#define WEAVE_RTO_US 200000u    /* a timeout comes at least this much later than one RTT after the packet was sent */
#define WEAVE_DELAYED_ACKS 200u /* below this share of ACKs for two packets the receiver does not delay them */

#define WEAVE_REACTION_PARAMS(P)                                                                                     \
	CUBIC_LAW_PARAMS(P)                                                                                          \
	P(move, 219, 0, 512, WEAVE_SCALE, "",                                                                        \
	  "share of its window that a subflow passes on to its siblings by a loss")                                  \
	P(own, 256, 0, 1024, WEAVE_SCALE, "",                                                                        \
	  "losses of a subflow with less than this part of an equal share are its own")                              \
	P(random, 819, 512, 1024, WEAVE_SCALE, "", "share of the window left by a loss that meets an empty queue")   \
	P(empty, 256, 0, 1024, WEAVE_SCALE, "", "a queue is empty below this share of the largest recent delay")     \
	P(each, 4, 0, 64, 1, "packets", "subflows rest while their group's window is below this for each, 0: never") \
	P(rest, 2000000, 100000, 60000000, 1000000, "s", "time between the packets of a resting subflow")

BRAID_PARAMS(weave_reaction, WEAVE_REACTION_PARAMS);

struct weave_reaction_state {
	struct cubic_law law;
	u64 c;          /* C_r as struct cubic_step has it */
	u64 increase;   /* rtt_r / (rtt_b W), 32 fraction bits */
	u64 update_us;  /* both are computed again from then on */
	u64 reduced_us; /* latest reduction for the group; losses of packets sent before belong to it */
	u64 round_us;   /* half a round began */
	u64 decay_us;   /* the largest delay was lowered */
	u32 high_us;    /* largest RTT of this half round */
	u32 before_us;  /* of the one before */
	u32 most_us;    /* largest recent queueing delay */
	u32 whole;      /* share of ACKs for two packets or more, of 1024 */
	u32 set;        /* the group that c and increase were computed for; 0: no siblings */
	u32 fastest_us; /* its smallest RTT */
};

/* The latest episode that a subflow publishes: when the lost packet was sent, us, and m s with WEAVE_SCALE_BITS. */
#define WEAVE_EPISODE(subflow) ((subflow)->public_words[0])
/* When it reduced for that, us: the time of the reduction of all who follow. */
#define WEAVE_REDUCED(subflow) ((subflow)->public_words[2])

/* Whether a subflow rests. */
#define WEAVE_RESTS(subflow) ((subflow)->public_words[1])

braid_inline const struct cubic_law_params *weave_law(const struct weave_reaction_params *params)
{
	return (const struct cubic_law_params *)params;
}

/* --- Whether the queue is empty --- */

/* Notes an RTT, unless a receiver's timer may have made it longer. */
braid_inline void weave_note(const struct braid_subflow *self, struct weave_reaction_state *state,
			     const struct braid_event *event)
{
	u32 rtt_us = event->rtt_us, most = state->most_us;

	if (event->now_us - state->round_us > self->srtt_us / 2) {
		state->before_us = state->high_us;
		state->high_us = 0;
		state->round_us = event->now_us;
	}
	if (event->now_us - state->decay_us > WEAVE_DECAY_US) {
		most -= most / 8;
		state->decay_us = event->now_us;
	}
	if (event->acked)
		state->whole += (event->acked > 1 ? 64u : 0u) - state->whole / 16;
	if (rtt_us && (event->acked > 1 || self->ca_state != BRAID_OPEN || state->whole < WEAVE_DELAYED_ACKS)) {
		state->high_us = braid_max32(state->high_us, rtt_us);
		most = braid_max32(most, (u32)braid_sub(rtt_us, self->min_rtt_us));
	}
	state->most_us = most;
}

/* Whether a loss that is noticed now met an empty queue. */
braid_inline u32 weave_was_empty(const struct braid_subflow *self, const struct weave_reaction_state *state, u32 share)
{
	u32 high = braid_max32(state->high_us, state->before_us);

	return high && braid_sub(high, self->min_rtt_us) < (u64)state->most_us * share / WEAVE_SCALE;
}

/* --- The group as one flow --- */

struct weave_group {
	u64 window; /* W, BRAID_SPEED_BITS fraction bits */
	u64 part;   /* self's w rtt_b / rtt in it */
	u64 speed;  /* self's rtt_b / rtt */
	u32 fastest_us;
	u32 size;
};

braid_inline void weave_find_group(const struct braid_view *view, u32 set, struct weave_group *group)
{
	u32 i;

	group->fastest_us = braid_fastest_rtt(view, set);
	group->size = braid_size(set);
	group->window = 0;
	group->part = 0;
	group->speed = braid_speed(view, view->self, group->fastest_us);
	braid_for_each(i, set)
	{
		u64 part = braid_rate_window(view, i) * braid_speed(view, i, group->fastest_us);

		group->window += part;
		group->part = braid_select(braid_equal(i, view->self), part, group->part);
	}
}

/* Self's part in the group's growth, once per RTT, at the start of a curve, and when the group changes. */
braid_inline void weave_couple(struct braid_view *view, struct weave_reaction_state *state, u32 set,
			       struct cubic_step *step)
{
	const struct braid_subflow *self = braid_self(view);
	u64 c = step->c;

	if (set != state->set || step->now_us >= state->update_us || state->law.epoch_us == 0) {
		state->increase = step->increase;
		if (set) {
			struct weave_group group;
			u64 window, slow;

			weave_find_group(view, set, &group);
			window = braid_min((u64)braid_rate_window(view, view->self) << BRAID_SPEED_BITS, group.window);
			c = braid_mul_shift(c, braid_share(window, group.window), BRAID_SHARE_BITS);
			c = braid_max(c, 1);
			slow = braid_mul_shift(group.window, group.speed, BRAID_SPEED_BITS); /* W rtt_b / rtt_r */
			state->increase = braid_muldiv(1ull << 36, 1ull << (32 + BRAID_SPEED_BITS - 36), slow);
			state->fastest_us = group.fastest_us;
		}
		if (state->law.epoch_us && state->c && state->c != c)
			cubic_rescale(&state->law, state->c, c, step->now_us);
		state->c = c;
		state->set = set;
		state->update_us = step->now_us + self->srtt_us;
	}
	step->c = state->c;
	step->c_below = state->c;
	step->increase = state->increase;
}

/* The latest episode of a sibling, if its packet was sent after the reduction at *reduced_us, which becomes that of this
 * episode; 0: none. */
braid_inline u64 weave_episode(const struct braid_view *view, u32 set, u64 *reduced_us)
{
	u64 latest = 0, reduced = 0;
	u32 i;

	braid_for_each(i, set)
	{
		const struct braid_subflow *sibling = &view->subflow[i];
		u32 later = braid_below(latest, WEAVE_EPISODE(sibling)) & (1 ^ braid_equal(i, view->self));

		latest = braid_select(later, WEAVE_EPISODE(sibling), latest);
		reduced = braid_select(later, WEAVE_REDUCED(sibling), reduced);
	}
	if (latest >> WEAVE_SCALE_BITS <= *reduced_us)
		return 0;
	*reduced_us = braid_max(reduced, latest >> WEAVE_SCALE_BITS);
	return latest;
}

/* Self's window with what the subflow that lost has passed on. */
braid_inline u64 weave_enlarged(u64 window, u64 episode)
{
	return window + braid_mul_shift(window, episode & (WEAVE_SCALE - 1), WEAVE_SCALE_BITS);
}

/* Publishes an episode of self's. Returns self's window without what it passes on. */
braid_inline u64 weave_publish(struct braid_subflow *self, const struct weave_group *group, u32 move, u64 sent_us,
			       u64 now_us, u64 window)
{
	u64 share = braid_share(group->part, group->window) >> (BRAID_SHARE_BITS - WEAVE_SCALE_BITS);

	WEAVE_EPISODE(self) = sent_us << WEAVE_SCALE_BITS | (move * share >> WEAVE_SCALE_BITS);
	WEAVE_REDUCED(self) = now_us;
	return window - braid_mul_shift(window, move * (WEAVE_SCALE - share), 2 * WEAVE_SCALE_BITS);
}

/* Reduces for a sibling's episode. A subflow that the host is reducing waits until that is over. */
braid_inline void weave_follow(struct braid_view *view, struct weave_reaction_state *state,
			       const struct weave_reaction_params *params, const struct braid_event *event, u32 set)
{
	struct braid_subflow *self = braid_self(view);
	struct braid_event reduction = { .now_us = event->now_us, .cause = BRAID_CAUSE_ECN };
	u64 episode;

	if (self->ca_state >= BRAID_CWR)
		return;
	episode = weave_episode(view, set, &state->reduced_us);
	if (!episode || self->cwnd == 1)
		return;
	cubic_reduce_from(self, &state->law, weave_law(params), &reduction,
			  weave_enlarged(cubic_window(self, &state->law), episode), 1);
	self->cwnd = self->ssthresh;
}

/* Ends the first slow start if a sibling's has ended: the group has found its window. */
braid_inline void weave_end_slow_start(struct braid_view *view, struct weave_reaction_state *state, u32 set)
{
	struct braid_subflow *self = braid_self(view);
	u32 ended = 0, i;

	if (self->ssthresh != BRAID_SSTHRESH_INFINITE)
		return;
	braid_for_each(i, set) ended |= braid_below32(view->subflow[i].ssthresh, BRAID_SSTHRESH_INFINITE);
	if (!ended)
		return;
	self->ssthresh = self->cwnd;
	state->law.found = 1;
	state->law.w_max = cubic_window(self, &state->law);
	state->law.prior = state->law.w_max;
}

/* --- Rest --- */

/* The subflows of the group that do not rest. */
braid_inline u32 weave_awake(const struct braid_view *view, u32 set)
{
	u32 i, awake = 0;

	braid_for_each(i, set) awake |= (u32)braid_equal(WEAVE_RESTS(&view->subflow[i]), 0) << i;
	return awake;
}

/* The cube of the RTT in 256 us: of two subflows that with the larger w / rtt^3 would be the faster TCP. */
braid_inline u64 weave_slowness(const struct braid_subflow *subflow)
{
	u64 rtt = (braid_rtt(subflow) >> 8) + 1;

	return rtt * rtt * rtt;
}

/* Whether a subflow cannot send: after a timeout, and nothing has arrived for as long as one rests. */
braid_inline u32 weave_is_dead(const struct braid_subflow *subflow, const struct weave_reaction_params *params,
			       u64 now_us)
{
	return braid_equal(subflow->ca_state, BRAID_LOSS) & braid_below(subflow->last_ack_us + params->rest, now_us);
}

/* Whether self is the worst of the group's awake subflows, and one of the others can send. */
braid_inline u32 weave_is_worst(const struct braid_view *view, const struct weave_reaction_params *params, u64 now_us,
				u32 others)
{
	const struct braid_subflow *self = braid_self((struct braid_view *)view);
	u64 window = braid_min32(self->cwnd, WEAVE_SCALE), slowness = weave_slowness(self);
	u32 worst = 1, able = 0, i;

	braid_for_each(i, others)
	{
		const struct braid_subflow *other = &view->subflow[i];
		u64 theirs = braid_min32(braid_rate_window(view, i), WEAVE_SCALE) * slowness;
		u64 ours = window * weave_slowness(other);

		worst &= braid_below(ours, theirs) | (braid_equal(ours, theirs) & braid_below32(other->id, self->id));
		able |= 1 ^ weave_is_dead(other, params, now_us);
	}
	return worst & able;
}

/* Whether a resting subflow wakes: the others have enough for one more even after a reduction, or none of them can send. */
braid_inline u32 weave_wakes(const struct braid_view *view, const struct weave_reaction_params *params, u64 now_us,
			     u32 others)
{
	u64 window = 0;
	u32 able = 0, i;

	braid_for_each(i, others)
	{
		window += braid_rate_window(view, i);
		able |= 1 ^ weave_is_dead(&view->subflow[i], params, now_us);
	}
	return !able || window * params->beta >= (u64)(braid_size(others) + 1) * params->each * CUBIC_BETA_SCALE;
}

/* Whether self falls asleep: the awake ones have less than `each` packets each, and self is the worst of them. */
braid_inline u32 weave_falls_asleep(const struct braid_view *view, const struct weave_reaction_params *params,
				    u64 now_us, u32 others)
{
	u64 window = braid_self((struct braid_view *)view)->cwnd, enough = (braid_size(others) + 1) * params->each;
	u32 i;

	if (window >= enough || braid_self((struct braid_view *)view)->ca_state != BRAID_OPEN)
		return 0;
	braid_for_each(i, others) window += braid_rate_window(view, i);
	return window < enough && weave_is_worst(view, params, now_us, others);
}

/* Bytes/s */
braid_inline u64 weave_rest_rate(const struct braid_subflow *self, const struct weave_reaction_params *params)
{
	return braid_div((u64)self->mss * WEAVE_SECOND_US, params->rest);
}

/* Self falls asleep or wakes, if it is due. */
braid_inline void weave_rest(struct braid_view *view, struct weave_reaction_state *state,
			     const struct weave_reaction_params *params, u64 now_us, u32 set)
{
	struct braid_subflow *self = braid_self(view);
	u32 others = weave_awake(view, set) & ~sbd_self_bit(view), rests = WEAVE_RESTS(self) != 0;

	if (rests ? weave_wakes(view, params, now_us, others) : weave_falls_asleep(view, params, now_us, others)) {
		rests ^= 1;
		WEAVE_RESTS(self) = rests;
		state->law.carry = 0;
		state->law.epoch_us = 0;
		self->ssthresh = rests ? 1 : params->each;
		self->pacing_rate = rests ? weave_rest_rate(self, params) : 0;
	}
	if (rests && self->ca_state == BRAID_OPEN)
		self->cwnd = 1;
}

braid_inline void weave_reaction_init(struct braid_view *view, struct weave_reaction_state *state,
				      const struct weave_reaction_params *params, const struct braid_event *event,
				      u32 set)
{
	cubic_begin_round(braid_self(view), &state->law, event->now_us);
}

braid_inline void weave_reaction_on_ack(struct braid_view *view, struct weave_reaction_state *state,
					const struct weave_reaction_params *params, const struct braid_event *event,
					u32 set)
{
	struct braid_subflow *self = braid_self(view);
	struct cubic_step step = { 0 };
	u32 acked;

	weave_note(self, state, event);
	if (params->each)
		weave_rest(view, state, params, event->now_us, set);
	set = weave_awake(view, set);
	set = braid_is_coupled(view, set) ? set : 0;
	if (set) {
		weave_follow(view, state, params, event, set);
		weave_end_slow_start(view, state, set);
	}
	acked = cubic_acked(self, &state->law, params->hystart, event);
	if (acked == 0 || WEAVE_RESTS(self) || (set && event->now_us - state->reduced_us < state->fastest_us))
		return;
	cubic_plain_step(&step, weave_law(params), acked, event->now_us);
	weave_couple(view, state, set, &step);
	cubic_grow(self, &state->law, weave_law(params), &step);
}

braid_inline void weave_reaction_on_loss(struct braid_view *view, struct weave_reaction_state *state,
					 const struct weave_reaction_params *params, const struct braid_event *event,
					 u32 set)
{
	struct braid_subflow *self = braid_self(view);
	struct cubic_law_params law = *weave_law(params);
	u64 window = cubic_window(self, &state->law), late_us = self->last_rtt_us, sent_us, episode;
	u64 reduced_us = state->reduced_us;
	u32 coupled, timeout = event->cause == BRAID_CAUSE_RTO;

	/* By the latest RTT: srtt is too large while the queue drains, and would take a new mark for one before. */
	late_us += timeout ? WEAVE_RTO_US : 0;
	sent_us = braid_sub(event->now_us, late_us);
	set = weave_awake(view, set);
	coupled = braid_is_coupled(view, set);
	if (event->cause == BRAID_CAUSE_FAST_RETRANSMIT && braid_is_coupled(view, braid_eligible(view)) &&
	    weave_was_empty(self, state, params->empty)) {
		/* A connection of one subflow is CUBIC. */
		law.beta = braid_max32(law.beta, params->random);
		law.fast_convergence = 0;
		cubic_reduce_from(self, &state->law, &law, event, window, coupled ? 1 : 2);
		return;
	}
	if (coupled && sent_us < state->reduced_us && !timeout) {
		/* Part of the episode that self has reduced for. */
		self->ssthresh = braid_max32(self->cwnd, 1);
		state->law.epoch_us = 0;
		return;
	}
	if (coupled && sent_us >= state->reduced_us) {
		struct weave_group group;

		weave_find_group(view, set, &group);
		episode = weave_episode(view, set, &reduced_us);
		if (episode)
			window = weave_enlarged(window, episode);
		else if (group.part * group.size >= (group.window >> WEAVE_SCALE_BITS) * params->own)
			window = weave_publish(self, &group, params->move, sent_us, event->now_us, window);
	}
	state->reduced_us = reduced_us == state->reduced_us ? event->now_us : reduced_us;
	cubic_reduce_from(self, &state->law, &law, event, window, coupled ? 1 : 2);
}

braid_inline void weave_reaction_on_recovered(struct braid_view *view, struct weave_reaction_state *state,
					      const struct weave_reaction_params *params,
					      const struct braid_event *event, u32 set)
{
	cubic_recovered(&state->law, event);
}

braid_inline void weave_reaction_on_idle_restart(struct braid_view *view, struct weave_reaction_state *state,
						 const struct weave_reaction_params *params,
						 const struct braid_event *event, u32 set)
{
	struct braid_subflow *self = braid_self(view);

	cubic_skip(&state->law, braid_min(event->idle_us, event->now_us), event->now_us);
	if (WEAVE_RESTS(self))
		self->pacing_rate = weave_rest_rate(self, params);
}

/* Another group: a new curve from the present window towards the same W_max. What was lost before is not the group's. */
braid_inline void weave_reaction_regroup(struct braid_view *view, struct weave_reaction_state *state,
					 const struct weave_reaction_params *params, const struct braid_event *event,
					 u32 set)
{
	state->law.epoch_us = 0;
	state->reduced_us = event->now_us;
}

/* Who shares, chosen by a parameter: what is constant in the kernel costs nothing there. */
enum weave_detector { WEAVE_QUEUE, WEAVE_HINT };

#define WEAVE_DETECTOR_FIRST sbd
#define WEAVE_DETECTOR_PARAMS(P)                                                                           \
	P(sbd, WEAVE_QUEUE, 0, WEAVE_HINT, 1, "queue|hint",                                                \
	  "which subflows share a bottleneck: by queueing delays at the same time, or as the host states") \
	QUEUE_PARAMS(P)

BRAID_PARAMS(weave_detector, WEAVE_DETECTOR_PARAMS);

struct weave_detector_state {
	struct queue_state queue;
};

#define WEAVE_DETECTOR_EVENT(event_)                                                                           \
	braid_inline void weave_detector_##event_(struct braid_view *view, struct weave_detector_state *state, \
						  const struct weave_detector_params *params,                  \
						  const struct braid_event *event)                             \
	{                                                                                                      \
		if (params->sbd == WEAVE_HINT)                                                                 \
			hint_decide(view, event);                                                              \
		else                                                                                           \
			queue_##event_(view, &state->queue, SBD_PART(queue, params, QUEUE_FIRST), event);      \
	}

WEAVE_DETECTOR_EVENT(init)
WEAVE_DETECTOR_EVENT(on_ack)
WEAVE_DETECTOR_EVENT(on_loss)

#define WEAVE_PARAMS(P)          \
	WEAVE_REACTION_PARAMS(P) \
	WEAVE_DETECTOR_PARAMS(P)

SBD_ALGORITHM(weave, WEAVE_PARAMS,
	      BRAID_RATES_OF_SIBLINGS | BRAID_PATHS_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
		      BRAID_NO_BYTES_OF_SIBLINGS | BRAID_PACES,
	      weave_detector, WEAVE_DETECTOR_FIRST, weave_reaction)
