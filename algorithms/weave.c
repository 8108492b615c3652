// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * weave: the subflows of each bottleneck take together what one CUBIC (RFC 9438) takes there at the RTT of the best of
 * them; those of different bottlenecks know nothing of each other.
 *
 *	groups: sbd/queue.h, by queueing delays at the same time; or what the host states
 *	x = w/rtt;  delta = (max_k x_k / sum_k x_k)^4 over the group
 *	W(t) = origin + delta C (t - K)^3,  K = cbrt((W_max - w) / (delta C)),  the rest as CUBIC
 *	Reno-friendly:  W_est += a min(max_k(w_k/rtt_k^2) / (sum_k x_k)^2, 1/w_r)
 *	per congestion event:  ssthresh = beta w
 *	per loss that meets an empty queue:  ssthresh = random w,  W_max = w
 *
 * A queue is empty if no RTT of the last round is above the smallest by more than an eighth of the largest queueing delay
 * of late, which is halved in about five seconds.
 */
#include "sbd/hint.h"
#include "sbd/queue.h"
#include "sbd/reaction.h"

#define WEAVE_SCALE 1024u
#define WEAVE_DECAY_US 1000000u /* the largest queueing delay of late loses an eighth each second */

/* As MPCUBIC_PARAMS in their order, without the choices: a pointer to these is one to mpcubic's. */
#define WEAVE_REACTION_PARAMS(P)                                                                                       \
	MPCUBIC_PARAMS(P)                                                                                              \
	P(random, 819, 512, 1024, WEAVE_SCALE, "", "share of the window that a loss keeps which meets an empty queue") \
	P(empty, 256, 0, 1024, WEAVE_SCALE, "", "a queue is empty below this share of the largest delay of late")

BRAID_PARAMS(weave_reaction, WEAVE_REACTION_PARAMS);

struct weave_reaction_state {
	struct mpcubic mpcubic;
	u64 round_us;  /* half a round began */
	u64 decay_us;  /* the largest delay was lowered */
	u32 high_us;   /* largest RTT of this half round */
	u32 before_us; /* of the one before */
	u32 most_us;   /* largest queueing delay of late */
	u32 whole;     /* share of ACKs for two packets or more, of 1024 */
};

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
	if (rtt_us && (event->acked > 1 || self->ca_state != BRAID_OPEN || state->whole < 200)) {
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

braid_inline void weave_reaction_init(struct braid_view *view, struct weave_reaction_state *state,
				      const struct weave_reaction_params *params, const struct braid_event *event,
				      u32 set)
{
	mpcubic_init(view, &state->mpcubic, event);
}

braid_inline void weave_reaction_on_ack(struct braid_view *view, struct weave_reaction_state *state,
					const struct weave_reaction_params *params, const struct braid_event *event,
					u32 set)
{
	weave_note(braid_self(view), state, event);
	mpcubic_on_ack(view, &state->mpcubic, (const struct mpcubic_params *)params, event, set);
}

braid_inline void weave_reaction_on_loss(struct braid_view *view, struct weave_reaction_state *state,
					 const struct weave_reaction_params *params, const struct braid_event *event,
					 u32 set)
{
	struct braid_subflow *self = braid_self(view);
	struct cubic_law_params law = *mpcubic_law_of((const struct mpcubic_params *)params);

	/* A connection of one subflow is CUBIC. */
	if (event->cause == BRAID_CAUSE_FAST_RETRANSMIT && braid_is_coupled(view, braid_eligible(view)) &&
	    weave_was_empty(self, state, params->empty)) {
		law.beta = braid_max32(law.beta, params->random);
		law.fast_convergence = 0;
	}
	cubic_reduce(self, &state->mpcubic.law, &law, event);
	state->mpcubic.heard_us = event->now_us;
}

braid_inline void weave_reaction_on_recovered(struct braid_view *view, struct weave_reaction_state *state,
					      const struct weave_reaction_params *params,
					      const struct braid_event *event, u32 set)
{
	mpcubic_on_recovered(&state->mpcubic, event);
}

braid_inline void weave_reaction_on_idle_restart(struct braid_view *view, struct weave_reaction_state *state,
						 const struct weave_reaction_params *params,
						 const struct braid_event *event, u32 set)
{
	mpcubic_on_idle_restart(&state->mpcubic, event);
}

braid_inline void weave_reaction_regroup(struct braid_view *view, struct weave_reaction_state *state,
					 const struct weave_reaction_params *params, const struct braid_event *event,
					 u32 set)
{
	mpcubic_regroup(&state->mpcubic);
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
		      BRAID_NO_BYTES_OF_SIBLINGS | BRAID_NO_LOW_WORDS | BRAID_RESTARTS_UNSEEN,
	      weave_detector, WEAVE_DETECTOR_FIRST, weave_reaction)
