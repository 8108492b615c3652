// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Highest sending rate, and two of the same family (Kimura et al., IEEE Communications Letters 2017). Of the paths with room:
 *
 *	rule=hsr, highest sending rate:     argmax cwnd mss/srtt
 *	rule=lws, largest window space:     argmax cwnd - in_flight
 *	rule=lts, lowest time per space:    argmin srtt/(cwnd - in_flight)
 *
 * Ties go to the smaller srtt.
 */
#include "opportunistic.h"

#define HSR_PARAMS(P)                                                                                      \
	P(rule, 0, 0, 2, 1, "hsr|lws|lts", "highest rate, largest window space, or lowest time per space") \
	OPPORTUNISTIC_PARAMS(P)

BRAID_SCHEDULER_PARAMS(hsr, HSR_PARAMS);

struct hsr_private {
	struct opportunistic opportunistic;
};

/* The indices of the paths in the order of rank, then srtt. */
braid_inline void hsr_order(const struct braid_paths *view, const u64 *rank, u64 *place)
{
	u32 i, k;

	for (i = 0; i < BRAID_MAX_PATHS; i++) {
		place[i] = 0;
		for (k = 0; k < BRAID_MAX_PATHS; k++)
			place[i] += rank[k] < rank[i] ||
				    (rank[k] == rank[i] && view->path[k].srtt_us < view->path[i].srtt_us);
	}
}

static void hsr_on_choose(const struct braid_paths *view, struct hsr_private *priv, const struct hsr_params *params,
			  struct braid_choice *choice)
{
	u64 rank[BRAID_MAX_PATHS], place[BRAID_MAX_PATHS];
	u32 i;

	for (i = 0; i < BRAID_MAX_PATHS; i++) {
		const struct braid_path *path = &view->path[i];
		u64 space = path->cwnd > path->in_flight ? path->cwnd - path->in_flight : 0;
		u64 srtt = braid_max32(path->srtt_us, 1);

		if (params->rule == 0)
			rank[i] = ~braid_muldiv((u64)path->cwnd * path->mss, 1 << 20, srtt);
		else if (params->rule == 1)
			rank[i] = ~space;
		else
			rank[i] = braid_div(srtt << 20, braid_max(space, 1));
	}
	hsr_order(view, rank, place);
	braid_send(choice, braid_choose(view, braid_ready(view), place, choice), 1);
}

static void hsr_on_join(const struct braid_paths *view, struct hsr_private *priv, const struct hsr_params *params,
			struct braid_choice *choice)
{
	opportunistic_join(view, &priv->opportunistic);
}

static void hsr_on_blocked(const struct braid_paths *view, struct hsr_private *priv, const struct hsr_params *params,
			   struct braid_choice *choice)
{
	opportunistic_blocked(view, &priv->opportunistic, params->retransmit, params->penalise, choice);
}

BRAID_SCHEDULER(hsr, HSR_PARAMS, 0, hsr_on_choose, hsr_on_join, BRAID_IGNORE, hsr_on_blocked)
