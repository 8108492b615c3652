// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * SBDV (Wei, Wang, Xue, Wei, Hong 2018): subflows whose congestion events keep much the same distance grow as LIA among
 * themselves, each of the others as Reno.
 */
#include "sbd/interval.h"
#include "sbd/reaction.h"

#define SBDV_PARAMS(P) \
	LIA_PARAMS(P)  \
	INTERVAL_PARAMS(P)

SBD_ALGORITHM(sbdv, SBDV_PARAMS, 0, interval, INTERVAL_FIRST, lia_reaction)
