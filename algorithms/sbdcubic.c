// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * "Ferlin's SBD+MPCUBIC", the competitor in BA-MPCUBIC's paper (Mahmud, Lubna, Kim, Cho 2021): statistics of RFC 8382
 * with a short memory. Subflows that share a bottleneck grow by Le's MPCubic together, each of the others by CUBIC.
 */
#include "sbd/reaction.h"
#include "sbd/rfc8382.h"

/* Ten intervals, and decisions from the second on: the paper reports decisions after 2.0 to 4.6 s. */
#define SBDCUBIC_PARAMS(P) \
	MPCUBIC_PARAMS(P)  \
	RFC8382_TABLE(P, 10, 10, 7, 2, 1, 1, 0)

SBD_ALGORITHM(sbdcubic, SBDCUBIC_PARAMS,
	      BRAID_WANTS_OWD | BRAID_RATES_OF_SIBLINGS | BRAID_PATHS_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
		      BRAID_NO_BYTES_OF_SIBLINGS | BRAID_NO_LOW_WORDS | BRAID_RESTARTS_UNSEEN,
	      rfc8382, RFC8382_FIRST, mpcubic_reaction)
