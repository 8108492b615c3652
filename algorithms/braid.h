/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The contract between a congestion control algorithm and its host (kernel, simulator or QUIC).
 *
 * An algorithm is a set of transition functions over plain memory, one per event, all of the same form:
 *
 *	void X_on_EVENT(struct braid_view *view, struct X_private *priv, const struct X_params *params,
 *			const struct braid_event *event);
 *
 * It may read the whole view. It may write its private memory and, of its own subflow (braid_self), cwnd, ssthresh,
 * pacing_rate and the public words that its struct declares. It leaves cwnd within 1 and cwnd_clamp, ssthresh within 1
 * and BRAID_SSTHRESH_INFINITE. To influence a sibling, it publishes a word that the sibling applies at its own
 * next event.
 *
 * Units: windows in packets of one MSS, times in microseconds, rates in bytes per second.
 *
 * The C subset: freestanding, -fwrapv -fno-strict-aliasing, static inline, at most five arguments, loops bounded by
 * BRAID_MAX_SUBFLOWS, no floats, no globals, no function pointers, no host code; operations that can trap or differ
 * between targets only through fixed.h.
 */
#ifndef BRAID_H
#define BRAID_H

#include "fixed.h"

#define BRAID_LAYOUT_VERSION 1
#define BRAID_MAX_SUBFLOWS 8
/* Public state: with the host's identity word in front it fills the kernel's icsk_ca_priv, 13 words. */
#define BRAID_PUBLIC_WORDS 12
#define BRAID_PRIVATE_BYTES 2048
#define BRAID_SSTHRESH_INFINITE 0x7fffffffu

/* Congestion states, numbered as the kernel's TCP_CA_*. */
enum braid_ca_state {
	BRAID_OPEN = 0,     /* nothing lost, nothing out of order */
	BRAID_DISORDER = 1, /* some packets selectively acknowledged or retransmitted, none marked lost */
	BRAID_CWR = 2,      /* reducing after an ECN echo */
	BRAID_RECOVERY = 3, /* fast retransmit and fast recovery */
	BRAID_LOSS = 4,     /* after a retransmission timeout */
};

/* braid_subflow.flags */
#define BRAID_ELIGIBLE 1u       /* established, may send, has an RTT sample: counts in sums and maxima */
#define BRAID_SAME_ALGORITHM 2u /* its public words have the layout of self's */
#define BRAID_BACKUP 4u         /* used only if no other subflow can be */

/* State of a subflow. Three cache lines; the first has the fields of every event. */
struct braid_subflow {
	u32 cwnd;         /* written by self */
	u32 ssthresh;     /* written by self; BRAID_SSTHRESH_INFINITE before the first loss */
	u32 ca_state;     /* enum braid_ca_state */
	u32 flags;        /* BRAID_ELIGIBLE | ... */
	u32 srtt_us;      /* smoothed RTT (RFC 6298); 0: no sample yet */
	u32 min_rtt_us;   /* smallest RTT of the last 300 s; 0: no sample yet */
	u32 last_rtt_us;  /* latest RTT sample; 0: no sample yet */
	u32 mss;          /* payload bytes per packet */
	u32 in_flight;    /* packets believed to be in the network */
	u32 prior_cwnd;   /* cwnd at the start of the present or latest reduction */
	u32 cwnd_clamp;   /* upper bound of cwnd */
	u32 delivered;    /* packets delivered so far (acknowledged or selectively acknowledged); wraps */
	u32 delivered_ce; /* delivered packets with a congestion mark; wraps */
	u32 lost;         /* packets marked lost so far; wraps */
	u32 id;           /* stable within the connection, from 1 in order of creation */
	u32 hint;         /* hint of the host: subflows with the same number, not 0, share a bottleneck; 0: no hint */
	u64 snd_una;      /* bytes acknowledged, from the start of the subflow */
	u64 snd_nxt;      /* bytes sent, from the start of the subflow */
	u64 last_ack_us;  /* time of the latest delivery */
	u64 pacing_rate;  /* payload bytes/s, written by self; 0: the host decides */
	u64 public_words[BRAID_PUBLIC_WORDS];
};

/* A connection: subflow[0..n-1] in order of creation; self is the event's subflow. When a subflow leaves, a kernel's
 * list closes up: indices are valid for one call, and memory about a sibling must use its id. */
struct braid_view {
	u64 connection; /* identifies the connection on its host */
	u32 n;          /* 1 to BRAID_MAX_SUBFLOWS; 1 for plain TCP */
	u32 self;       /* index of the event's subflow */
	struct braid_subflow subflow[BRAID_MAX_SUBFLOWS];
};

/* Events, in the order in which a host delivers those of one acknowledgement. */
enum braid_event_type {
	BRAID_INIT = 0,            /* the algorithm starts on a subflow; public and private memory are zero */
	BRAID_RELEASE = 1,         /* the subflow closes or changes its algorithm */
	BRAID_ON_LOSS = 2,         /* a congestion episode begins: set ssthresh; the host moves cwnd towards it.
				 * With BRAID_OWNS_CWND also at a timeout within an episode */
	BRAID_ON_RECOVERED = 3,    /* an episode ended: the host has set cwnd and ssthresh, which may be changed */
	BRAID_ON_ACK = 4,          /* once per ACK, after the RTT sample and the two above */
	BRAID_ON_IDLE_RESTART = 5, /* about to send with nothing in flight */
};

/* braid_event.cause of BRAID_ON_LOSS */
#define BRAID_CAUSE_FAST_RETRANSMIT 1u
#define BRAID_CAUSE_RTO 2u /* the host sets cwnd to 1 afterwards, unless BRAID_OWNS_CWND */
#define BRAID_CAUSE_ECN 3u

/* braid_event.cause of BRAID_ON_RECOVERED */
#define BRAID_CAUSE_EXIT 1u /* all data of the episode is acknowledged: cwnd is ssthresh (after an RTO: as grown) */
#define BRAID_CAUSE_UNDO 2u /* the loss was spurious: cwnd and ssthresh are restored */

/* braid_event.flags */
#define BRAID_ACK_ECE 1u          /* the ACK echoes congestion */
#define BRAID_ACK_CWND_LIMITED 2u /* the window was full in the last round: growth is justified */
#define BRAID_ACK_HAS_OWD 4u      /* owd_us is valid */
#define BRAID_ACK_APP_LIMITED 8u  /* the rate sample, or data after an idle time, is application-limited */
#define BRAID_IDLE_DECAYED 16u    /* idle for longer than the RTO: the host has reduced cwnd */

struct braid_event {
	u64 now_us;
	u32 type;  /* enum braid_event_type */
	u32 cause; /* of a loss or a recovery */
	u32 flags;
	u32 acked; /* packets newly delivered by this ACK, cumulative and selective */
	u32 grow;  /* number of them that may grow the window: 0 in CWR and Recovery, or if snd_una did not advance */
	u32 acked_bytes; /* bytes by which snd_una advanced */
	u32 rtt_us;      /* RTT of the latest segment delivered by this ACK; 0: none */
	u32 idle_us;     /* BRAID_ON_IDLE_RESTART: time since the last transmission */
	s32 owd_us;      /* one-way delay, receiver's clock minus sender's: differences only */
	/* Rate sample, for algorithms that set BRAID_WANTS_RATE; rate_interval_us is 0 without a sample. */
	u32 rate_delivered;       /* packets delivered during the interval */
	u32 rate_interval_us;     /* length of the interval */
	u32 rate_prior_delivered; /* braid_subflow.delivered when the acknowledged packet was sent */
	u32 rate_losses;          /* packets marked lost by this ACK */
	u32 prior_in_flight;      /* in_flight before this ACK */
};

/* Flags of an algorithm. Without those that leave something out it may read everything but rate sample and owd_us. What it
 * reads against its flags is found by changing it, and refused: in the tree by a test, in other files before they run. */
#define BRAID_WANTS_RATE 1u /* fill in the rate sample */
#define BRAID_OWNS_CWND 2u  /* rate-based: the algorithm sets cwnd in every state, no PRR, no cwnd = 1; always paced */
#define BRAID_UNCOUPLED 4u  /* reads no siblings: its host need not find them */
#define BRAID_DETECTS 8u    /* detects shared bottlenecks: its label is in BRAID_VERDICT_WORD */
#define BRAID_WANTS_OWD 16u /* fill in owd_us if the host can */
/* It reads only these fields of siblings: id, cwnd, ssthresh, ca_state, srtt_us, mss, snd_una, the public words,
 * BRAID_ELIGIBLE and BRAID_SAME_ALGORITHM. Its host may leave out the rest. */
#define BRAID_RATES_OF_SIBLINGS 32u
/* Its on_ack ignores ACKs with grow = 0 (and cwnd not above cwnd_clamp), and reads only these event fields: now_us,
 * grow and BRAID_ACK_CWND_LIMITED. Its host may deliver no other ACKs, and leave out the rest. */
#define BRAID_GROWTH_ONLY 64u
/* With BRAID_RATES_OF_SIBLINGS: it also reads siblings' min_rtt_us, last_ack_us and hint. */
#define BRAID_PATHS_OF_SIBLINGS 128u
/* With BRAID_RATES_OF_SIBLINGS: it does not read this field of siblings either. */
#define BRAID_NO_ID_OF_SIBLINGS 256u
#define BRAID_NO_MSS_OF_SIBLINGS 512u
#define BRAID_NO_BYTES_OF_SIBLINGS 1024u /* snd_una */
/* It reads only these fields of its own subflow: cwnd, ssthresh, ca_state, srtt_us, mss, snd_una, cwnd_clamp, the public
 * words, BRAID_ELIGIBLE and BRAID_SAME_ALGORITHM; and not the view's connection. Its host may leave out the rest. */
#define BRAID_RATES_OF_SELF 2048u
/* Its public words below BRAID_VERDICT_WORD are neither read nor written. */
#define BRAID_NO_LOW_WORDS 4096u
/* Its on_idle_restart neither reads nor writes the view. Its host may deliver it without one. */
#define BRAID_RESTARTS_UNSEEN 8192u
/* It may write pacing_rate without BRAID_OWNS_CWND, to send less than a window of 1 does. Linux computes the rate again after
 * each ACK: the one of the latest on_idle_restart counts. */
#define BRAID_PACES 16384u

/*
 * The label of an algorithm that detects shared bottlenecks, for its own subflow: in the lower 16 bits the group of
 * subflows that share a bottleneck, 0 for none; above them the time of the latest change. Group numbers have no meaning
 * beyond equality. Lower words are for the algorithm's reaction, higher ones for the detector.
 */
#define BRAID_VERDICT_WORD 4
#define BRAID_GROUP_BITS 16

/*
 * Parameters: one table per algorithm defines the struct, the command-line help, the schema and the page.
 *	P(name, default, min, max, scale, unit, help)
 * Every parameter is a u32. Users write real numbers: 0.7 at scale 1024 becomes 717. For a choice the scale is 1 and
 * the unit lists the names, "exact|jiffies|usec", numbered from 0.
 */
#define BRAID_PARAM_FIELD(name, initial, low, high, scale, unit, help) u32 name;
#define BRAID_PARAMS(algorithm, table)   \
	struct algorithm##_params {      \
		table(BRAID_PARAM_FIELD) \
	}
#define BRAID_NO_PARAMS(P)
/* For the defaults of a table that is not the algorithm's own: struct X_params params = { X_PARAMS(BRAID_PARAM_INITIAL) }. */
#define BRAID_PARAM_INITIAL(name, initial, low, high, scale, unit, help) .name = (initial),

braid_inline struct braid_subflow *braid_self(struct braid_view *view)
{
	return &view->subflow[view->self & (BRAID_MAX_SUBFLOWS - 1)];
}

#define BRAID_PUBLIC(algorithm, subflow) ((struct algorithm##_public *)(subflow)->public_words)

/* The eligible subflows as a set: bit i stands for subflow[i]. */
braid_inline u32 braid_eligible(const struct braid_view *view)
{
	u32 i, set = 0;

	for (i = 0; i < BRAID_MAX_SUBFLOWS && i < view->n; i++) {
		const struct braid_subflow *subflow = &view->subflow[i];

		set |= (subflow->flags & BRAID_ELIGIBLE & braid_below32(0, subflow->srtt_us)) << i;
	}
	return set;
}

/* Iterates over the set: runs the following statement with each i in it. The set is evaluated once. */
#define braid_for_each(i, set)                                                                        \
	for (u32 braid_set_ = ((i) = 0, (set)); (i) < BRAID_MAX_SUBFLOWS && braid_set_ >> (i); (i)++) \
		if (braid_set_ >> (i) & 1)

braid_inline u32 braid_size(u32 set)
{
	/* Adds adjacent pairs of two, four and eight bits. */
	set -= set >> 1 & 0x55;
	set = (set & 0x33) + (set >> 2 & 0x33);
	return (set + (set >> 4)) & 0xf;
}

/* Whether self is one of several eligible subflows. If not, every coupled algorithm equals its single-path base. */
braid_inline u32 braid_is_coupled(const struct braid_view *view, u32 eligible)
{
	return eligible >> (view->self & (BRAID_MAX_SUBFLOWS - 1)) & 1 && (eligible & (eligible - 1));
}

/* cwnd is on its way down to ssthresh. */
braid_inline u32 braid_is_reducing(const struct braid_subflow *subflow)
{
	return subflow->ca_state == BRAID_CWR || subflow->ca_state == BRAID_RECOVERY;
}

/* The window that counts in sums over subflows: recovery's target, not its present value (RFC 6356 sect. 3). */
braid_inline u32 braid_window(const struct braid_subflow *subflow)
{
	return braid_max32(braid_is_reducing(subflow) ? subflow->ssthresh : subflow->cwnd, 1);
}

braid_inline u32 braid_in_slow_start(const struct braid_subflow *self)
{
	return self->cwnd < self->ssthresh;
}

/* Slow start: one packet per packet acknowledged, up to ssthresh. Returns the packets left for congestion avoidance. */
braid_inline u32 braid_slow_start(struct braid_subflow *self, u32 acked)
{
	u64 cwnd = braid_min((u64)self->cwnd + acked, self->ssthresh);
	u32 used = (u32)cwnd - self->cwnd;

	self->cwnd = braid_min32((u32)cwnd, self->cwnd_clamp);
	return acked - used;
}

/* The packets of an ACK that remain for congestion avoidance, after the steps of every loss-based algorithm: no growth
 * unless the window was the limit, and slow start takes its share. */
braid_inline u32 braid_acked_in_avoidance(struct braid_subflow *self, const struct braid_event *event)
{
	if (!(event->flags & BRAID_ACK_CWND_LIMITED))
		return 0;
	return braid_in_slow_start(self) ? braid_slow_start(self, event->grow) : event->grow;
}

/* Fractions of a packet below have 32 bits: BRAID_ONE is one packet. */
#define BRAID_ONE (1ull << 32)

/* 1/w, rounded up so that w increments make a whole packet. */
braid_inline u64 braid_reno_increase(u32 window)
{
	return braid_div_up(BRAID_ONE, braid_max32(window, 1));
}

/*
 * Adds acked * increase (32 fraction bits, may be negative) to cwnd. *carry keeps the fraction of a packet, so that no
 * truncation accumulates. Keeps 1 <= cwnd <= cwnd_clamp. Safe for |increase| * acked < 2^62.
 */
braid_inline void braid_grow(struct braid_subflow *self, s64 *carry, s64 increase, u32 acked)
{
	s64 sum = *carry + increase * (s64)acked;
	s64 whole = sum >> 32; /* towards minus infinity: the carry stays within [0, 1) */
	s64 cwnd = (s64)self->cwnd + whole;

	*carry = sum - (whole << 32);
	if (cwnd < 1) {
		cwnd = 1;
		*carry = 0;
	}
	self->cwnd = (u32)braid_min((u64)cwnd, self->cwnd_clamp);
}

/* Adds one packet to cwnd for each `window` packets acknowledged, as Linux does: in whole packets, *count being those that
 * wait for more. What a larger window left waiting is worth one. */
braid_inline void braid_count(struct braid_subflow *self, u32 *count, u64 window, u32 acked)
{
	u64 cwnd = self->cwnd, waiting = *count, packets;

	window = braid_max(window, 1);
	if (waiting >= window) {
		waiting = 0;
		cwnd++;
	}
	waiting += acked;
	packets = braid_div(waiting, window);
	*count = (u32)(waiting - packets * window);
	self->cwnd = (u32)braid_min(cwnd + packets, self->cwnd_clamp);
}

/* Makes ssthresh a window with 32 fraction bits, not under floor packets. The fraction is carried, for cwnd follows. */
braid_inline void braid_reduce(struct braid_subflow *self, s64 *carry, u64 window, u32 floor)
{
	window = braid_max(window, (u64)floor << 32);
	self->ssthresh = (u32)(window >> 32);
	*carry = (s64)(window & BRAID_U32_MAX);
}

/* The window with the fraction that is carried, 32 fraction bits. */
braid_inline u64 braid_exact_window(const struct braid_subflow *self, s64 carry)
{
	return ((u64)self->cwnd << 32) + (u64)carry;
}

/* Halves the window and its fraction, not under floor packets. A small window would otherwise lose half a packet at a
 * loss: 6 to 14 % of its mean. */
braid_inline void braid_halve(struct braid_subflow *self, s64 *carry, u32 floor)
{
	braid_reduce(self, carry, braid_exact_window(self, *carry) >> 1, floor);
}

/* Half the window in whole packets, not under 2 (RFC 5681 eq. 4, Linux). */
braid_inline u32 braid_half(u32 window)
{
	return braid_max32(window >> 1, 2);
}

/* BRAID_ALGORITHM(name, params table, flags, init, release, on_ack, on_loss, on_recovered, on_idle_restart) at the end
 * of an algorithm's file registers it with the host that compiles it: each host has its own host.h on the include path.
 * BRAID_IGNORE marks an ignored event. */
#include "host.h"

#endif
