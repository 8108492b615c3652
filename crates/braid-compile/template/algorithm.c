// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * NAME: what it is, in one line.
 *
 * To begin with, an algorithm that works: n subflows grow together like one TCP, wherever they meet.
 *
 *	per acknowledged packet in congestion avoidance:  w_r += min(gain / (n * sum_k w_k), 1/w_r)
 *	per congestion event:                             ssthresh_r = max(w_r/2, 2)
 *
 * The whole contract is in braid.h: `braid run --algorithm` compiles against it, in a kernel `braid load` does. Whole numbers
 * only, no globals, loops bounded by a constant, and of other files only Braid's headers.
 */
#include "braid.h"

/* Each: name, default, smallest, largest, what 1 is multiplied with, unit, and what it does. A person writes NAME:gain=1.5, and
 * the code finds 1536 in params->gain. */
#define NAME_PARAMS(P) P(gain, 1024, 64, 8192, 1024, "", "how fast all subflows grow together, in TCPs")
BRAID_PARAMS(NAME, NAME_PARAMS);

/* At most 12 words of 64 bits that the other subflows of the connection can read. */
struct NAME_public {
};

/* What only the subflow itself knows, at most 2048 bytes; zero at the start. */
struct NAME_private {
	s64 carry; /* fraction of a packet not yet in cwnd, 32 bits */
};

/* What a packet acknowledged adds to the window, 32 bits of fraction: BRAID_ONE is one packet. */
static u64 NAME_increase(const struct braid_view *view, const struct NAME_params *params, u32 window)
{
	u32 i, eligible = braid_eligible(view); /* a set: bit i stands for view->subflow[i] */
	u64 sum = 0, increase;

	braid_for_each(i, eligible) sum += braid_window(&view->subflow[i]);
	/* Division only by fixed.h: by zero it gives zero, here as in a kernel. */
	increase = braid_div(((u64)params->gain << 32) / 1024, sum * braid_size(eligible));
	return braid_is_coupled(view, eligible) ? braid_min(increase, braid_reno_increase(window))
						: braid_reno_increase(window);
}

/* An acknowledgement. */
static void NAME_on_ack(struct braid_view *view, struct NAME_private *priv, const struct NAME_params *params,
			const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	/* Slow start, and no growth while the window is not the limit, as every algorithm has it. */
	u32 acked = braid_acked_in_avoidance(self, event);

	if (acked == 0)
		return;
	braid_grow(self, &priv->carry, (s64)NAME_increase(view, params, self->cwnd), acked);
}

/* A congestion episode begins: losses, a timeout, or an echo of ECN; event->cause tells which. */
static void NAME_on_loss(struct braid_view *view, struct NAME_private *priv, const struct NAME_params *params,
			 const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);

	priv->carry = 0;
	self->ssthresh = braid_half(self->cwnd); /* the host moves cwnd there */
}

/* Name, parameters, flags, and a function for each event: init, release, on_ack, on_loss, on_recovered, on_idle_restart.
 * BRAID_IGNORE stands for one that it does not care about. */
BRAID_ALGORITHM(NAME, NAME_PARAMS, 0, BRAID_IGNORE, BRAID_IGNORE, NAME_on_ack, NAME_on_loss, BRAID_IGNORE, BRAID_IGNORE)
