/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The whole contract between a packet scheduler and its host (simulator or kernel module).
 *
 * A scheduler is a set of transition functions over plain memory, one per event, all of the same form:
 *
 *	void X_on_EVENT(const struct braid_paths *view, struct X_private *priv, const struct X_params *params,
 *			struct braid_choice *choice);
 *
 * It reads the view, which its host fills in before each event, and writes its private memory, of which there is one
 * per connection, and the choice, which its host clears before. A path is known by its index: it keeps it for as long as it
 * exists, and BRAID_PATH_JOINED says that another path has it from now on.
 *
 * Units: packets of one MSS, times in microseconds, rates in bytes per second, everything else in bytes.
 *
 * The C subset is that of braid.h: freestanding, static inline, loops with fixed bounds, no floats, no globals, no host
 * code; what can trap or differ between targets only through fixed.h.
 */
#ifndef BRAID_SCHEDULER_H
#define BRAID_SCHEDULER_H

#include "fixed.h"

#define BRAID_SCHEDULER_LAYOUT_VERSION 2
#define BRAID_MAX_PATHS 8
#define BRAID_SCHEDULER_BYTES 1024
#define BRAID_NO_PATH BRAID_MAX_PATHS
#define BRAID_NO_SSTHRESH 0x7fffffffu

/* braid_path.flags */
#define BRAID_PATH_USABLE \
	1u /* established at both levels, and has not failed: a timeout with nothing acknowledged since */
#define BRAID_PATH_BACKUP 2u /* for use only when no other is usable */
#define BRAID_PATH_ROOM 4u /* cwnd, pacing, subflow window and what is queued already let another packet be sent now */
#define BRAID_PATH_MEMORY 8u        /* its send buffer takes more, whether it can be sent now or not */
#define BRAID_PATH_LOSS 16u         /* repairs what a retransmission timeout has shown */
#define BRAID_PATH_OPEN 32u         /* neither reduces its window nor repairs anything */
#define BRAID_PATH_STALE 64u        /* timed out again and again with nothing acknowledged since */
#define BRAID_PATH_ESTABLISHED 128u /* established at both levels, whether it has failed or not */

/* A path of the connection: a subflow as its scheduler sees it. */
struct braid_path {
	u32 flags;       /* BRAID_PATH_USABLE | ... */
	u32 mss;         /* payload bytes per packet */
	u32 srtt_us;     /* smoothed RTT (RFC 6298); 0: no sample yet */
	u32 rttvar_us;   /* RTT variation (RFC 6298) */
	u32 mdev_max_us; /* the same as Linux keeps it: a slow maximum, at least 200 ms */
	u32 last_rtt_us; /* latest RTT sample; 0: no sample yet */
	u32 cwnd;        /* congestion window */
	u32 ssthresh;    /* BRAID_NO_SSTHRESH before the first loss */
	u32 in_flight;   /* packets believed to be in the network */
	u32 queued;      /* packets given to it and not yet sent */
	u32 behind;      /* packets that others have sent, that are not acknowledged, and that it has not carried yet */
	u32 reserved;
	u64 memory;      /* bytes of its send buffer in use: sent or not, and not acknowledged */
	u64 pacing_rate; /* at which it sends: its algorithm's, or what Linux derives from cwnd and srtt */
};

/* braid_paths.flags */
#define BRAID_NEW_DATA 1u       /* the segment in question is new, and the receive window takes it */
#define BRAID_REINJECTION 2u    /* it was sent before, on a path that has failed or gone */
#define BRAID_WINDOW_BLOCKED 4u /* on_blocked: new data do not fit the receive window */
#define BRAID_MEMORY_BLOCKED \
	8u /* on_blocked: the application waits for room in the send buffer, and all of it was sent */
#define BRAID_MEMORY_LEFT 16u /* on_blocked: of which there is some, but not enough for it to go on */

/* A connection: what is to be sent, and the paths it can be sent on. */
struct braid_paths {
	u64 now_us;
	u32 flags;         /* BRAID_NEW_DATA | ... */
	u32 n;             /* indices in use: 1 to BRAID_MAX_PATHS */
	u32 self;          /* the path that on_join, on_rtt and on_blocked are about */
	u32 segment;       /* payload bytes of the segment in question */
	u32 carriers;      /* set of paths that have carried it */
	u32 head_carriers; /* set of paths that have carried the oldest unacknowledged segment; 0: there is none */
	u64 window;        /* bytes: the receive window from the oldest unacknowledged byte on */
	u64 window_left;   /* bytes of it beyond what was sent */
	u64 unassigned;    /* bytes that the application has written and no path was given */
	struct braid_path path[BRAID_MAX_PATHS];
};

/* braid_choice.flags */
#define BRAID_COPY 1u         /* not the segment in question but the oldest that the path is behind with */
#define BRAID_QUEUE 2u        /* the paths may be given more than they can send now: it waits there */
#define BRAID_FORGET 4u       /* all paths have carried the segment: it counts as carried by none */
#define BRAID_RECALL 8u       /* take back what is queued and not sent, and ask again */
#define BRAID_RESEND_HEAD 16u /* on_blocked: send the oldest unacknowledged segment on path self */
#define BRAID_NO_REMEDY 32u   /* on_blocked: nothing is ever done about it, so that this need not be asked again */
/* On_blocked: where path self has carried the segment, nothing is done until its srtt_us has passed since wake_us ago, nor while none
 * that has carried it has a larger one. The same goes where only others have, as long as they are the same, self's srtt_us is not
 * less than that of the choice, which is not 0, and each of them has at least the cwnd of now, and at most the larger srtt_us of
 * self's and its own of now. */
#define BRAID_ONCE_PER_RTT 64u

/* What is to be done. All zero: wait, until something changes. */
struct braid_choice {
	u32 paths;   /* set of paths that get the segment; several get a copy each */
	u32 packets; /* how many of the following segments the same choice is for; 0: until a path is full */
	u32 flags;
	u32 wake_us; /* without a path: ask again after this time at the latest; 0: when something changes */
	u32 srtt_us; /* see BRAID_ONCE_PER_RTT */
	u32 cwnd[BRAID_MAX_PATHS]; /* on_blocked: a smaller window for that path; 0: none */
	u32 ssthresh[BRAID_MAX_PATHS];
};

/* Flags of a scheduler. */
#define BRAID_QUEUES 1u /* gives paths more than they can send at once */
#define BRAID_COPIES 2u /* sends segments on several paths */
#define BRAID_MAINLINE \
	8u /* works on the data level of unmodified Linux: pieces of 32 KiB, one sent once more at a time */
/* Its choice is among ready paths, and depends on srtt, flags and carriers only: it stands while these do. New data go to the
 * one with the smallest srtt, of equals the first, where no backup is ready: it need not be asked then. On_blocked looks at the time, cwnd and ssthresh
 * as well, and need not be told where no path but self has carried the oldest unacknowledged segment. */
#define BRAID_BY_SRTT 4u

/* Parameters: as in braid.h. P(name, default, min, max, scale, unit, help) */
#define BRAID_SCHEDULER_FIELD(name, initial, low, high, scale, unit, help) u32 name;
#define BRAID_SCHEDULER_PARAMS(scheduler, table) \
	struct scheduler##_params {              \
		table(BRAID_SCHEDULER_FIELD)     \
	}

/* Iterates over the set: the statement that follows is run with each path i in it. */
#define braid_for_each_path(i, set)                 \
	for ((i) = 0; (i) < BRAID_MAX_PATHS; (i)++) \
		if ((set) >> (i) & 1)

/* The paths with all flags of `with` and none of `without`. */
braid_inline u32 braid_paths_with(const struct braid_paths *view, u32 with, u32 without)
{
	u32 i, set = 0;

	for (i = 0; i < BRAID_MAX_PATHS && i < view->n; i++)
		set |= (u32)((view->path[i].flags & (with | without)) == with) << i;
	return set;
}

/* Of a set the path whose rank is smallest, of several the first; BRAID_NO_PATH if the set is empty. */
braid_inline u32 braid_first(u32 set, const u64 *rank)
{
	u32 i, best = BRAID_NO_PATH;
	u64 least = 0;

	braid_for_each_path(i, set)
	{
		if (best == BRAID_NO_PATH || rank[i] < least) {
			best = i;
			least = rank[i];
		}
	}
	return best;
}

/* The paths that can take the segment now. */
braid_inline u32 braid_ready(const struct braid_paths *view)
{
	return braid_paths_with(view, BRAID_PATH_USABLE | BRAID_PATH_ROOM, BRAID_PATH_LOSS);
}

/*
 * What all schedulers of the multipath-tcp.org kernels have in common: among the `ready` paths those first that have not
 * carried the segment; backup paths only if no other is usable for it at all, not if one is busy just now; and if every
 * path has carried it, it counts as new. Of those that are left, the one with the smallest rank.
 */
braid_inline u32 braid_choose(const struct braid_paths *view, u32 ready, const u64 *rank, struct braid_choice *choice)
{
	u32 regular = braid_paths_with(view, BRAID_PATH_USABLE, BRAID_PATH_BACKUP);
	u32 backup = braid_paths_with(view, BRAID_PATH_USABLE | BRAID_PATH_BACKUP, 0);
	u32 fresh = ~view->carriers;

	if (!(regular & fresh) && !(backup & fresh)) {
		choice->flags |= BRAID_FORGET;
		fresh = ~0u;
	}
	return braid_first(ready & fresh & (regular & fresh ? regular : backup), rank);
}

/* Gives the segment to a path, or waits. */
braid_inline void braid_send(struct braid_choice *choice, u32 path, u32 packets)
{
	if (path == BRAID_NO_PATH)
		return;
	choice->paths = 1u << (path & 31);
	choice->packets = packets;
}

/* BRAID_SCHEDULER(name, params table, flags, on_choose, on_join, on_rtt, on_blocked) at the end of a scheduler's file
 * makes it known to the host that compiles it: each host brings a scheduler_host.h of its own on the include path.
 * BRAID_IGNORE stands for an event that the scheduler does not care about. */
#include "scheduler_host.h"

#endif
