/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records of calls, from hooks to `braid trace`: one ring for all that is traced. */
#ifndef BRAID_RING_H
#define BRAID_RING_H

#include <linux/types.h>

struct sk_buff;

struct braid_piece {
	const void *at;
	u32 bytes;
};

/* Number of the next call, over all sockets. */
u64 braid_ring_sequence(void);
/* A record of those pieces, behind its length. False if there is no room: it is counted as lost. */
bool braid_ring_write(const struct braid_piece *pieces, u32 n);

int braid_ring_begin(u32 bytes);
/* Moves what there is, up to `most` bytes, into an attribute. Returns how many. */
int braid_ring_put(struct sk_buff *skb, int attribute, u32 most);
void braid_ring_counts(u64 *sequence, u64 *lost);
void braid_ring_end(void);

#endif
