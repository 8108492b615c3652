// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * SB-CC, shared-bottleneck congestion control (Wei, Xue, Han, Wei, Hong 2020), reconstructed: subflows marked at the
 * same time are coupled, and the degree of congestion moves window among them.
 *
 *	ce_r: share of marked bytes, averaged over round trips as DCTCP does (RFC 8257), from 1
 *	per acknowledged packet in congestion avoidance, over the group G:
 *		w_r += min((w_r/rtt_r^2) / (sum_k w_k/rtt_k)^2 (1 + mean_G ce - ce_r), 1/w_r)
 *	per round trip with a mark:  ssthresh_r = max(w_r (1 - ce_r/2), 2)
 *	per loss:                    ssthresh_r = max(w_r/2, 2)
 */
#include "sbd/comark.h"
#include "sbd/reaction.h"

#define SBCC_PARAMS(P)                                                                 \
	P(gain, 4096, 1, 65536, 65536, "",                                             \
	  "weight of the newest round trip in the degree of congestion: DCTCP's 1/16") \
	COMARK_PARAMS(P)

BRAID_PARAMS(degree, SBCC_PARAMS);

#define DEGREE_ONE (1ull << 16)

struct degree_public {
	u64 degree; /* of congestion: DEGREE_ONE is 1 */
};

struct degree_state {
	s64 carry;        /* fraction of a packet not yet in cwnd */
	u64 round_end;    /* a round trip ends when snd_una passes this */
	u64 bytes;        /* acknowledged in it */
	u64 marked_bytes; /* by ACKs that echo a mark */
};

braid_inline u64 degree_of(const struct braid_subflow *subflow)
{
	return braid_min(((const struct degree_public *)subflow->public_words)->degree, DEGREE_ONE);
}

/* s_r^2/w_r (1 + mean - own), 32 fraction bits; see shares.h. */
braid_inline u64 degree_increase(const struct braid_view *view, u32 set)
{
	const struct braid_subflow *self = braid_self((struct braid_view *)view);
	u32 fastest = braid_fastest_rtt(view, set), window = braid_rate_window(view, view->self), i;
	u64 total = 0, own = 0, degrees = 0, share, factor;

	braid_for_each(i, set)
	{
		u64 rate = braid_rate_window(view, i) * braid_speed(view, i, fastest);

		total += rate;
		own = braid_select(braid_equal(i, view->self), rate, own);
		degrees += degree_of(&view->subflow[i]);
	}
	share = braid_share(own, total);
	factor = DEGREE_ONE + braid_div(degrees, braid_size(set)) - degree_of(self);
	return braid_min(braid_mul_shift(share * share / window, factor, 2 * BRAID_SHARE_BITS - 32 + 16),
			 braid_reno_increase(self->cwnd));
}

braid_inline void degree_init(struct braid_view *view, struct degree_state *state, const struct degree_params *params,
			      const struct braid_event *event, u32 set)
{
	struct braid_subflow *self = braid_self(view);

	((struct degree_public *)self->public_words)->degree = DEGREE_ONE;
	state->round_end = self->snd_nxt;
}

/* The share of marked bytes, once per round trip. */
braid_inline void degree_measure(struct braid_subflow *self, struct degree_state *state, u32 gain,
				 const struct braid_event *event)
{
	struct degree_public *own = (struct degree_public *)self->public_words;
	u64 degree = degree_of(self), share;

	state->bytes += event->acked_bytes;
	state->marked_bytes += event->flags & BRAID_ACK_ECE ? event->acked_bytes : 0;
	if (self->snd_una <= state->round_end)
		return;
	share = braid_div(state->marked_bytes * gain, state->bytes);
	/* Rounded so that it reaches 0 once marks end. */
	degree -= (degree * gain + DEGREE_ONE - 1) >> 16;
	own->degree = braid_min(degree + share, DEGREE_ONE);
	state->round_end = self->snd_nxt;
	state->bytes = 0;
	state->marked_bytes = 0;
}

braid_inline void degree_on_ack(struct braid_view *view, struct degree_state *state, const struct degree_params *params,
				const struct braid_event *event, u32 set)
{
	struct braid_subflow *self = braid_self(view);
	u32 acked;

	degree_measure(self, state, params->gain, event);
	acked = braid_acked_in_avoidance(self, event);
	if (acked == 0)
		return;
	braid_grow(self, &state->carry,
		   (s64)(braid_is_coupled(view, set) ? degree_increase(view, set) : braid_reno_increase(self->cwnd)),
		   acked);
}

braid_inline void degree_on_loss(struct braid_view *view, struct degree_state *state,
				 const struct degree_params *params, const struct braid_event *event, u32 set)
{
	struct braid_subflow *self = braid_self(view);
	u64 kept = 2 * DEGREE_ONE - degree_of(self);

	if (event->cause == BRAID_CAUSE_ECN)
		braid_reduce(self, &state->carry, braid_mul_shift(braid_exact_window(self, state->carry), kept, 17), 2);
	else
		braid_halve(self, &state->carry, 2);
}

REACTION_IGNORES(degree_on_recovered)
REACTION_IGNORES(degree_on_idle_restart)
REACTION_IGNORES(degree_regroup)

SBD_ALGORITHM(sbcc, SBCC_PARAMS,
	      BRAID_RATES_OF_SIBLINGS | BRAID_PATHS_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
		      BRAID_NO_BYTES_OF_SIBLINGS | BRAID_RESTARTS_UNSEEN,
	      comark, COMARK_FIRST, degree)
