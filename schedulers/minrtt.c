// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * minRTT, or LL, lowest latency first: the default of the multipath-tcp.org kernels (Raiciu et al., NSDI 2012). It fills the
 * window of the path with the smallest srtt, then that of the next one.
 *
 *	r = argmin srtt_k over the paths with room
 */
#include "minrtt.h"
#include "opportunistic.h"

BRAID_SCHEDULER_PARAMS(minrtt, OPPORTUNISTIC_PARAMS);

struct minrtt_private {
	struct opportunistic opportunistic;
};

static void minrtt_on_choose(const struct braid_paths *view, struct minrtt_private *priv,
			     const struct minrtt_params *params, struct braid_choice *choice)
{
	braid_send(choice, minrtt_choose(view, braid_ready(view), choice), 0);
}

static void minrtt_on_join(const struct braid_paths *view, struct minrtt_private *priv,
			   const struct minrtt_params *params, struct braid_choice *choice)
{
	opportunistic_join(view, &priv->opportunistic);
}

static void minrtt_on_blocked(const struct braid_paths *view, struct minrtt_private *priv,
			      const struct minrtt_params *params, struct braid_choice *choice)
{
	opportunistic_blocked(view, &priv->opportunistic, params->retransmit, params->penalise, choice);
	opportunistic_rest(view, &priv->opportunistic, params->retransmit, params->penalise, choice);
}

BRAID_SCHEDULER(minrtt, OPPORTUNISTIC_PARAMS, BRAID_BY_SRTT, minrtt_on_choose, minrtt_on_join, BRAID_IGNORE,
		minrtt_on_blocked)
