// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any shared-bottleneck detector with any reaction: subflows of one bottleneck are coupled, all others behave as alone.
 *
 *	sbd: the detector    in: growth among those that share a bottleneck    out: growth of the others
 */
#include "sbd/any.h"
#include "sbd/reactions.h"

#define SPLIT_PARAMS(P)     \
	REACTIONS_PARAMS(P) \
	ANY_PARAMS(P)

SBD_ALGORITHM(split, SPLIT_PARAMS,
	      BRAID_WANTS_OWD | BRAID_RATES_OF_SIBLINGS | BRAID_PATHS_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS, any,
	      ANY_FIRST, reactions)
