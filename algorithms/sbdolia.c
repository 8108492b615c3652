// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * MPTCP-SBD (Ferlin, Alay, Dreibholz, Hayes, Welzl 2016): statistics of RFC 8382. Subflows that share a bottleneck grow
 * as OLIA together, each of the others as Reno. Until the first decision all are coupled.
 */
#include "sbd/reaction.h"
#include "sbd/rfc8382.h"

/* A pair is together after nine of ten groupings together, and apart after nine apart. */
#define SBDOLIA_PARAMS(P) \
	OLIA_PARAMS(P)    \
	RFC8382_TABLE(P, 30, 50, 20, 2, 10, 9, RFC8382_START_TOGETHER)

SBD_ALGORITHM(sbdolia, SBDOLIA_PARAMS,
	      BRAID_WANTS_OWD | BRAID_RATES_OF_SIBLINGS | BRAID_PATHS_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
		      BRAID_RESTARTS_UNSEEN,
	      rfc8382, RFC8382_FIRST, olia_reaction)
