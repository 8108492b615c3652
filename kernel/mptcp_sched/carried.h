/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Paths that have sent each byte: runs of bytes with the same set of paths, from the oldest unacknowledged byte on. The
 * kernel keeps no such record. */
#ifndef BRAID_MODULE_CARRIED_H
#define BRAID_MODULE_CARRIED_H

#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

/* Maximum of runs; beyond it the two oldest are merged, with the union of their paths. */
#define BRAID_RUNS 64

struct braid_carried {
	u64 begin;
	u32 n;
	struct braid_run {
		u64 end;
		u32 paths;
	} run[BRAID_RUNS];
};

static inline bool braid_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/* Removes everything before `una`. */
static inline void braid_carried_trim(struct braid_carried *own, u64 una)
{
	u32 gone = 0;

	while (gone < own->n && !braid_before(una, own->run[gone].end))
		gone++;
	if (gone) {
		own->n -= gone;
		memmove(own->run, own->run + gone, own->n * sizeof(own->run[0]));
	}
	if (!own->n || braid_before(own->begin, una))
		own->begin = una;
}

static inline u32 braid_carried_at(const struct braid_carried *own, u64 seq)
{
	u32 i;

	if (own->n && braid_before(seq, own->begin))
		return 0;
	for (i = 0; i < own->n; i++)
		if (braid_before(seq, own->run[i].end))
			return own->run[i].paths;
	return 0;
}

static inline void braid_carried_insert(struct braid_carried *own, u32 at, u64 end, u32 paths)
{
	if (own->n == BRAID_RUNS) {
		own->run[1].paths |= own->run[0].paths;
		own->n--;
		memmove(own->run, own->run + 1, own->n * sizeof(own->run[0]));
		at = at ? at - 1 : 0;
	}
	memmove(own->run + at + 1, own->run + at, (own->n - at) * sizeof(own->run[0]));
	own->run[at].end = end;
	own->run[at].paths = paths;
	own->n++;
}

/* Splits a run at that byte, if it is inside one. */
static inline void braid_carried_split(struct braid_carried *own, u64 seq)
{
	u32 i;

	for (i = 0; i < own->n; i++) {
		u64 begin = i ? own->run[i - 1].end : own->begin;

		if (braid_before(begin, seq) && braid_before(seq, own->run[i].end)) {
			braid_carried_insert(own, i, seq, own->run[i].paths);
			return;
		}
	}
}

/* A path has sent the bytes from `from` to `to`; `anew`: as if no other had. */
static inline void braid_carried_add(struct braid_carried *own, u64 from, u64 to, u32 path, bool anew)
{
	u64 end = own->n ? own->run[own->n - 1].end : own->begin;
	u32 i;

	if (!braid_before(from, to))
		return;
	if (braid_before(from, end)) {
		braid_carried_split(own, from);
		braid_carried_split(own, to);
		for (i = 0; i < own->n; i++) {
			u64 begin = i ? own->run[i - 1].end : own->begin;

			if (braid_before(from, own->run[i].end) && braid_before(begin, to))
				own->run[i].paths = (anew ? 0 : own->run[i].paths) | 1u << path;
		}
		from = end;
	}
	if (!braid_before(from, to))
		return;
	if (!own->n)
		own->begin = from;
	else if (braid_before(end, from))
		braid_carried_insert(own, own->n, from, 0);
	if (own->n && own->run[own->n - 1].paths == 1u << path)
		own->run[own->n - 1].end = to;
	else
		braid_carried_insert(own, own->n, to, 1u << path);
}

/* The index belongs to another path from now on. */
static inline void braid_carried_leave(struct braid_carried *own, u32 path)
{
	u32 i;

	for (i = 0; i < own->n; i++)
		own->run[i].paths &= ~(1u << path);
}

#endif
