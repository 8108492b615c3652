// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * LIA, linked increases (RFC 6356): all subflows together take as much as one TCP on the best path.
 *
 *	per acknowledged packet in congestion avoidance:  w_r += min(max_k(w_k/rtt_k^2) / (sum_k w_k/rtt_k)^2, 1/w_r)
 *	per congestion event:                             ssthresh_r = max(w_r/2, 2)
 */
#include "fork.h"
#include "lia.h"

BRAID_PARAMS(lia, LIA_PARAMS);

/* Kernel rounding only: what the module keeps of the connection. */
struct lia_public {
	u64 alpha;   /* at most 32 bits: from 4096 on it makes no difference */
	u64 changed; /* a congestion state changed since alpha was computed */
};

#define LIA_ALPHA_WORD 0
#define LIA_CHANGED_WORD 1

struct lia_private {
	struct lia_growth growth;
	u32 state; /* kernel rounding: the congestion state at the last event */
	u32 reserved;
};

static void lia_compute_alpha(struct braid_view *view, u32 rounding)
{
	u32 eligible = braid_eligible(view);
	u64 alpha = eligible & (eligible - 1) ? lia_kernel_alpha(view, eligible, rounding) : 1;

	fork_write(view, LIA_ALPHA_WORD, (u32)braid_min(alpha, BRAID_U32_MAX));
}

/* The module computes alpha when a packet was gained, in slow start, at a timeout and after a change of state. It counts
 * ACKs, also with one subflow. Packets of an ACK beyond the end of slow start do not count. */
static void lia_module_on_ack(struct braid_view *view, struct lia_private *priv, u32 rounding,
			      const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u64 threshold = self->cwnd;
	u32 eligible;

	if (!event->grow || !(event->flags & BRAID_ACK_CWND_LIMITED))
		return;
	if (braid_in_slow_start(self)) {
		braid_slow_start(self, event->grow);
		lia_compute_alpha(view, rounding);
		return;
	}
	if (fork_state_changed(view, &priv->state, LIA_CHANGED_WORD))
		lia_compute_alpha(view, rounding);
	eligible = braid_eligible(view);
	if (eligible & (eligible - 1))
		threshold = lia_kernel_threshold(braid_max32(fork_read(view, LIA_ALPHA_WORD), 1), self->cwnd);
	if (fork_count(self, &priv->growth.counted, (u32)threshold))
		lia_compute_alpha(view, rounding);
}

static void lia_init(struct braid_view *view, struct lia_private *priv, const struct lia_params *params,
		     const struct braid_event *event)
{
	if (params->rounding == LIA_EXACT)
		return;
	fork_write(view, LIA_ALPHA_WORD, 1);
	fork_write(view, LIA_CHANGED_WORD, 0);
}

static void lia_on_ack(struct braid_view *view, struct lia_private *priv, const struct lia_params *params,
		       const struct braid_event *event)
{
	if (params->rounding == LIA_EXACT)
		lia_grow(view, &priv->growth, LIA_EXACT, braid_acked_in_avoidance(braid_self(view), event));
	else
		lia_module_on_ack(view, priv, params->rounding, event);
}

static void lia_on_loss(struct braid_view *view, struct lia_private *priv, const struct lia_params *params,
			const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);

	priv->growth.counted = 0;
	braid_halve(self, &priv->growth.carry, 2);
	if (params->rounding == LIA_EXACT)
		return;
	fork_state_after_loss(view, &priv->state, LIA_CHANGED_WORD, event);
	if (event->cause == BRAID_CAUSE_RTO)
		lia_compute_alpha(view, params->rounding);
}

static void lia_on_recovered(struct braid_view *view, struct lia_private *priv, const struct lia_params *params,
			     const struct braid_event *event)
{
	if (params->rounding != LIA_EXACT)
		fork_state_after_recovery(view, &priv->state, LIA_CHANGED_WORD);
}

BRAID_ALGORITHM(lia, LIA_PARAMS,
		BRAID_RATES_OF_SIBLINGS | BRAID_NO_ID_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS |
			BRAID_NO_BYTES_OF_SIBLINGS | BRAID_RATES_OF_SELF | BRAID_GROWTH_ONLY,
		lia_init, BRAID_IGNORE, lia_on_ack, lia_on_loss, lia_on_recovered, BRAID_IGNORE)
