/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BA-MPCUBIC's three filters (Mahmud et al. 2021): a subflow shares its bottleneck while two of three filters agree.
 *
 *	RTT   mean |change of RTT| of the last second within 20 % of another subflow's
 *	ECN   share of ACKs that echo congestion in the last quarter of a second within 20 % of another subflow's
 *	loss  this and another subflow lost packets within three of this one's largest recent RTT
 *
 * The label changes after three consecutive ACKs that contradict it. bampcubic.md lists differences from the paper, and
 * the parameters that restore its letter.
 */
#ifndef BRAID_SBD_BA_H
#define BRAID_SBD_BA_H

#include "detector.h"

#define BA_SCALE 1000u
#define BA_MATCH_SYMMETRIC 1u
#define BA_ECN_LITERAL 1u
#define BA_ECN_OFF 2u
#define BA_LOSS_TEXT 1u
#define BA_LOSS_LITERAL 2u
#define BA_CLOCK_DRIFTS 1u
#define BA_GROUPS_BY_PAIR 1u
/* Search range for a boundary to join when a subflow begins. */
#define BA_SYNC_US 3000000u

#define BA_FIRST ba_rtt_range
#define BA_PARAMS(P)                                                                                            \
	P(ba_rtt_range, 200, 0, 1000, 1000, "",                                                                 \
	  "RTT filter: maximum difference of mean RTT changes, relative to the subflow's own")                  \
	P(ba_ecn_range, 200, 0, 1000, 1000, "", "ECN filter: maximum difference of the shares of echoing ACKs") \
	P(ba_rtt_period, 1000000, 10000, 100000000, 1000000, "s",                                               \
	  "RTT filter: time that RTT changes are averaged "                                                     \
	  "over")                                                                                               \
	P(ba_ecn_period, 250000, 10000, 100000000, 1000000, "s",                                                \
	  "ECN filter: time that ACKs are counted; the "                                                        \
	  "paper's algorithm 2 prints 1 s")                                                                     \
	P(ba_loss_rtts, 3, 0, 100, 1, "RTTs", "loss filter: maximum time between losses, in largest RTTs")      \
	P(ba_acks, 3, 1, 1000, 1, "ACKs", "consecutive ones that must contradict the label")                    \
	P(ba_match, 0, 0, 1, 1, "own|symmetric",                                                                \
	  "reference of the ranges: the subflow's own value, or the larger of both")                            \
	P(ba_ecn, 0, 0, 2, 1, "marked|literal|off",                                                             \
	  "ECN filter: only marks count; counters that start at 1, as the "                                     \
	  "paper prints; or no such filter")                                                                    \
	P(ba_loss, 0, 0, 2, 1, "both|other|literal",                                                            \
	  "loss filter: both must have lost; only the other one, as the "                                       \
	  "paper's text; or always true, as its algorithm 3")                                                   \
	P(ba_clock, 0, 0, 1, 1, "grid|drift",                                                                   \
	  "next period: after a multiple of the period, or after a period from "                                \
	  "now, as the paper prints")                                                                           \
	P(ba_groups, 0, 0, 1, 1, "one|pairs",                                                                   \
	  "groups: all sharing subflows are one, as in the paper, or pairs whose filters are true")

BRAID_PARAMS(ba, BA_PARAMS);

struct ba_statistics {
	u64 partners;       /* ids of subflows that made two filters true; 0 while the label is "not shared" */
	u64 rtt_boundary;   /* end of the present period of the RTT filter */
	u64 rtt_changed_us; /* end of the last period */
	u64 ecn_boundary;   /* of the ECN filter */
	u64 last_loss_us;   /* 0: never */
	u32 rtt_change;     /* mean |change of RTT| of the last period, us with 8 fraction bits; 0: unknown */
	u32 reserved;
	u32 marks; /* echoing ACKs of the last period */
	u32 acks;  /* all ACKs of the last period */
};
_Static_assert(sizeof(struct ba_statistics) <= SBD_STATISTICS_WORDS * 8, "public words of BA's filters");

struct ba_state {
	u64 changes_us;   /* sum of |change of RTT| in this period */
	u64 rtt_partners; /* ids that made the RTT filter true at the last boundary */
	u64 ecn_partners; /* and the ECN filter */
	u32 changes;      /* their number */
	u32 last_rtt_us;  /* 0: none yet */
	u32 rtt_max_us;   /* largest RTT of the last period */
	u32 new_max_us;   /* and of this one */
	u32 acks;         /* of this period of the ECN filter */
	u32 marks;
	u32 contradicted; /* consecutive ACKs that contradicted the label */
	u32 shared;       /* the label */
	u32 synchronised;
	u32 reserved;
};

/* The next boundary after now. */
braid_inline u64 ba_next(u64 boundary, u64 period, u64 now_us, u32 clock)
{
	if (clock == BA_CLOCK_DRIFTS)
		return now_us + period;
	return boundary + (braid_div(braid_sub(now_us, boundary), period) + 1) * period;
}

/* 1 if b is within the range around a, both as fractions a/a_of and b/b_of; the bounds are excluded. */
braid_inline u32 ba_is_near(u64 a, u64 a_of, u64 b, u64 b_of, u32 range, u32 match)
{
	u64 own = a * b_of, other = b * a_of, far = own > other ? own - other : other - own;
	u64 base = match == BA_MATCH_SYMMETRIC ? braid_max(own, other) : own;

	return braid_product_below(far, BA_SCALE, base, range);
}

/* Joins the boundaries of existing subflows. */
braid_inline void ba_synchronise(struct braid_view *view, struct ba_state *state, u32 peers, u64 now_us)
{
	struct ba_statistics *own = SBD_STATISTICS(ba, braid_self(view));
	u64 earliest = now_us + BA_SYNC_US;
	u32 i;

	peers |= sbd_self_bit(view);
	braid_for_each(i, peers)
	{
		u64 boundary = SBD_STATISTICS(ba, &view->subflow[i])->rtt_boundary;
		u32 nearer = braid_below(now_us, boundary) & braid_below(boundary, earliest);

		earliest = braid_select(nearer, boundary, earliest);
	}
	own->rtt_boundary = earliest;
	own->ecn_boundary = earliest;
	state->synchronised = 1;
}

braid_inline void ba_rtt_filter(struct braid_view *view, struct ba_state *state, const struct ba_params *params,
				const struct braid_event *event, u32 peers)
{
	struct ba_statistics *own = SBD_STATISTICS(ba, braid_self(view));
	u32 rtt_us = event->rtt_us, last = state->last_rtt_us, i;

	if (rtt_us == 0)
		return;
	if (event->now_us >= own->rtt_boundary) {
		own->rtt_change = (u32)braid_min(braid_div(state->changes_us << 8, state->changes), BRAID_U32_MAX);
		own->rtt_changed_us = event->now_us;
		own->rtt_boundary = ba_next(own->rtt_boundary, params->ba_rtt_period, event->now_us, params->ba_clock);
		state->rtt_max_us = state->new_max_us;
		state->new_max_us = 0;
		state->changes_us = 0;
		state->changes = 0;
		state->rtt_partners = 0;
		braid_for_each(i, peers)
		{
			const struct ba_statistics *peer = SBD_STATISTICS(ba, &view->subflow[i]);
			u32 recent = braid_below(event->now_us, peer->rtt_changed_us + 2 * params->ba_rtt_period);
			u32 near = ba_is_near(own->rtt_change, 1, peer->rtt_change, 1, params->ba_rtt_range,
					      params->ba_match);

			state->rtt_partners |= sbd_id_bit(&view->subflow[i]) & (0 - (u64)(recent & near));
		}
	}
	state->new_max_us = braid_max32(state->new_max_us, rtt_us);
	if (last) {
		state->changes_us += last > rtt_us ? last - rtt_us : rtt_us - last;
		state->changes++;
	}
	state->last_rtt_us = rtt_us;
}

braid_inline void ba_ecn_filter(struct braid_view *view, struct ba_state *state, const struct ba_params *params,
				const struct braid_event *event, u32 peers)
{
	struct ba_statistics *own = SBD_STATISTICS(ba, braid_self(view));
	u32 first = params->ba_ecn == BA_ECN_LITERAL, i;

	if (params->ba_ecn == BA_ECN_OFF)
		return;
	if (event->now_us >= own->ecn_boundary) {
		own->marks = state->marks + first;
		own->acks = state->acks + first;
		own->ecn_boundary = ba_next(own->ecn_boundary, params->ba_ecn_period, event->now_us, params->ba_clock);
		state->marks = 0;
		state->acks = 0;
		state->ecn_partners = 0;
		braid_for_each(i, peers)
		{
			const struct ba_statistics *peer = SBD_STATISTICS(ba, &view->subflow[i]);
			u32 marked = braid_below32(0, own->marks) & braid_below32(0, peer->marks);
			u32 recent = braid_below(event->now_us, peer->ecn_boundary + params->ba_ecn_period);
			u32 near = ba_is_near(own->marks, own->acks, peer->marks, peer->acks, params->ba_ecn_range,
					      params->ba_match);

			state->ecn_partners |= sbd_id_bit(&view->subflow[i]) & (0 - (u64)(marked & recent & near));
		}
	}
	state->acks++;
	state->marks += event->flags & BRAID_ACK_ECE;
}

/* The ids that make the loss filter true. */
braid_inline u64 ba_loss_partners(const struct braid_view *view, const struct ba_state *state,
				  const struct ba_params *params, u32 peers, u64 now_us)
{
	const struct braid_subflow *self = braid_self((struct braid_view *)view);
	u64 rtt_us = state->rtt_max_us ? state->rtt_max_us : braid_max32(state->new_max_us, self->srtt_us);
	u64 since = braid_sub(now_us, params->ba_loss_rtts * rtt_us), partners = 0;
	u32 i, own;

	if (params->ba_loss == BA_LOSS_LITERAL)
		return sbd_ids(view, peers | sbd_self_bit(view));
	own = params->ba_loss == BA_LOSS_TEXT || SBD_STATISTICS(ba, self)->last_loss_us >= braid_max(since, 1);
	braid_for_each(i, peers)
	{
		u64 loss_us = SBD_STATISTICS(ba, &view->subflow[i])->last_loss_us;
		u32 both = own & (1 ^ braid_below(loss_us, braid_max(since, 1)));

		partners |= sbd_id_bit(&view->subflow[i]) & (0 - (u64)both);
	}
	return partners;
}

/* Two of three filters, three consecutive ACKs. */
braid_inline void ba_decide(struct braid_view *view, struct ba_state *state, const struct ba_params *params, u32 peers,
			    u64 now_us)
{
	struct ba_statistics *own = SBD_STATISTICS(ba, braid_self(view));
	u64 living = sbd_ids(view, peers), rtt, ecn, loss;
	u32 shared, group;

	loss = ba_loss_partners(view, state, params, peers, now_us);
	rtt = state->rtt_partners & living;
	ecn = state->ecn_partners & living;
	shared = (rtt != 0) + (ecn != 0) + (loss != 0) >= 2;
	state->contradicted = shared == state->shared ? 0 : state->contradicted + 1;
	if (state->contradicted >= params->ba_acks) {
		state->contradicted = 0;
		state->shared = shared;
	}
	own->partners = state->shared ? (rtt & ecn) | (ecn & loss) | (loss & rtt) : 0;
	group = SBD_ONE_GROUP;
	if (params->ba_groups == BA_GROUPS_BY_PAIR) {
		group = sbd_connected_group(view, peers, SBD_STATISTICS_WORD);
		group = group ? group : braid_self(view)->id;
	}
	sbd_decide(view, state->shared ? group : 0, now_us);
}

braid_inline void ba_init(struct braid_view *view, struct ba_state *state, const struct ba_params *params,
			  const struct braid_event *event)
{
	struct ba_statistics *own = SBD_STATISTICS(ba, braid_self(view));

	own->rtt_boundary = event->now_us + params->ba_rtt_period;
	own->ecn_boundary = own->rtt_boundary;
}

braid_inline void ba_on_ack(struct braid_view *view, struct ba_state *state, const struct ba_params *params,
			    const struct braid_event *event)
{
	u32 peers = sbd_peers(view);

	if (!state->synchronised)
		ba_synchronise(view, state, peers, event->now_us);
	ba_rtt_filter(view, state, params, event, peers);
	ba_ecn_filter(view, state, params, event, peers);
	ba_decide(view, state, params, peers, event->now_us);
}

braid_inline void ba_on_loss(struct braid_view *view, struct ba_state *state, const struct ba_params *params,
			     const struct braid_event *event)
{
	if (event->cause != BRAID_CAUSE_ECN)
		SBD_STATISTICS(ba, braid_self(view))->last_loss_us = event->now_us;
}

#endif
