// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * DWC, dynamic window coupling (Hassayoun, Iyengar, Ros 2011): subflows congested at the same time grow as LIA
 * together, each of the others as Reno.
 */
#include "sbd/reaction.h"
#include "sbd/sync.h"

#define DWC_PARAMS(P) \
	LIA_PARAMS(P) \
	SYNC_PARAMS(P)

SBD_ALGORITHM(dwc, DWC_PARAMS,
	      BRAID_RATES_OF_SIBLINGS | BRAID_PATHS_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
		      BRAID_NO_BYTES_OF_SIBLINGS | BRAID_NO_LOW_WORDS | BRAID_RESTARTS_UNSEEN,
	      sync, SYNC_FIRST, lia_reaction)
