// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An example of braid_cc.h: one connection over two paths that share a bottleneck of 20 packets per millisecond with one
 * TCP, in rounds of 20 ms. A path whose round overflows the queue loses a packet. Prints what each got; with "lia" the two
 * paths together should not get more than the TCP beside them, with "cubic" they get about twice as much.
 *
 *	two_paths lia
 */
#include <braid_cc.h>
#include <stdio.h>

#define RTT_US 20000u
#define CAPACITY 400u /* packets per round */
#define QUEUE 200u
#define ROUNDS 20000u

struct flow {
	braid_cc *connection;
	uint32_t id;
	uint64_t delivered;
	int recovering;
};

/* A round: all of the window is acknowledged, and one packet is lost if `loses`. */
static void round_trip(struct flow *flow, uint64_t now_us, uint32_t rtt_us, int loses)
{
	struct braid_cc_path *path = braid_cc_path(flow->connection, flow->id);
	struct braid_cc_event event = { 0 };
	uint32_t packets = path->cwnd;

	path->srtt_us = path->last_rtt_us = rtt_us;
	if (!path->min_rtt_us || rtt_us < path->min_rtt_us)
		path->min_rtt_us = rtt_us;
	path->flags |= BRAID_CC_USABLE;
	event.now_us = now_us;
	if (loses && !flow->recovering) {
		path->lost++;
		path->prior_cwnd = path->cwnd;
		event.type = BRAID_CC_LOSS;
		event.cause = 1;
		braid_cc_event(flow->connection, flow->id, &event);
		/* The stack moves the window to ssthresh; here at once. */
		path->ca_state = 3;
		path->cwnd = path->ssthresh;
		flow->recovering = 1;
	} else if (flow->recovering) {
		path->ca_state = 0;
		event.type = BRAID_CC_RECOVERED;
		event.cause = 1;
		braid_cc_event(flow->connection, flow->id, &event);
		flow->recovering = 0;
	}
	path->delivered += packets;
	path->snd_una += (uint64_t)packets * path->mss;
	path->snd_nxt = path->snd_una;
	path->last_ack_us = now_us;
	event.type = BRAID_CC_ACK;
	event.cause = 0;
	event.flags = BRAID_CC_CWND_LIMITED;
	event.acked = packets;
	event.grow = flow->recovering ? 0 : packets;
	event.acked_bytes = packets * path->mss;
	event.rtt_us = rtt_us;
	event.prior_in_flight = packets;
	braid_cc_event(flow->connection, flow->id, &event);
	flow->delivered += packets;
}

int main(int argc, char **argv)
{
	braid_cc *multipath = braid_cc_open(argc > 1 ? argv[1] : "lia");
	braid_cc *single = braid_cc_open(argc > 1 ? argv[1] : "lia");
	struct flow flows[3] = { { 0 } };
	uint32_t i, round, random = 1;
	unsigned int k;

	if (!multipath || !single) {
		fprintf(stderr, "no such algorithm or parameter: the algorithms are");
		for (k = 0; braid_cc_name(k); k++)
			fprintf(stderr, " %s", braid_cc_name(k));
		fprintf(stderr, "\n");
		return 2;
	}
	for (i = 0; i < 3; i++) {
		flows[i].connection = i < 2 ? multipath : single;
		flows[i].id = braid_cc_join(flows[i].connection, 10, 1448, 0);
	}
	for (round = 1; round <= ROUNDS; round++) {
		uint32_t window[3], sum = 0, queued, victim = 3;

		for (i = 0; i < 3; i++) {
			window[i] = braid_cc_path(flows[i].connection, flows[i].id)->cwnd;
			sum += window[i];
		}
		queued = sum > CAPACITY ? sum - CAPACITY : 0;
		if (queued > QUEUE) {
			uint32_t packet;

			/* One packet in the queue is lost, whichever it is. */
			random = random * 1664525u + 1013904223u;
			packet = (random >> 8) % sum;
			for (victim = 0; victim < 2 && packet >= window[victim]; victim++)
				packet -= window[victim];
		}
		for (i = 0; i < 3; i++)
			round_trip(&flows[i], (uint64_t)round * RTT_US, RTT_US + queued * RTT_US / CAPACITY,
				   i == victim);
	}
	for (i = 0; i < 3; i++)
		printf("%s path %u: %llu packets\n", i < 2 ? "multipath" : "single", flows[i].id,
		       (unsigned long long)flows[i].delivered);
	printf("both paths / single: %.2f\n",
	       (double)(flows[0].delivered + flows[1].delivered) / (double)flows[2].delivered);
	braid_cc_leave(multipath, flows[0].id, 0);
	braid_cc_close(multipath);
	braid_cc_close(single);
	return 0;
}
