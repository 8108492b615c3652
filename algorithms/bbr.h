/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR, version 1 (Cardwell et al. 2016): the model of a path and its control, for bbr and cmpbbr.
 *
 *	bw       the largest delivery rate of the last 10 rounds
 *	min_rtt  the smallest RTT of the last 10 s
 *	pace at  pacing gain * bw,  keep at most  window gain * bw * min_rtt  in flight
 *
 * Startup doubles the rate per round until bw stops growing, drain empties the queue of startup, then the gains cycle
 * around 1 to probe for more. Every 10 s four packets in flight show min_rtt. Loss is not a signal, except for packet
 * conservation in the first round of a recovery.
 *
 * Bandwidths are packets per microsecond with 24 fraction bits, gains have 8 fraction bits.
 */
#ifndef BRAID_BBR_H
#define BRAID_BBR_H

#include "braid.h"

#define BBR_RECENT 0u
#define BBR_LINUX49 1u

#define BBR_PARAMS_BY(P, rules_)                                                                                 \
	P(min_rtt_window, 10000, 100, 1000000, 1, "ms", "age at which the minimum RTT is measured again")        \
	P(probe_rtt, 200, 1, 10000, 1, "ms", "time with four packets in flight to measure the minimum RTT")      \
	P(margin, 0, 0, 50, 1, "%", "pace this far below the model's rate; Linux since 5.0: 1")                  \
	P(policer, 1, 0, 1, 1, "off|on", "detect a token bucket policer: steady high loss at a steady rate")     \
	P(rules, rules_, 0, 1, 1, "recent|linux49",                                                              \
	  "in Linux 4.9 an RTT equal to the minimum renews it, an idle time does not end the probe for it, and " \
	  "losses do not reduce the window restored after it")

#define BBR_PARAMS(P) BBR_PARAMS_BY(P, BBR_RECENT)

BRAID_PARAMS(bbr, BBR_PARAMS);

#define BBR_BW_SHIFT 24
#define BBR_GAIN_SHIFT 8
#define BBR_ONE (1u << BBR_GAIN_SHIFT)
#define BBR_HIGH_GAIN 739u /* 2/ln(2), rounded up: the smallest gain that doubles the sending rate each round trip */
#define BBR_DRAIN_GAIN 88u /* its inverse: drains in one round what startup queued in one */
#define BBR_WINDOW_GAIN 512u
#define BBR_PROBE_GAIN 320u /* 1.25: probes for more bandwidth */
#define BBR_YIELD_GAIN 192u /* 0.75: drains the queue of the probe */
#define BBR_PHASES 8u       /* of the cycle: probe, drain, and six at the estimate */
#define BBR_BW_ROUNDS 10u
#define BBR_MIN_CWND 4u
#define BBR_INITIAL_CWND 10u
#define BBR_GROWTH_GAIN 320u /* startup continues while bw grows by a quarter ... */
#define BBR_GROWTH_ROUNDS 3u /* ... within this many rounds */

enum bbr_mode {
	BBR_STARTUP = 0,
	BBR_DRAIN = 1,
	BBR_PROBE_BW = 2,
	BBR_PROBE_RTT = 3,
};

struct bbr_sample {
	u32 round;
	u32 bw;
};

struct bbr_state {
	u64 phase_us;              /* when the phase of the cycle began */
	u64 min_rtt_seen_us;       /* when min_rtt was measured */
	u64 probe_rtt_end_us;      /* earliest end of probing; 0: more than four packets are still in flight */
	u64 policer_us;            /* start of the policer's interval */
	u32 mode;                  /* enum bbr_mode */
	u32 phase;                 /* of the cycle */
	u32 min_rtt_us;            /* BRAID_U32_MAX: no sample yet */
	u32 rounds;                /* so far */
	u32 round_end;             /* a round ends when a packet sent after this many deliveries is acknowledged */
	u32 round_started;         /* with this ACK */
	struct bbr_sample best[3]; /* best of the window, best since then, best since that */
	u32 full_bw;               /* bw of the round in which it last grew by a quarter */
	u32 full_rounds;           /* rounds since */
	u32 is_full;               /* startup has filled the pipe */
	u32 prior_cwnd;            /* before recovery or probing for min_rtt */
	u32 last_ca_state;
	u32 is_conserving;   /* first round of a recovery: sends as many packets as leave the network */
	u32 probe_rtt_round; /* a round with four packets in flight has ended */
	u32 is_restarting;   /* after idle: an expired min_rtt does not count */
	u32 ignores;         /* samples of packets sent before this many deliveries: too few were in flight */
	u32 ignored_from;
	u32 ignored_until;
	u32 has_rtt; /* the pacing rate uses a measured RTT */
	u32 policer_sampling;
	u32 policer_rounds;
	u32 policer_delivered; /* at the start of the interval, as policer_lost */
	u32 policer_lost;
	u32 policer_bw; /* of the latest interval with enough loss; 0: none */
	u32 is_policed; /* policer_bw is the rate of a token bucket */
	u32 restores;   /* the next ACK restores prior_cwnd */
};

/* a * b / 2^shift within 32 bits. */
braid_inline u32 bbr_scale(u64 a, u64 b, u32 shift)
{
	return (u32)braid_min(braid_mul_shift(a, b, shift), BRAID_U32_MAX);
}

braid_inline u32 bbr_max_bw(const struct bbr_state *state)
{
	return state->best[0].bw;
}

braid_inline u32 bbr_bw(const struct bbr_state *state)
{
	return (u32)braid_select(state->is_policed, state->policer_bw, bbr_max_bw(state));
}

braid_inline u32 bbr_phase_gain(const struct bbr_state *state)
{
	u32 gain = (u32)braid_select(braid_equal(state->phase, 1), BBR_YIELD_GAIN, BBR_ONE);

	return (u32)braid_select(braid_equal(state->phase, 0), BBR_PROBE_GAIN, gain);
}

braid_inline u32 bbr_pacing_gain(const struct bbr_state *state)
{
	switch (state->mode) {
	case BBR_STARTUP: return BBR_HIGH_GAIN;
	case BBR_DRAIN: return BBR_DRAIN_GAIN;
	case BBR_PROBE_BW: return state->is_policed ? BBR_ONE : bbr_phase_gain(state);
	default: return BBR_ONE;
	}
}

braid_inline u32 bbr_window_gain(const struct bbr_state *state)
{
	switch (state->mode) {
	case BBR_STARTUP:
	case BBR_DRAIN: return BBR_HIGH_GAIN;
	case BBR_PROBE_BW: return BBR_WINDOW_GAIN;
	default: return BBR_ONE;
	}
}

/* gain * bw in payload bytes per second. */
braid_inline u64 bbr_rate(const struct braid_subflow *self, u32 bw, u32 gain, u32 margin)
{
	u64 rate = braid_mul_shift((u64)bw * self->mss, gain, BBR_GAIN_SHIFT);

	return braid_max(braid_mul_shift(rate, 10000 * (100 - braid_min32(margin, 100)), BBR_BW_SHIFT), 1);
}

/* Packets that a host sends in one burst at this rate: those of a millisecond, as Linux sizes them. */
braid_inline u32 bbr_burst(const struct braid_subflow *self)
{
	u64 bytes = braid_min(self->pacing_rate >> 10, 65215);
	u64 least = 2 - braid_below(self->pacing_rate, 150000); /* 1.2 Mbit/s */

	return (u32)braid_min(braid_max(braid_div(bytes, self->mss), least), 127);
}

/* Target of packets in flight: gain * bw * min_rtt, plus three bursts delayed by sender and receiver, rounded to an
 * even number. */
braid_inline u32 bbr_target(const struct braid_subflow *self, const struct bbr_state *state, u32 bw, u32 gain)
{
	u64 packets;

	if (state->min_rtt_us == BRAID_U32_MAX)
		return BBR_INITIAL_CWND;
	packets = braid_mul_shift((u64)bw * state->min_rtt_us, gain, BBR_GAIN_SHIFT);
	packets = (packets >> BBR_BW_SHIFT) + braid_below(0, packets & ((1u << BBR_BW_SHIFT) - 1));
	packets += 3 * bbr_burst(self);
	packets = (packets + 1) & ~1ull;
	/* Above the bandwidth-delay product even if that is a few packets. */
	packets += 2 * (braid_equal(state->mode, BBR_PROBE_BW) & braid_below32(BBR_ONE, gain));
	return (u32)braid_min(packets, BRAID_SSTHRESH_INFINITE);
}

/*
 * The largest bandwidth of the last rounds in constant space: the best of the window, the best since, the best since
 * that. Each expires after BBR_BW_ROUNDS and the next replaces it; after a quarter and a half of the window without a
 * better one, the latest becomes the second and the third.
 */
braid_inline void bbr_remember(struct bbr_state *state, u32 bw)
{
	struct bbr_sample *best = state->best, now = { state->rounds, bw };
	u32 age = now.round - best[0].round;

	if (bw >= best[0].bw || now.round - best[2].round > BBR_BW_ROUNDS) {
		best[0] = best[1] = best[2] = now;
		return;
	}
	if (bw >= best[1].bw)
		best[1] = best[2] = now;
	else if (bw >= best[2].bw)
		best[2] = now;
	if (age > BBR_BW_ROUNDS) {
		best[0] = best[1];
		best[1] = best[2];
		best[2] = now;
		if (now.round - best[0].round > BBR_BW_ROUNDS) {
			best[0] = best[1];
			best[1] = best[2];
		}
	} else if (best[1].round == best[0].round && age > BBR_BW_ROUNDS / 4) {
		best[1] = best[2] = now;
	} else if (best[2].round == best[1].round && age > BBR_BW_ROUNDS / 2) {
		best[2] = now;
	}
}

braid_inline void bbr_begin_policer_interval(const struct braid_subflow *self, struct bbr_state *state)
{
	state->policer_us = self->last_ack_us;
	state->policer_delivered = self->delivered;
	state->policer_lost = self->lost;
	state->policer_rounds = 0;
}

braid_inline void bbr_forget_policer(const struct braid_subflow *self, struct bbr_state *state)
{
	state->policer_bw = 0;
	state->is_policed = 0;
	state->policer_sampling = 0;
	bbr_begin_policer_interval(self, state);
}

/*
 * Start of the cycle: any phase but draining, so that flows of one bottleneck do not probe together. Pseudo-random in
 * the event's data; the same event gives the same phase (SplitMix64's finaliser).
 */
braid_inline void bbr_begin_cycle(const struct braid_view *view, const struct braid_subflow *self,
				  struct bbr_state *state, const struct braid_event *event)
{
	u64 x = event->now_us ^ (view->connection << 32) ^ ((u64)self->id << 24) ^ self->snd_una;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	x ^= x >> 31;
	state->mode = BBR_PROBE_BW;
	state->phase = (BBR_PHASES - (u32)(((x >> 32) * (BBR_PHASES - 1)) >> 32)) & (BBR_PHASES - 1);
	state->phase_us = self->last_ack_us;
}

/* End of a long-term sampling interval (lt_bw). Two consecutive lossy intervals at about the same rate mean a
 * policer. */
braid_inline void bbr_end_policer_interval(const struct braid_subflow *self, struct bbr_state *state, u32 bw)
{
	u64 difference = bw > state->policer_bw ? bw - state->policer_bw : state->policer_bw - bw;

	if (state->policer_bw &&
	    (difference * 8 <= state->policer_bw || bbr_rate(self, (u32)difference, BBR_ONE, 0) <= 500)) {
		state->policer_bw = (u32)(((u64)bw + state->policer_bw) >> 1);
		state->is_policed = 1;
		state->policer_rounds = 0;
		return;
	}
	state->policer_bw = bw;
	bbr_begin_policer_interval(self, state);
}

/* Intervals of 4 to 16 rounds that begin and end with a loss. */
braid_inline void bbr_watch_policer(const struct braid_view *view, const struct braid_subflow *self,
				    struct bbr_state *state, const struct braid_event *event, u32 losses, u32 limited)
{
	u32 delivered, lost;
	u64 lasted;

	if (state->is_policed) {
		if (state->mode == BBR_PROBE_BW && state->round_started && ++state->policer_rounds >= 48) {
			bbr_forget_policer(self, state);
			bbr_begin_cycle(view, self, state, event);
		}
		return;
	}
	if (!state->policer_sampling) {
		if (!losses)
			return;
		bbr_begin_policer_interval(self, state);
		state->policer_sampling = 1;
	}
	state->policer_rounds += state->round_started;
	if (limited || state->policer_rounds > 16) {
		bbr_forget_policer(self, state);
		return;
	}
	if (state->policer_rounds < 4 || !losses)
		return;
	delivered = self->delivered - state->policer_delivered;
	lost = self->lost - state->policer_lost;
	lasted = braid_sub(self->last_ack_us, state->policer_us);
	/* A fifth of the packets lost: 50/256. */
	if (!delivered || (u64)lost * 256 < (u64)delivered * 50 || lasted < 1000)
		return;
	bbr_end_policer_interval(self, state,
				 (u32)braid_min(braid_div((u64)delivered << BBR_BW_SHIFT, lasted), BRAID_U32_MAX));
}

/* Whether the sample is below the path's capacity because less was sent. */
braid_inline u32 bbr_is_limited(struct bbr_state *state, const struct braid_event *event)
{
	u32 sent = event->rate_prior_delivered, ignored = 0;

	if (state->ignores && event->rate_interval_us && (s32)(sent - state->ignored_from) >= 0) {
		ignored = (s32)(sent - state->ignored_until) <= 0;
		state->ignores = ignored;
	}
	return ignored | ((event->flags & BRAID_ACK_APP_LIMITED) != 0);
}

braid_inline void bbr_update_bw(const struct braid_view *view, const struct braid_subflow *self,
				struct bbr_state *state, const struct bbr_params *params,
				const struct braid_event *event, u32 limited)
{
	u32 bw;

	state->round_started = 0;
	if (!event->rate_interval_us)
		return;
	if ((s32)(event->rate_prior_delivered - state->round_end) >= 0) {
		state->round_end = self->delivered;
		state->rounds++;
		state->round_started = 1;
		state->is_conserving = 0;
	}
	if (params->policer)
		bbr_watch_policer(view, self, state, event, event->rate_losses, limited);
	bw = (u32)braid_min(braid_div((u64)event->rate_delivered << BBR_BW_SHIFT, event->rate_interval_us),
			    BRAID_U32_MAX);
	if (!limited || bw >= bbr_max_bw(state))
		bbr_remember(state, bw);
}

braid_inline void bbr_update_cycle(const struct braid_subflow *self, struct bbr_state *state,
				   const struct braid_event *event)
{
	u32 gain = bbr_pacing_gain(state), is_over;

	if (state->mode != BBR_PROBE_BW)
		return;
	is_over = braid_below(state->min_rtt_us, braid_sub(self->last_ack_us, state->phase_us));
	if (gain > BBR_ONE) {
		/* Long enough to see the queue of the probe, or its overflow. */
		is_over &= event->rate_losses ||
			   event->prior_in_flight >= bbr_target(self, state, bbr_max_bw(state), gain);
	} else if (gain < BBR_ONE) {
		is_over |= event->prior_in_flight <= bbr_target(self, state, bbr_max_bw(state), BBR_ONE);
	}
	if (is_over) {
		state->phase = (state->phase + 1) & (BBR_PHASES - 1);
		state->phase_us = self->last_ack_us;
	}
}

/* The pipe is full when probing for three rounds has not raised bw by a quarter. */
braid_inline void bbr_update_full(struct bbr_state *state, u32 limited)
{
	if (state->is_full || !state->round_started || limited)
		return;
	if (bbr_max_bw(state) >= bbr_scale(state->full_bw, BBR_GROWTH_GAIN, BBR_GAIN_SHIFT)) {
		state->full_bw = bbr_max_bw(state);
		state->full_rounds = 0;
		return;
	}
	state->full_rounds++;
	state->is_full = state->full_rounds >= BBR_GROWTH_ROUNDS;
}

braid_inline void bbr_update_drain(const struct braid_view *view, const struct braid_subflow *self,
				   struct bbr_state *state, const struct braid_event *event)
{
	if (state->mode == BBR_STARTUP && state->is_full)
		state->mode = BBR_DRAIN;
	if (state->mode == BBR_DRAIN && self->in_flight <= bbr_target(self, state, bbr_max_bw(state), BBR_ONE))
		bbr_begin_cycle(view, self, state, event);
}

braid_inline void bbr_save_cwnd(const struct braid_subflow *self, struct bbr_state *state)
{
	u32 is_plain = state->last_ca_state < BRAID_RECOVERY && state->mode != BBR_PROBE_RTT;

	state->prior_cwnd = is_plain ? self->cwnd : braid_max32(state->prior_cwnd, self->cwnd);
}

/* Ends the probing for min_rtt if it has lasted long enough. */
braid_inline void bbr_end_probe_rtt(const struct braid_view *view, struct braid_subflow *self, struct bbr_state *state,
				    const struct bbr_params *params, const struct braid_event *event)
{
	if (!state->probe_rtt_end_us || event->now_us <= state->probe_rtt_end_us)
		return;
	state->min_rtt_seen_us = event->now_us;
	if (params->rules == BBR_LINUX49)
		state->restores = 1;
	else
		self->cwnd = braid_max32(self->cwnd, state->prior_cwnd);
	if (state->is_full)
		bbr_begin_cycle(view, self, state, event);
	else
		state->mode = BBR_STARTUP;
}

braid_inline void bbr_update_min_rtt(const struct braid_view *view, struct braid_subflow *self, struct bbr_state *state,
				     const struct bbr_params *params, const struct braid_event *event)
{
	u32 is_old = braid_below((u64)params->min_rtt_window * 1000, braid_sub(event->now_us, state->min_rtt_seen_us));

	if (event->rtt_us && (event->rtt_us < (u64)state->min_rtt_us + params->rules || is_old)) {
		state->min_rtt_us = event->rtt_us;
		state->min_rtt_seen_us = event->now_us;
	}
	if (is_old && !state->is_restarting && state->mode != BBR_PROBE_RTT) {
		state->mode = BBR_PROBE_RTT;
		bbr_save_cwnd(self, state);
		state->probe_rtt_end_us = 0;
		if (!state->ignores)
			state->ignored_from = self->delivered;
		state->ignores = 1;
	}
	if (state->mode == BBR_PROBE_RTT) {
		/* A rate with four packets in flight is not a bandwidth sample. */
		state->ignored_until = self->delivered + self->in_flight;
		if (!state->probe_rtt_end_us && self->in_flight <= BBR_MIN_CWND) {
			state->probe_rtt_end_us = event->now_us + (u64)params->probe_rtt * 1000;
			state->probe_rtt_round = 0;
			state->round_end = self->delivered;
		} else if (state->probe_rtt_end_us) {
			state->probe_rtt_round |= state->round_started;
			if (state->probe_rtt_round)
				bbr_end_probe_rtt(view, self, state, params, event);
		}
	}
	if (event->rate_interval_us && event->rate_delivered)
		state->is_restarting = 0;
}

braid_inline void bbr_pace_from_rtt(struct braid_subflow *self, struct bbr_state *state,
				    const struct bbr_params *params)
{
	/* Without a sample assumes a millisecond, so that the initial window leaves soon. */
	u32 rtt_us = self->srtt_us ? self->srtt_us : 1000;
	u64 bw = braid_div((u64)self->cwnd << BBR_BW_SHIFT, rtt_us);

	state->has_rtt = self->srtt_us != 0;
	self->pacing_rate = bbr_rate(self, (u32)braid_min(bw, BRAID_U32_MAX), BBR_HIGH_GAIN, params->margin);
}

/* Before the pipe is full the rate only rises: an early sample must not slow startup. */
braid_inline void bbr_pace(struct braid_subflow *self, struct bbr_state *state, const struct bbr_params *params, u32 bw,
			   u32 gain)
{
	u64 rate = bbr_rate(self, bw, gain, params->margin);

	if (!state->has_rtt && self->srtt_us)
		bbr_pace_from_rtt(self, state, params);
	if (state->is_full || rate > self->pacing_rate)
		self->pacing_rate = rate;
}

/* Recovery's limit of the window: packet conservation in its first round, the previous window after it. */
braid_inline u64 bbr_recover(const struct braid_subflow *self, struct bbr_state *state, const struct braid_event *event)
{
	u64 cwnd = braid_max(braid_sub(self->cwnd, event->rate_losses), 1);
	u64 conserved = (u64)self->in_flight + event->acked;

	if (self->ca_state == BRAID_RECOVERY && state->last_ca_state != BRAID_RECOVERY) {
		state->is_conserving = 1;
		state->round_end = self->delivered;
		cwnd = conserved;
	} else if (self->ca_state < BRAID_RECOVERY && state->last_ca_state >= BRAID_RECOVERY) {
		state->is_conserving = 0;
		cwnd = braid_max(cwnd, state->prior_cwnd);
	}
	state->last_ca_state = self->ca_state;
	if (state->restores)
		cwnd = braid_max(cwnd, state->prior_cwnd);
	state->restores = 0;
	return state->is_conserving ? braid_max(cwnd, conserved) : cwnd;
}

braid_inline void bbr_set_cwnd(struct braid_subflow *self, struct bbr_state *state, const struct braid_event *event,
			       u32 bw)
{
	u64 cwnd = self->cwnd;

	if (event->acked) {
		cwnd = bbr_recover(self, state, event);
		if (!state->is_conserving) {
			u32 target = bbr_target(self, state, bw, bbr_window_gain(state));

			if (state->is_full)
				cwnd = braid_min(cwnd + event->acked, target);
			else if (cwnd < target || self->delivered < BBR_INITIAL_CWND)
				cwnd += event->acked;
			cwnd = braid_max(cwnd, BBR_MIN_CWND);
		}
	}
	cwnd = braid_min(cwnd, self->cwnd_clamp);
	if (state->mode == BBR_PROBE_RTT)
		cwnd = braid_min(cwnd, BBR_MIN_CWND);
	self->cwnd = (u32)braid_max(cwnd, 1);
}

/* The events of a single subflow. */

braid_inline void bbr_init(struct braid_view *view, struct bbr_state *state, const struct bbr_params *params,
			   const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);

	state->round_end = self->delivered;
	state->min_rtt_us = self->min_rtt_us ? self->min_rtt_us : BRAID_U32_MAX;
	state->min_rtt_seen_us = event->now_us;
	state->last_ca_state = BRAID_OPEN;
	self->ssthresh = BRAID_SSTHRESH_INFINITE;
	bbr_forget_policer(self, state);
	bbr_pace_from_rtt(self, state, params);
}

braid_inline void bbr_update(struct braid_view *view, struct bbr_state *state, const struct bbr_params *params,
			     const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 limited = bbr_is_limited(state, event);

	bbr_update_bw(view, self, state, params, event, limited);
	bbr_update_cycle(self, state, event);
	bbr_update_full(state, limited);
	bbr_update_drain(view, self, state, event);
	bbr_update_min_rtt(view, self, state, params, event);
}

/* Sets rate and window by the model with this bandwidth. */
braid_inline void bbr_control(struct braid_subflow *self, struct bbr_state *state, const struct bbr_params *params,
			      const struct braid_event *event, u32 bw)
{
	bbr_pace(self, state, params, bw, bbr_pacing_gain(state));
	bbr_set_cwnd(self, state, event, bw);
}

/* Saves the window for the end of the episode. A timeout ends the round and resets the full-pipe estimate. */
braid_inline void bbr_on_loss(struct braid_view *view, struct bbr_state *state, const struct bbr_params *params,
			      const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);

	bbr_save_cwnd(self, state);
	if (event->cause != BRAID_CAUSE_RTO)
		return;
	state->last_ca_state = BRAID_LOSS;
	state->full_bw = 0;
	state->round_started = 1;
	if (params->policer)
		bbr_watch_policer(view, self, state, event, 1, 0);
	self->cwnd = (u32)braid_clamp((u64)self->in_flight + 1, 1, braid_max32(self->cwnd_clamp, 1));
}

/* The loss was spurious: the full-pipe estimate is reset. */
braid_inline void bbr_on_recovered(struct braid_view *view, struct bbr_state *state, const struct braid_event *event)
{
	if (event->cause != BRAID_CAUSE_UNDO)
		return;
	state->full_bw = 0;
	state->full_rounds = 0;
	bbr_forget_policer(braid_self(view), state);
}

/* The application was idle: sends at the path's rate, not faster. */
braid_inline void bbr_on_idle_restart(struct braid_view *view, struct bbr_state *state, const struct bbr_params *params,
				      const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);

	if (!(event->flags & BRAID_ACK_APP_LIMITED))
		return;
	state->is_restarting = 1;
	if (state->mode == BBR_PROBE_BW)
		bbr_pace(self, state, params, bbr_bw(state), BBR_ONE);
	else if (state->mode == BBR_PROBE_RTT && params->rules == BBR_RECENT)
		bbr_end_probe_rtt(view, self, state, params, event);
}

#endif
