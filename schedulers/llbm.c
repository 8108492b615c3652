// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * LL/BM, bufferbloat mitigation (Ferlin et al., GLOBECOM 2014; Paasch et al. 2014): minRTT with a cap on the window of
 * a path whose RTT is inflated by its own queue. Congestion control is unchanged.
 *
 *	limit_r = max(2, lambda (srtt_min_r/srtt_r) cwnd_r)
 *	r has room only while in_flight_r < limit_r
 *
 * srtt_min expires after `memory`: otherwise a path with a longer route would be limited forever.
 */
#include "minrtt.h"
#include "opportunistic.h"

#define LLBM_PARAMS(P)                                                                                     \
	P(lambda, 3072, 1024, 102400, 1024, "", "ratio of RTT to minimum RTT above which the cap applies") \
	P(memory, 10, 1, 3600, 1, "s", "validity of the minimum RTT")                                      \
	OPPORTUNISTIC_PARAMS(P)

BRAID_SCHEDULER_PARAMS(llbm, LLBM_PARAMS);

struct llbm_private {
	struct opportunistic opportunistic;
	u32 srtt_min_us[BRAID_MAX_PATHS]; /* 0: unknown */
	u64 since_us[BRAID_MAX_PATHS];    /* time of that value */
};

/* The capped window of a path, packets. */
braid_inline u64 llbm_limit(const struct braid_path *path, u32 srtt_min_us, u32 lambda)
{
	return braid_max(2, braid_muldiv((u64)lambda * path->cwnd, srtt_min_us, (u64)path->srtt_us << 10));
}

static void llbm_on_choose(const struct braid_paths *view, struct llbm_private *priv, const struct llbm_params *params,
			   struct braid_choice *choice)
{
	u32 ready = braid_ready(view), capped = 0, i;

	braid_for_each_path(i, ready)
	{
		const struct braid_path *path = &view->path[i];
		u32 least = priv->srtt_min_us[i];

		if (least && path->srtt_us && (u64)path->in_flight >= llbm_limit(path, least, params->lambda))
			capped |= 1u << i;
	}
	braid_send(choice, minrtt_choose(view, ready & ~capped, choice), 1);
}

static void llbm_on_rtt(const struct braid_paths *view, struct llbm_private *priv, const struct llbm_params *params,
			struct braid_choice *choice)
{
	u32 self = view->self & (BRAID_MAX_PATHS - 1), srtt = view->path[self].srtt_us;
	u32 is_old = view->now_us - priv->since_us[self] > params->memory * 1000000ull;

	if (!srtt || (priv->srtt_min_us[self] && srtt > priv->srtt_min_us[self] && !is_old))
		return;
	priv->srtt_min_us[self] = srtt;
	priv->since_us[self] = view->now_us;
}

static void llbm_on_join(const struct braid_paths *view, struct llbm_private *priv, const struct llbm_params *params,
			 struct braid_choice *choice)
{
	priv->srtt_min_us[view->self & (BRAID_MAX_PATHS - 1)] = 0;
	opportunistic_join(view, &priv->opportunistic);
}

static void llbm_on_blocked(const struct braid_paths *view, struct llbm_private *priv, const struct llbm_params *params,
			    struct braid_choice *choice)
{
	opportunistic_blocked(view, &priv->opportunistic, params->retransmit, params->penalise, choice);
}

BRAID_SCHEDULER(llbm, LLBM_PARAMS, 0, llbm_on_choose, llbm_on_join, llbm_on_rtt, llbm_on_blocked)
