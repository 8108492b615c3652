/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The contract between a packet scheduler and its host (simulator or kernel module).
 *
 * A scheduler is a set of transition functions over plain memory, one per event, all of the same form:
 *
 *	void X_on_EVENT(const struct braid_paths *view, struct X_private *priv, const struct X_params *params,
 *			struct braid_choice *choice);
 *
 * It reads the view, which its host fills in before each event. It writes its private memory, of which there is one per
 * connection, and the choice, which its host clears before. A path keeps its index while it exists; BRAID_PATH_JOINED
 * means that a new path has the index.
 *
 * Units: packets of one MSS, times in microseconds, rates in bytes per second, everything else in bytes.
 *
 * The C subset is braid.h's: freestanding, static inline, loops with fixed bounds, no floats, no globals, no host code;
 * operations that can trap or differ between targets only through fixed.h.
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
	1u /* established at both levels and not failed (a timeout without an acknowledgement since) */
#define BRAID_PATH_BACKUP 2u        /* used only if no other is usable */
#define BRAID_PATH_ROOM 4u          /* cwnd, pacing, subflow window and queued data allow another packet now */
#define BRAID_PATH_MEMORY 8u        /* its send buffer has room, whether it can send now or not */
#define BRAID_PATH_LOSS 16u         /* recovering from a retransmission timeout */
#define BRAID_PATH_OPEN 32u         /* neither reducing its window nor recovering */
#define BRAID_PATH_STALE 64u        /* repeatedly timed out without an acknowledgement since */
#define BRAID_PATH_ESTABLISHED 128u /* established at both levels, failed or not */

/* A path of the connection: a subflow's state for schedulers. */
struct braid_path {
	u32 flags;       /* BRAID_PATH_USABLE | ... */
	u32 mss;         /* payload bytes per packet */
	u32 srtt_us;     /* smoothed RTT (RFC 6298); 0: no sample yet */
	u32 rttvar_us;   /* RTT variation (RFC 6298) */
	u32 mdev_max_us; /* Linux's version of it: a slow maximum, at least 200 ms */
	u32 last_rtt_us; /* latest RTT sample; 0: no sample yet */
	u32 cwnd;        /* congestion window */
	u32 ssthresh;    /* BRAID_NO_SSTHRESH before the first loss */
	u32 in_flight;   /* packets believed to be in the network */
	u32 queued;      /* packets assigned to it and not yet sent */
	u32 behind;      /* unacknowledged packets that others have sent and this path has not */
	u32 reserved;
	u64 memory;      /* used bytes of its send buffer: sent or not, and not acknowledged */
	u64 pacing_rate; /* its algorithm's, or Linux's value from cwnd and srtt */
};

/* braid_paths.flags */
#define BRAID_NEW_DATA 1u       /* the segment is new, and fits the receive window */
#define BRAID_REINJECTION 2u    /* the segment was sent before, on a path that has failed or gone */
#define BRAID_WINDOW_BLOCKED 4u /* on_blocked: new data does not fit the receive window */
#define BRAID_MEMORY_BLOCKED \
	8u                    /* on_blocked: the application waits for room in the send buffer, and all data was sent */
#define BRAID_MEMORY_LEFT 16u /* on_blocked: the send buffer has some room, but the application waits for more */

/* A connection: data to be sent, and its paths. */
struct braid_paths {
	u64 now_us;
	u32 flags;         /* BRAID_NEW_DATA | ... */
	u32 n;             /* indices in use: 1 to BRAID_MAX_PATHS */
	u32 self;          /* the path of on_join, on_rtt and on_blocked */
	u32 segment;       /* payload bytes of the segment to be scheduled */
	u32 carriers;      /* set of paths that have sent it */
	u32 head_carriers; /* set of paths that have sent the oldest unacknowledged segment; 0: there is none */
	u64 window;        /* bytes: the receive window from the oldest unacknowledged byte on */
	u64 window_left;   /* bytes of it beyond the sent data */
	u64 unassigned;    /* bytes that the application has written and no path has got */
	struct braid_path path[BRAID_MAX_PATHS];
};

/* braid_choice.flags */
#define BRAID_COPY 1u         /* instead of the segment, the oldest one that the path has not sent */
#define BRAID_QUEUE 2u        /* the paths may get more than they can send now: it waits there */
#define BRAID_FORGET 4u       /* all paths have sent the segment: mark it as sent by none */
#define BRAID_RECALL 8u       /* take back queued data, and call again */
#define BRAID_RESEND_HEAD 16u /* on_blocked: send the oldest unacknowledged segment on path self */
#define BRAID_NO_REMEDY 32u   /* on_blocked: no remedy at any time: need not be called again */
/* On_blocked: at most one retransmission per RTT of `self`. If path self has sent the segment, nothing is done until
 * its srtt_us has passed since (now - wake_us), and while no path that has sent it has a larger srtt. If only others
 * have sent it, the decision is valid while these are the same, self's srtt_us is at least the choice's (which is not
 * 0), and each of them has at least its present cwnd and at most the larger of self's and its own present srtt_us. */
#define BRAID_ONCE_PER_RTT 64u

/* A decision. All zero: wait for a change. */
struct braid_choice {
	u32 paths;   /* set of paths that get the segment; several get a copy each */
	u32 packets; /* number of segments that the decision is for; 0: until a path is full */
	u32 flags;
	u32 wake_us;               /* without a path: call again after this time at the latest; 0: after a change */
	u32 srtt_us;               /* see BRAID_ONCE_PER_RTT */
	u32 cwnd[BRAID_MAX_PATHS]; /* on_blocked: a smaller window for each path; 0: unchanged */
	u32 ssthresh[BRAID_MAX_PATHS];
};

/* Flags of a scheduler. */
#define BRAID_QUEUES 1u   /* assigns paths more than they can send at once */
#define BRAID_COPIES 2u   /* sends segments on several paths */
#define BRAID_MAINLINE 8u /* works on unmodified Linux's data level: pieces of 32 KiB, one reinjected at a time */
/* Stateless: depends only on srtt, flags and paths that have sent the segment. The host may cache the result, and need
 * not call it for new data without a ready backup (they go to the ready path with the smallest srtt, of equals the
 * first). On_blocked also reads the time, cwnd and ssthresh; it need not be called if only path self has sent the
 * oldest unacknowledged segment. */
#define BRAID_BY_SRTT 4u

/* Parameters: as in braid.h. P(name, default, min, max, scale, unit, help) */
#define BRAID_SCHEDULER_FIELD(name, initial, low, high, scale, unit, help) u32 name;
#define BRAID_SCHEDULER_PARAMS(scheduler, table) \
	struct scheduler##_params {              \
		table(BRAID_SCHEDULER_FIELD)     \
	}

/* Iterates over the set: runs the following statement with each path i in it. */
#define braid_for_each_path(i, set)                 \
	for ((i) = 0; (i) < BRAID_MAX_PATHS; (i)++) \
		if ((set) >> (i) & 1)

/* The paths that have all flags of `with` and no flag of `without`. */
braid_inline u32 braid_paths_with(const struct braid_paths *view, u32 with, u32 without)
{
	u32 i, set = 0;

	for (i = 0; i < BRAID_MAX_PATHS && i < view->n; i++)
		set |= (u32)((view->path[i].flags & (with | without)) == with) << i;
	return set;
}

/* The path of a set with the smallest rank, of equals the first; BRAID_NO_PATH if the set is empty. */
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

/* Those of the `ready` paths that may get the segment, among the `usable` ones with and without priority. `fresh` are
 * those that have not sent it. `is_final`: no path is left to try if the result is empty. */
braid_inline u32 braid_candidates(u32 ready, u32 usable, u32 fresh, u32 *is_final)
{
	u32 unused = ready & usable & fresh, used = ready & usable & ~fresh;

	*is_final = unused || (!used && usable & fresh);
	return unused;
}

/*
 * Common rule of the schedulers of the multipath-tcp.org kernels: of the `ready` paths, first those that have not sent
 * the segment, and wait for a busy one of these if no path at all is ready. If all ready paths have sent it, or no other
 * is usable, backup paths follow by the same rule; then the segment counts as new. Backup paths get new segments only if
 * no other path is usable. Among the rest, the path with the smallest rank.
 */
braid_inline u32 braid_choose(const struct braid_paths *view, u32 ready, const u64 *rank, struct braid_choice *choice)
{
	u32 regular = braid_paths_with(view, BRAID_PATH_USABLE, BRAID_PATH_BACKUP);
	u32 backup = braid_paths_with(view, BRAID_PATH_USABLE | BRAID_PATH_BACKUP, 0);
	u32 fresh = ~view->carriers, is_final, set;

	set = braid_candidates(ready, regular, fresh, &is_final);
	if (!is_final)
		set = braid_candidates(ready, backup, fresh, &is_final);
	if (!is_final) {
		choice->flags |= BRAID_FORGET;
		set = ready & (regular ? regular : backup);
	}
	return braid_first(set, rank);
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
 * registers it with the host that compiles it: each host has its own scheduler_host.h on the include path. BRAID_IGNORE
 * marks an ignored event. */
#include "scheduler_host.h"

#endif
