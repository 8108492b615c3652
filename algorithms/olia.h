/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* OLIA's increase and loss marks, for every algorithm that grows as OLIA does. */
#ifndef BRAID_OLIA_H
#define BRAID_OLIA_H

#include "shares.h"

#define OLIA_EXACT 0u
#define OLIA_KERNEL_SLOW_START 0u
#define OLIA_DRAFT_SLOW_START 1u

#define OLIA_PARAMS(P)                                                                                                \
	P(rounding, OLIA_EXACT, 0, 1, 1, "exact|fork",                                                                \
	  "arithmetic of the increase: exact, or the 10-bit integers of the out-of-tree kernel")                      \
	P(slow_start, OLIA_KERNEL_SLOW_START, 0, 2, 1, "kernel|draft|min1",                                           \
	  "with several subflows: plain slow start, none at all (the draft's ssthresh of one packet), or plain with " \
	  "one packet instead of two as the smallest ssthresh")

/* Public words. The third mark is snd_una, which siblings see in the view. */
struct olia_marks {
	u64 before_last; /* snd_una at the loss before the last one */
	u64 last;        /* snd_una at the last loss */
};

struct olia_growth {
	s64 carry; /* fraction of a packet not yet in cwnd */
	s64 sum;   /* fork rounding: the fraction in 1/1024 of a packet, of either sign */
};

/* Sets in the form of braid_eligible. M are the subflows with the largest window, B those with the best quality
 * l/rtt^2. The same pass computes the rates of self and of all, see shares.h. */
struct olia_sets {
	u32 eligible;
	u32 largest;   /* M */
	u32 collected; /* B \ M */
	u64 own;
	u64 total;
};

/* l: the larger of the bytes since the last loss and between the last two. A sibling on another algorithm has no marks,
 * hence no quality. */
braid_inline u64 olia_bytes(const struct braid_view *view, u32 i)
{
	const struct braid_subflow *subflow = &view->subflow[i & (BRAID_MAX_SUBFLOWS - 1)];
	const struct olia_marks *marks = (const struct olia_marks *)subflow->public_words;

	if (!braid_equal(i, view->self) && !(subflow->flags & BRAID_SAME_ALGORITHM))
		return 0;
	return braid_max(braid_sub(subflow->snd_una, marks->last), braid_sub(marks->last, marks->before_last));
}

braid_inline void olia_classify(const struct braid_view *view, struct olia_sets *sets)
{
	u32 fastest = braid_fastest_rtt(view, sets->eligible), largest_window = 0, best = 0, i;
	u64 best_bytes = 0, best_square = 1;

	braid_for_each(i, sets->eligible)
	{
		u64 bytes = olia_bytes(view, i), rtt = braid_rtt(&view->subflow[i]);
		u32 order = braid_compare_products(bytes, best_square, best_bytes, rtt * rtt), is_better = order >> 1;
		u32 window = braid_rate_window(view, i), is_larger = braid_below32(largest_window, window), is_largest;
		u64 rate = window * braid_speed(view, i, fastest);

		/* A subflow better or larger than all previous ones replaces the set, an equal one joins it. */
		best = (best & (is_better - 1)) | ((order + 1) >> 1) << i;
		best_bytes = braid_select(is_better, bytes, best_bytes);
		best_square = braid_select(is_better, rtt * rtt, best_square);
		is_largest = is_larger | braid_equal(window, largest_window);
		sets->largest = (sets->largest & (is_larger - 1)) | is_largest << i;
		largest_window = braid_max32(largest_window, window);
		sets->total += rate;
		sets->own = braid_select(braid_equal(i, view->self), rate, sets->own);
	}
	sets->collected = best & ~sets->largest;
}

/* 1/alpha: n times the size of self's set, positive in B \ M and negative in M; 0 if alpha is 0. */
braid_inline s32 olia_inverse_alpha(const struct olia_sets *sets, u32 self)
{
	s32 n = (s32)braid_size(sets->eligible);

	if (sets->collected >> self & 1)
		return n * (s32)braid_size(sets->collected);
	return sets->collected && sets->largest >> self & 1 ? -n * (s32)braid_size(sets->largest) : 0;
}

/* s_r^2/w_r + alpha_r/w_r, 32 fraction bits. */
braid_inline s64 olia_increase(const struct braid_view *view, const struct olia_sets *sets)
{
	s32 inverse_alpha = olia_inverse_alpha(sets, view->self & (BRAID_MAX_SUBFLOWS - 1));
	u64 share = braid_share(sets->own, sets->total), alpha;
	s64 increase;

	alpha = braid_div(1ull << (2 * BRAID_SHARE_BITS), (u32)(inverse_alpha < 0 ? -inverse_alpha : inverse_alpha));
	increase = (s64)(share * share) + (inverse_alpha < 0 ? -(s64)alpha : (s64)alpha);
	return (braid_sdiv(increase, braid_rate_window(view, view->self)) + (1 << 29)) >> (2 * BRAID_SHARE_BITS - 32);
}

/* What the kernel takes for the window: in Recovery it may be inflated. */
braid_inline u32 olia_fork_window(const struct braid_subflow *subflow)
{
	return subflow->ca_state == BRAID_RECOVERY ? subflow->ssthresh : subflow->cwnd;
}

/* The same in the kernel's integers, 1/1024 of a packet; wraps where the kernel's wrap. */
braid_inline s64 olia_fork_increase(const struct braid_view *view, u32 eligible, s32 inverse_alpha)
{
	const struct braid_subflow *self = braid_self((struct braid_view *)view);
	u64 rate = 1, square = (u64)self->cwnd << 10, scale = (u32)(inverse_alpha < 0 ? -inverse_alpha : inverse_alpha);
	u64 divisor;
	u32 i;

	braid_for_each(i, eligible) rate += braid_div(((u64)olia_fork_window(&view->subflow[i]) << 10) * self->srtt_us,
						      view->subflow[i].srtt_us);
	rate *= rate;
	square *= square;
	divisor = braid_max((u32)braid_max(scale, 1) * self->cwnd * rate, 1);
	if (inverse_alpha == 0)
		return (s64)((square << 10) / divisor);
	if (inverse_alpha > 0)
		return (s64)(((rate + scale * square) << 10) / divisor);
	if (scale * square < rate)
		return -(s64)(((rate - scale * square) << 10) / divisor);
	return (s64)(((scale * square - rate) << 10) / divisor);
}

/* Adds the fork's increase. As in the kernel, nearly a packet counts as one, and the excess is dropped. */
braid_inline void olia_fork_grow(struct braid_subflow *self, s64 *sum, s64 increase)
{
	*sum += increase;
	if (*sum >= 1023) {
		*sum = 0;
		self->cwnd = (u32)braid_min((u64)self->cwnd + 1, self->cwnd_clamp);
	} else if (*sum <= -1023) {
		*sum = 0;
		self->cwnd = braid_max32(self->cwnd, 2) - 1;
	}
}

/* Congestion avoidance for this many acknowledged packets, coupled with the subflows of a set; Reno if self is not one
 * of several there. */
braid_inline void olia_grow_in(struct braid_view *view, struct olia_growth *growth, u32 set, u32 rounding, u32 acked)
{
	struct braid_subflow *self = braid_self(view);
	struct olia_sets sets = { .eligible = set };

	if (!braid_is_coupled(view, set)) {
		braid_grow(self, &growth->carry, (s64)braid_reno_increase(self->cwnd), acked);
		return;
	}
	olia_classify(view, &sets);
	if (rounding == OLIA_EXACT)
		braid_grow(self, &growth->carry, olia_increase(view, &sets), acked);
	else
		olia_fork_grow(self, &growth->sum,
			       olia_fork_increase(view, set,
						  olia_inverse_alpha(&sets, view->self & (BRAID_MAX_SUBFLOWS - 1))));
}

/* The same with all eligible subflows. */
braid_inline void olia_grow(struct braid_view *view, struct olia_growth *growth, u32 rounding, u32 acked)
{
	if (acked)
		olia_grow_in(view, growth, braid_eligible(view), rounding, acked);
}

/* The draft's ssthresh of one packet, to avoid slow start in a set of several subflows. Not in CWR and Recovery, where
 * ssthresh is the window's target. */
braid_inline void olia_limit_slow_start_in(struct braid_view *view, u32 slow_start, u32 set)
{
	struct braid_subflow *self = braid_self(view);

	if (slow_start != OLIA_DRAFT_SLOW_START || !braid_in_slow_start(self) || braid_is_reducing(self))
		return;
	if (braid_is_coupled(view, set))
		self->ssthresh = 1;
}

braid_inline void olia_limit_slow_start(struct braid_view *view, u32 slow_start)
{
	if (slow_start == OLIA_DRAFT_SLOW_START)
		olia_limit_slow_start_in(view, slow_start, braid_eligible(view));
}

/* Smallest ssthresh after a loss. */
braid_inline u32 olia_ssthresh_floor_in(const struct braid_view *view, u32 slow_start, u32 set)
{
	return slow_start != OLIA_KERNEL_SLOW_START && braid_is_coupled(view, set) ? 1 : 2;
}

braid_inline u32 olia_ssthresh_floor(const struct braid_view *view, u32 slow_start)
{
	return slow_start == OLIA_KERNEL_SLOW_START ? 2
						    : olia_ssthresh_floor_in(view, slow_start, braid_eligible(view));
}

braid_inline void olia_init_marks(struct braid_view *view)
{
	struct braid_subflow *self = braid_self(view);
	struct olia_marks *marks = (struct olia_marks *)self->public_words;

	marks->before_last = self->snd_una;
	marks->last = self->snd_una;
}

/* A loss ends the interval between losses, unless nothing was acknowledged in it. */
braid_inline void olia_mark_loss(struct braid_view *view)
{
	struct braid_subflow *self = braid_self(view);
	struct olia_marks *marks = (struct olia_marks *)self->public_words;

	if (self->snd_una == marks->last)
		return;
	marks->before_last = marks->last;
	marks->last = self->snd_una;
}

#endif
