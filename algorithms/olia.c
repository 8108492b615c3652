// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * OLIA, opportunistic linked increases (Khalili et al. 2012): optimal pooling, with a second term that moves window
 * from the subflows with the largest windows to better ones.
 *
 *	per acknowledged packet in congestion avoidance:  w_r += (w_r/rtt_r^2) / (sum_k w_k/rtt_k)^2 + alpha_r/w_r
 *	alpha_r = 1/(n |B \ M|) in B \ M,  -1/(n |M|) in M unless B \ M is empty,  else 0
 *	M: largest window,  B: largest l/rtt^2,  l: bytes between losses
 *	per congestion event:                             ssthresh_r = max(w_r/2, 2)
 */
#include "olia.h"

BRAID_PARAMS(olia, OLIA_PARAMS);

struct olia_public {
	struct olia_marks marks;
	u64 counted; /* fork rounding: snd_una at the last increase, which the module takes for the bytes acknowledged */
};

struct olia_private {
	struct olia_growth growth;
};

/* The module's l: sequence numbers of 32 bits. */
braid_inline u64 olia_module_bytes(const struct braid_subflow *subflow)
{
	const struct olia_public *seen = BRAID_PUBLIC(olia, subflow);
	u32 since = (u32)seen->counted - (u32)seen->marks.last,
	    between = (u32)seen->marks.last - (u32)seen->marks.before_last;

	return braid_select(subflow->flags / BRAID_SAME_ALGORITHM & 1, braid_max32(since, between), 0);
}

/* The square of the module's RTT, which is eightfold. */
braid_inline u64 olia_module_square(const struct braid_subflow *subflow)
{
	u64 rtt = (u64)subflow->srtt_us << 3;

	return rtt * rtt;
}

/* 1/alpha as the module has it. Of equal qualities the one listed last, the oldest, is the best; products wrap. */
braid_inline s32 olia_module_inverse_alpha(const struct braid_view *view, u32 eligible)
{
	u64 best_bytes = 0, best_square = 1;
	u32 best = 0, largest = 0, largest_window = 0, self = view->self & (BRAID_MAX_SUBFLOWS - 1), i;
	s32 n = (s32)braid_size(eligible);

	for (i = 0; i < BRAID_MAX_SUBFLOWS; i++) {
		u32 k = BRAID_MAX_SUBFLOWS - 1 - i;
		const struct braid_subflow *subflow = &view->subflow[k];
		u64 bytes = olia_module_bytes(subflow), square = olia_module_square(subflow);
		u32 better = (eligible >> k & 1) & (1 ^ braid_below(bytes * best_square, best_bytes * square));

		best_bytes = braid_select(better, bytes, best_bytes);
		best_square = braid_select(better, square, best_square);
		largest_window = braid_max32(largest_window, (eligible >> k & 1) * olia_fork_window(subflow));
	}
	braid_for_each(i, eligible)
	{
		const struct braid_subflow *subflow = &view->subflow[i];

		best |= braid_equal(olia_module_bytes(subflow) * best_square, best_bytes * olia_module_square(subflow))
			<< i;
		largest |= braid_equal(olia_fork_window(subflow), largest_window) << i;
	}
	best &= ~largest;
	if (best >> self & 1)
		return n * (s32)braid_size(best);
	return best && largest >> self & 1 ? -n * (s32)braid_size(largest) : 0;
}

/* The module has no special case for one subflow. Packets of an ACK beyond the end of slow start do not count. */
static void olia_module_on_ack(struct braid_view *view, struct olia_private *priv, u32 slow_start,
			       const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	u32 eligible = braid_eligible(view);

	if (!event->grow)
		return;
	BRAID_PUBLIC(olia, self)->counted = self->snd_una;
	olia_limit_slow_start(view, slow_start);
	if (!(event->flags & BRAID_ACK_CWND_LIMITED))
		return;
	if (braid_in_slow_start(self))
		braid_slow_start(self, event->grow);
	else
		olia_fork_grow(self, &priv->growth.sum,
			       olia_fork_increase(view, eligible, olia_module_inverse_alpha(view, eligible)));
}

static void olia_init(struct braid_view *view, struct olia_private *priv, const struct olia_params *params,
		      const struct braid_event *event)
{
	olia_init_marks(view);
	BRAID_PUBLIC(olia, braid_self(view))->counted = braid_self(view)->snd_una;
}

static void olia_on_ack(struct braid_view *view, struct olia_private *priv, const struct olia_params *params,
			const struct braid_event *event)
{
	u32 acked;

	if (params->rounding != OLIA_EXACT) {
		olia_module_on_ack(view, priv, params->slow_start, event);
		return;
	}
	if (event->grow)
		olia_limit_slow_start(view, params->slow_start);
	acked = braid_acked_in_avoidance(braid_self(view), event);
	olia_grow(view, &priv->growth, OLIA_EXACT, acked);
}

static void olia_on_loss(struct braid_view *view, struct olia_private *priv, const struct olia_params *params,
			 const struct braid_event *event)
{
	struct braid_subflow *self = braid_self(view);
	struct olia_public *shown = BRAID_PUBLIC(olia, self);

	if (params->rounding == OLIA_EXACT) {
		olia_mark_loss(view);
	} else if (shown->counted != shown->marks.last) {
		shown->marks.before_last = shown->marks.last;
		shown->marks.last = shown->counted;
	}
	braid_halve(self, &priv->growth.carry, olia_ssthresh_floor(view, params->slow_start));
}

BRAID_ALGORITHM(olia, OLIA_PARAMS,
		BRAID_RATES_OF_SIBLINGS | BRAID_NO_ID_OF_SIBLINGS | BRAID_NO_MSS_OF_SIBLINGS | BRAID_RATES_OF_SELF |
			BRAID_GROWTH_ONLY,
		olia_init, BRAID_IGNORE, olia_on_ack, olia_on_loss, BRAID_IGNORE, BRAID_IGNORE)
