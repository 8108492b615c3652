/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CUBIC's window law and Linux's HyStart, for every algorithm that grows by a cubic of time. See cubic.c for the formulas.
 *
 * Windows have 32 fraction bits (cwnd plus its carry); curve times are in 2^-14 s.
 *
 * A coupled CUBIC is this law with other values in struct cubic_step: its own C, and a slope of the Reno-friendly
 * window below 1/w.
 */
#ifndef BRAID_CUBIC_H
#define BRAID_CUBIC_H

#include "braid.h"

#define CUBIC_BETA_SCALE 1024u
#define CUBIC_BETA 717u /* default beta */
#define CUBIC_ALPHA_CONSTANT 1u

#define CUBIC_LAW_PARAMS(P)                                                                                         \
	P(c, 419430, 1049, 104857600, 1048576, "packets/s^3", "growth of the window away from the last maximum")    \
	P(beta, CUBIC_BETA, 512, 1000, 1024, "", "share of the window left by a congestion event; Linux: 717/1024") \
	P(fast_convergence, 1, 0, 1, 1, "off|on", "lower the last maximum if the window had not reached it again")  \
	P(friendly, 1, 0, 1, 1, "off|on", "grow at least as fast as Reno")                                          \
	P(alpha, 0, 0, 1, 1, "rfc9438|constant",                                                                    \
	  "slope of the Reno-friendly window: 1 from the window before the last reduction on, or constant")         \
	P(hystart, 1, 0, 1, 1, "off|on", "leave slow start when the ACK train or the delay shows a full pipe")

/* An algorithm with these parameters lists them first, so that a pointer to its own is also a pointer to these. */
BRAID_PARAMS(cubic_law, CUBIC_LAW_PARAMS);

struct cubic_law {
	s64 carry;         /* fraction of a packet not yet in cwnd */
	u64 w_max;         /* window before the last reduction, adjusted by fast convergence; 0: none yet */
	u64 prior;         /* window before the last reduction (cwnd_prior) */
	u64 origin;        /* where the curve is flat */
	u64 w_est;         /* Reno's window since the epoch began */
	u64 epoch_us;      /* start of growth after the last reduction; 0: not yet */
	s64 k;             /* time from the epoch's start to the origin, 2^-14 s */
	u64 round_end;     /* HyStart's round ends when snd_una passes this */
	u64 round_us;      /* when it began */
	u64 train_us;      /* latest ACK of its train */
	u32 round_rtt_us;  /* its smallest RTT; 0: no sample yet */
	u32 round_samples; /* its RTT samples, at most CUBIC_MIN_SAMPLES */
	u32 delay_min_us;  /* smallest RTT since the last timeout; 0: no sample yet */
	u32 found;         /* HyStart has ended slow start */
	u32 in_loss;       /* the reset at entering Loss is done */
	u32 reserved;
};

/* Inputs of an ACK's growth besides the state. */
struct cubic_step {
	u64 now_us;
	u64 c;        /* C, packets/s^3 with CUBIC_C_BITS fraction bits, not 0 */
	u64 c_below;  /* the same for the part of the curve below its origin */
	u64 increase; /* limit of the Reno-friendly window's growth per packet besides 1/w, 32 fraction bits */
	u32 acked;    /* packets */
	u32 reserved;
};

#define CUBIC_C_BITS 40
#define CUBIC_LOW_WINDOW 16u     /* packets: HyStart is off below */
#define CUBIC_MIN_SAMPLES 8u     /* RTT samples at the start of a round that the delay test does not use */
#define CUBIC_TRAIN_GAP_US 2000u /* ACKs this close belong to one train */
#define CUBIC_DELAY_MIN_US 4000u /* bounds of the delay increase that ends slow start */
#define CUBIC_DELAY_MAX_US 16000u
#define CUBIC_SETTLE_US 1000000u   /* RTT samples of an epoch's first second still show the queue of the loss */
#define CUBIC_OFFSET_MAX 0xffffffu /* 1024 s from the origin the curve is far beyond 1.5 w; linux: 4.5 h */

braid_inline u64 cubic_window(const struct braid_subflow *self, const struct cubic_law *law)
{
	return braid_exact_window(self, law->carry);
}

/* The parameter C in the form of struct cubic_step. */
braid_inline u64 cubic_c(const struct cubic_law_params *params)
{
	return (u64)params->c << (CUBIC_C_BITS - 20);
}

/* The step of CUBIC itself. */
braid_inline void cubic_plain_step(struct cubic_step *step, const struct cubic_law_params *params, u32 acked,
				   u64 now_us)
{
	step->now_us = now_us;
	step->c = cubic_c(params);
	step->c_below = step->c;
	step->increase = BRAID_U64_MAX;
	step->acked = acked;
}

/* cbrt(missing / C) in 2^-14 s. A radicand beyond 64 bits (hundreds of thousands of packets) is taken in 2^-10 s. */
braid_inline u64 cubic_k(u64 missing, u64 c)
{
	u64 radicand = braid_muldiv(missing, 1ull << (3 * 14 - 32 + CUBIC_C_BITS), c);
	u32 coarse = 0;

	if (radicand == BRAID_U64_MAX) {
		radicand = braid_muldiv(missing, 1ull << (3 * 10 - 32 + CUBIC_C_BITS), c);
		coarse = 4;
	}
	return (u64)braid_cbrt(radicand) << coarse;
}

braid_inline void cubic_begin_epoch(const struct braid_subflow *self, struct cubic_law *law, u64 c, u64 now_us)
{
	u64 window = cubic_window(self, law);

	law->epoch_us = braid_max(now_us, 1);
	law->w_est = window;
	law->origin = braid_max(law->w_max, window);
	law->k = (s64)cubic_k(law->origin - window, c);
}

/* From microseconds to 2^-14 s. */
braid_inline u64 cubic_time(u64 us)
{
	return (us << 8) / 15625; /* 2^14 / 10^6 */
}

/* W(t) */
braid_inline u64 cubic_curve(const struct cubic_law *law, const struct cubic_step *step, u64 t_us)
{
	s64 from_origin = (s64)(cubic_time(t_us) - (u64)law->k);
	u64 offset = braid_min(from_origin > 0 ? (u64)from_origin : 0 - (u64)from_origin, CUBIC_OFFSET_MAX);
	u64 square = braid_mul_shift(offset * offset, from_origin > 0 ? step->c : step->c_below, CUBIC_C_BITS);
	u64 delta = braid_mul_shift(square, offset, 3 * 14 - 32);

	return from_origin > 0 ? braid_add(law->origin, delta) : braid_sub(law->origin, delta);
}

/* Continues at the same height of the curve with another C: the time from the origin scales with cbrt(1/C). */
braid_inline void cubic_rescale(struct cubic_law *law, u64 from, u64 to, u64 now_us)
{
	s64 t = (s64)cubic_time(braid_sub(now_us, law->epoch_us)), offset = t - law->k;
	u64 distance = braid_min(offset < 0 ? 0 - (u64)offset : (u64)offset, 1ull << 40);
	u64 ratio = braid_cbrt(braid_muldiv(from, 1ull << 51, to)); /* 17 fraction bits, less than 2^22 */

	distance = (distance * ratio + (1 << 16)) >> 17;
	law->k = offset < 0 ? t + (s64)distance : t - (s64)distance;
}

/* 3 (1 - beta) / (1 + beta). A compile-time constant for the default beta: no division. */
braid_inline u64 cubic_alpha(u32 beta)
{
	if (beta == CUBIC_BETA)
		return 3 * BRAID_ONE * (CUBIC_BETA_SCALE - CUBIC_BETA) / (CUBIC_BETA_SCALE + CUBIC_BETA);
	return 3 * BRAID_ONE * (CUBIC_BETA_SCALE - beta) / (CUBIC_BETA_SCALE + beta);
}

/* Advances W_est by the growth of Reno with CUBIC's decrease, given cwnd and its reciprocal. */
braid_inline void cubic_grow_estimate(struct cubic_law *law, const struct cubic_law_params *params, u32 cwnd,
				      u64 reciprocal, const struct cubic_step *step)
{
	u64 alpha = BRAID_ONE, growth;

	if (params->alpha == CUBIC_ALPHA_CONSTANT || law->w_est < law->prior)
		alpha = cubic_alpha(params->beta);
	growth = braid_min(braid_quotient(alpha * step->acked, cwnd, reciprocal),
			   braid_mul_shift(alpha * step->acked, step->increase, 32));
	law->w_est = braid_add(law->w_est, growth);
}

/* Growth of the window by an ACK of this many packets, from the slope of the curve. */
braid_inline u64 cubic_increase(const struct cubic_law *law, const struct cubic_law_params *params, u64 window,
				u64 slope, u32 acked)
{
	u64 increase = slope * acked;

	/* Before the first loss the bandwidth is unknown: at least 5 % per RTT, as Linux. */
	if (law->w_max == 0)
		increase = braid_max(increase, BRAID_ONE / 20 * acked);
	if (params->friendly)
		increase = braid_max(increase, braid_sub(law->w_est, window));
	return braid_min(increase, BRAID_ONE / 2 * acked);
}

/* Congestion avoidance for this many acknowledged packets. */
braid_inline void cubic_grow(struct braid_subflow *self, struct cubic_law *law, const struct cubic_law_params *params,
			     const struct cubic_step *step)
{
	u32 cwnd = braid_max32(self->cwnd, 1);
	u64 reciprocal = braid_reciprocal(cwnd), window, target, slope;

	if (law->epoch_us == 0)
		cubic_begin_epoch(self, law, step->c, step->now_us);
	cubic_grow_estimate(law, params, cwnd, reciprocal, step);
	window = cubic_window(self, law);
	target = cubic_curve(law, step, braid_sub(step->now_us, law->epoch_us) + law->delay_min_us);
	slope = braid_quotient(target > window ? target - window : BRAID_ONE / 100, cwnd, reciprocal);
	braid_grow(self, &law->carry, (s64)cubic_increase(law, params, window, slope, step->acked), 1);
}

braid_inline void cubic_begin_round(const struct braid_subflow *self, struct cubic_law *law, u64 now_us)
{
	law->round_end = self->snd_nxt;
	law->round_us = now_us;
	law->train_us = now_us;
	law->round_rtt_us = 0;
	law->round_samples = 0;
}

/* Minimum length of an ACK train that shows a full pipe. Aggregation lengthens trains by up to 1 ms: four bursts of 64
 * KiB at the sender's pacing rate in slow start, 2 cwnd per RTT. Pacing itself may spread the packets over half an
 * RTT. */
braid_inline u32 cubic_train_threshold(const struct braid_subflow *self, const struct cubic_law *law)
{
	u64 delay;

	if (self->pacing_rate) {
		delay = (4ull << 16) * 1000000 / self->pacing_rate;
		return law->delay_min_us + (u32)braid_min(delay, 1000);
	}
	delay = braid_div((2ull << 16) * self->srtt_us, (u64)self->mss * self->cwnd);
	return (law->delay_min_us + (u32)braid_min(delay, 1000)) >> 1;
}

/* HyStart: ends slow start at the present window if the round shows a full pipe. */
braid_inline void cubic_hystart(struct braid_subflow *self, struct cubic_law *law, u32 rtt_us, u64 now_us)
{
	u32 increase = (u32)braid_clamp(law->delay_min_us >> 3, CUBIC_DELAY_MIN_US, CUBIC_DELAY_MAX_US);

	if (self->snd_una > law->round_end)
		cubic_begin_round(self, law, now_us);
	if (self->cwnd < CUBIC_LOW_WINDOW)
		return;
	if (now_us - law->train_us <= CUBIC_TRAIN_GAP_US) {
		law->train_us = now_us;
		law->found |= now_us - law->round_us > cubic_train_threshold(self, law);
	}
	law->round_rtt_us = braid_min32(law->round_rtt_us ? law->round_rtt_us : rtt_us, rtt_us);
	if (law->round_samples < CUBIC_MIN_SAMPLES)
		law->round_samples++;
	else
		law->found |= law->round_rtt_us > law->delay_min_us + increase;
	if (law->found)
		self->ssthresh = self->cwnd;
}

braid_inline void cubic_on_rtt(struct braid_subflow *self, struct cubic_law *law, u32 hystart,
			       const struct braid_event *event)
{
	u32 rtt_us = event->rtt_us;

	if (rtt_us == 0 || (law->epoch_us && event->now_us < law->epoch_us + CUBIC_SETTLE_US))
		return;
	law->delay_min_us = braid_min32(law->delay_min_us ? law->delay_min_us : rtt_us, rtt_us);
	if (hystart && !law->found && braid_in_slow_start(self))
		cubic_hystart(self, law, rtt_us, event->now_us);
}

/* A timeout: resets everything learnt about the path. */
braid_inline void cubic_reset(const struct braid_subflow *self, struct cubic_law *law, u64 now_us)
{
	law->carry = 0;
	law->w_max = 0;
	law->epoch_us = 0;
	law->delay_min_us = 0;
	law->found = 0;
	cubic_begin_round(self, law, now_us);
}

/* Handles an ACK up to congestion avoidance. Returns the packets that remain for it. */
braid_inline u32 cubic_acked(struct braid_subflow *self, struct cubic_law *law, u32 hystart,
			     const struct braid_event *event)
{
	/* A timeout within an unfinished episode cuts nothing and reports no loss, but resets as well. */
	if (self->ca_state == BRAID_LOSS && !law->in_loss)
		cubic_reset(self, law, event->now_us);
	law->in_loss = self->ca_state == BRAID_LOSS;
	cubic_on_rtt(self, law, hystart, event);
	return braid_acked_in_avoidance(self, event);
}

/* The reduction of a window (with 32 fraction bits) to the share beta, not under floor packets. */
braid_inline void cubic_reduce_from(struct braid_subflow *self, struct cubic_law *law,
				    const struct cubic_law_params *params, const struct braid_event *event, u64 window,
				    u32 floor)
{
	/* In whole packets: less is rounding, not a flow that gives way. */
	if (params->fast_convergence && self->cwnd < law->w_max >> 32)
		law->w_max = braid_muldiv(window, CUBIC_BETA_SCALE + params->beta, 2 * CUBIC_BETA_SCALE);
	else
		law->w_max = window;
	law->prior = window;
	law->epoch_us = 0;
	braid_reduce(self, &law->carry, braid_muldiv(window, params->beta, CUBIC_BETA_SCALE), floor);
	if (event->cause == BRAID_CAUSE_RTO) {
		cubic_reset(self, law, event->now_us);
		law->in_loss = 1;
	}
}

/* The reduction. */
braid_inline void cubic_reduce(struct braid_subflow *self, struct cubic_law *law, const struct cubic_law_params *params,
			       const struct braid_event *event)
{
	cubic_reduce_from(self, law, params, event, cubic_window(self, law), 2);
}

/* The end of an episode. After an undo the window is back at its old size, and a new curve begins there. */
braid_inline void cubic_recovered(struct cubic_law *law, const struct braid_event *event)
{
	if (event->cause == BRAID_CAUSE_UNDO) {
		law->carry = 0;
		law->epoch_us = 0;
	}
}

/* Idle time does not count on the curve. */
braid_inline void cubic_skip(struct cubic_law *law, u64 idle_us, u64 now_us)
{
	if (law->epoch_us)
		law->epoch_us = braid_min(law->epoch_us + idle_us, now_us);
}

#endif
