// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * BA-MPCUBIC, bottleneck-aware multipath CUBIC (Mahmud, Lubna, Kim, Cho 2021): three filters detect which subflows
 * share a bottleneck; those grow by Le's MPCubic together, each of the others by CUBIC.
 */
#include "sbd/ba.h"
#include "sbd/reaction.h"

#define BAMPCUBIC_PARAMS(P) \
	MPCUBIC_PARAMS(P)   \
	BA_PARAMS(P)

SBD_ALGORITHM(bampcubic, BAMPCUBIC_PARAMS,
	      BRAID_RATES_OF_SIBLINGS | BRAID_PATHS_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
		      BRAID_NO_BYTES_OF_SIBLINGS | BRAID_NO_LOW_WORDS | BRAID_RESTARTS_UNSEEN,
	      ba, BA_FIRST, mpcubic_reaction)
