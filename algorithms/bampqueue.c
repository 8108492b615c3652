// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * BA-MPCUBIC's reaction on a detector of shared queues: subflows with a common queue grow by Le's MPCubic together,
 * each of the others by CUBIC.
 */
#include "sbd/queue.h"
#include "sbd/reaction.h"

#define BAMPQUEUE_PARAMS(P) \
	MPCUBIC_PARAMS(P)   \
	QUEUE_PARAMS(P)

SBD_ALGORITHM(bampqueue, BAMPQUEUE_PARAMS,
	      BRAID_RATES_OF_SIBLINGS | BRAID_PATHS_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
		      BRAID_NO_BYTES_OF_SIBLINGS | BRAID_NO_LOW_WORDS | BRAID_RESTARTS_UNSEEN,
	      queue, QUEUE_FIRST, mpcubic_reaction)
