/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Braid's congestion control algorithms for transport stacks in C11 and C++17.
 *
 * A connection has an algorithm and up to eight paths. At each event of a path the stack writes what it knows into the
 * connection's paths, calls braid_cc_event, and reads what the algorithm has decided for that path: cwnd, ssthresh and
 * pacing_rate. Windows are in packets, times in microseconds, rates in bytes per second. A connection is used by one
 * thread at a time; different connections are independent.
 */
#ifndef BRAID_CC_H
#define BRAID_CC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BRAID_CC_PATHS 8
#define BRAID_CC_SSTHRESH_INFINITE 0x7fffffffu

/* Of braid_cc_path.flags. */
#define BRAID_CC_USABLE 1u /* established, has an RTT sample: counts in sums */
#define BRAID_CC_BACKUP 4u

/* A path. The layout is that of struct braid_subflow in braid.h, which says more of each field. */
struct braid_cc_path {
	uint32_t cwnd;         /* written by the algorithm */
	uint32_t ssthresh;     /* written by the algorithm; infinite before the first loss */
	uint32_t ca_state;     /* 0 open, 1 disorder, 2 reducing after ECN, 3 recovery, 4 after a timeout */
	uint32_t flags;        /* BRAID_CC_USABLE and so on */
	uint32_t srtt_us;      /* 0: no sample yet */
	uint32_t min_rtt_us;   /* of the last 300 s; 0: no sample yet */
	uint32_t last_rtt_us;  /* latest sample */
	uint32_t mss;          /* payload bytes per packet */
	uint32_t in_flight;    /* packets in the network */
	uint32_t prior_cwnd;   /* cwnd when the latest reduction began */
	uint32_t cwnd_clamp;   /* upper bound of cwnd */
	uint32_t delivered;    /* packets delivered so far; wraps */
	uint32_t delivered_ce; /* those that were congestion-marked; wraps */
	uint32_t lost;         /* packets marked lost so far; wraps */
	uint32_t id;           /* set by braid_cc_join */
	uint32_t hint;         /* paths of one number, not 0, share a bottleneck */
	uint64_t snd_una;      /* bytes acknowledged so far */
	uint64_t snd_nxt;      /* bytes sent so far */
	uint64_t last_ack_us;  /* time of the latest delivery */
	uint64_t pacing_rate;  /* written by algorithms that own the window; 0: the stack decides */
	uint64_t words[12];    /* the algorithm's own */
};

enum braid_cc_type {
	BRAID_CC_LOSS = 2, /* an episode begins; cause: 1 fast retransmit, 2 timeout, 3 ECN. Then ssthresh is set */
	BRAID_CC_RECOVERED = 3,    /* it ended; cause: 1 all is acknowledged, 2 it was spurious */
	BRAID_CC_ACK = 4,          /* once per ACK, after the two above */
	BRAID_CC_IDLE_RESTART = 5, /* about to send with nothing in flight */
};

/* Of braid_cc_event.flags. */
#define BRAID_CC_ECE 1u          /* the ACK echoes congestion */
#define BRAID_CC_CWND_LIMITED 2u /* the window was full in the last round: growth is justified */
#define BRAID_CC_HAS_OWD 4u      /* owd_us is valid */
#define BRAID_CC_APP_LIMITED 8u  /* the rate sample is the application's limit */
#define BRAID_CC_DECAYED 16u     /* idle for longer than the RTO: the stack has reduced cwnd */

/* An event. The layout is that of struct braid_event in braid.h. */
struct braid_cc_event {
	uint64_t now_us;
	uint32_t type; /* enum braid_cc_type */
	uint32_t cause;
	uint32_t flags;
	uint32_t acked;       /* packets newly delivered */
	uint32_t grow;        /* how many of them may grow the window: 0 in recovery */
	uint32_t acked_bytes; /* bytes by which snd_una advanced */
	uint32_t rtt_us;      /* of the latest segment delivered; 0: none */
	uint32_t idle_us;
	int32_t owd_us;
	uint32_t rate_delivered;       /* of the rate sample, for algorithms that own the window: packets ... */
	uint32_t rate_interval_us;     /* ... in that time; 0: no sample */
	uint32_t rate_prior_delivered; /* delivered when the acknowledged packet was sent */
	uint32_t rate_losses;          /* packets marked lost by this ACK */
	uint32_t prior_in_flight;      /* before this ACK */
};

typedef struct braid_cc braid_cc;

/* The names of the algorithms, from 0; null after the last. */
const char *braid_cc_name(unsigned int i);

/* A connection under an algorithm with parameters, as on the command line: "lia" or "cubic:beta=0.8:alpha=constant". Null if
 * there is no such algorithm or parameter, or no memory. */
braid_cc *braid_cc_open(const char *spec);
void braid_cc_close(braid_cc *connection);

/* Sets a parameter, as in a spec: a number in its unit, or the name of a choice. False if there is none or it is out of range. */
int braid_cc_set(braid_cc *connection, const char *key, const char *value);

/* The key of a parameter, from 0; null after the last. `help` may be null. */
const char *braid_cc_param(const braid_cc *connection, unsigned int i, const char **help);

/* 1: the algorithm owns the window in every state, paces, and wants rate samples. 0: the stack moves cwnd to ssthresh in
 * recovery, and to 1 after a timeout. */
int braid_cc_owns_window(const braid_cc *connection);

/* A new path with these windows. Returns its id, or 0 if there are eight already or no memory. */
uint32_t braid_cc_join(braid_cc *connection, uint32_t cwnd, uint32_t mss, uint64_t now_us);
void braid_cc_leave(braid_cc *connection, uint32_t id, uint64_t now_us);

/* The path of that id, for the stack to fill in and to read; until a path leaves. Null if there is none. */
struct braid_cc_path *braid_cc_path(braid_cc *connection, uint32_t id);

/* Something happened to that path. */
void braid_cc_event(braid_cc *connection, uint32_t id, const struct braid_cc_event *event);

#ifdef __cplusplus
}
#endif

#endif
