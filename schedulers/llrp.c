// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * LL/RP: lowest latency first, with opportunistic retransmission and penalisation (Raiciu et al., NSDI 2012; Paasch et
 * al. 2014). The choice of path is minRTT's; opportunistic.h handles a full receive window.
 *
 *	r = argmin srtt_k over the paths with room
 */
#include "minrtt.h"
#include "opportunistic.h"

BRAID_SCHEDULER_PARAMS(llrp, OPPORTUNISTIC_PARAMS);

struct llrp_private {
	struct opportunistic opportunistic;
};

static void llrp_on_choose(const struct braid_paths *view, struct llrp_private *priv, const struct llrp_params *params,
			   struct braid_choice *choice)
{
	braid_send(choice, minrtt_choose(view, braid_ready(view), choice), 0);
}

static void llrp_on_join(const struct braid_paths *view, struct llrp_private *priv, const struct llrp_params *params,
			 struct braid_choice *choice)
{
	opportunistic_join(view, &priv->opportunistic);
}

static void llrp_on_blocked(const struct braid_paths *view, struct llrp_private *priv, const struct llrp_params *params,
			    struct braid_choice *choice)
{
	opportunistic_blocked(view, &priv->opportunistic, params->retransmit, params->penalise, choice);
	opportunistic_rest(view, &priv->opportunistic, params->retransmit, params->penalise, choice);
}

BRAID_SCHEDULER(llrp, OPPORTUNISTIC_PARAMS, BRAID_BY_SRTT, llrp_on_choose, llrp_on_join, BRAID_IGNORE, llrp_on_blocked)
