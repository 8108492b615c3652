// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * SBDV (Wei, Wang, Xue, Wei, Hong 2018): subflows whose congestion events keep a constant distance grow as LIA
 * together, each of the others as Reno.
 */
#include "sbd/interval.h"
#include "sbd/reaction.h"

#define SBDV_PARAMS(P) \
	LIA_PARAMS(P)  \
	INTERVAL_PARAMS(P)

SBD_ALGORITHM(sbdv, SBDV_PARAMS,
	      BRAID_RATES_OF_SIBLINGS | BRAID_PATHS_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
		      BRAID_NO_BYTES_OF_SIBLINGS | BRAID_NO_LOW_WORDS | BRAID_RESTARTS_UNSEEN,
	      interval, INTERVAL_FIRST, lia_reaction)
