/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A detector chosen by a parameter. Parameters are constants in the kernel, so the others are removed. */
#ifndef BRAID_SBD_ANY_H
#define BRAID_SBD_ANY_H

#include "ba.h"
#include "comark.h"
#include "hint.h"
#include "interval.h"
#include "queue.h"
#include "rfc8382.h"
#include "sync.h"

enum any_detector { ANY_BA, ANY_RFC8382, ANY_DWC, ANY_COMARK, ANY_INTERVAL, ANY_NONE, ANY_ALL, ANY_QUEUE, ANY_HINT };

#define ANY_FIRST sbd
#define ANY_PARAMS(P)                                                                                                              \
	P(sbd, ANY_BA, 0, ANY_HINT, 1, "ba|rfc8382|dwc|ecn|interval|none|all|queue|hint",                                          \
	  "which subflows share a bottleneck: by BA-MPCUBIC's filters, the statistics of RFC 8382, congestion "                    \
	  "at the same time, common congestion marks, intervals between congestion events; or always none, or always all of them") \
	BA_PARAMS(P)                                                                                                               \
	RFC8382_PARAMS(P)                                                                                                          \
	SYNC_PARAMS(P)                                                                                                             \
	COMARK_PARAMS(P)                                                                                                           \
	INTERVAL_PARAMS(P)                                                                                                         \
	QUEUE_PARAMS(P)

BRAID_PARAMS(any, ANY_PARAMS);

struct any_state {
	union {
		struct ba_state ba;
		struct rfc8382_state rfc8382;
		struct sync_state sync;
		struct comark_state comark;
		struct interval_state interval;
		struct queue_state queue;
	};
};

#define ANY_EVENT(event_)                                                                                             \
	braid_inline void any_##event_(struct braid_view *view, struct any_state *state,                              \
				       const struct any_params *params, const struct braid_event *event)              \
	{                                                                                                             \
		switch (params->sbd) {                                                                                \
		case ANY_BA: ba_##event_(view, &state->ba, SBD_PART(ba, params, BA_FIRST), event); break;             \
		case ANY_RFC8382:                                                                                     \
			rfc8382_##event_(view, &state->rfc8382, SBD_PART(rfc8382, params, RFC8382_FIRST), event);     \
			break;                                                                                        \
		case ANY_DWC: sync_##event_(view, &state->sync, SBD_PART(sync, params, SYNC_FIRST), event); break;    \
		case ANY_COMARK:                                                                                      \
			comark_##event_(view, &state->comark, SBD_PART(comark, params, COMARK_FIRST), event);         \
			break;                                                                                        \
		case ANY_INTERVAL:                                                                                    \
			interval_##event_(view, &state->interval, SBD_PART(interval, params, INTERVAL_FIRST), event); \
			break;                                                                                        \
		case ANY_QUEUE: queue_##event_(view, &state->queue, SBD_PART(queue, params, QUEUE_FIRST), event);     \
			break;                                                                                        \
		case ANY_HINT: hint_decide(view, event); break;                                                       \
		case ANY_ALL: sbd_decide(view, SBD_ONE_GROUP, event->now_us); break;                                  \
		}                                                                                                     \
	}

ANY_EVENT(init)
ANY_EVENT(on_ack)
ANY_EVENT(on_loss)

#endif
