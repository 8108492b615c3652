/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the operator states (`braid hint`) about subflows: one table, replaced as a whole. Each subflow looks up its own hint,
 * when the table or its interface has changed; siblings read it from its node. */
#ifndef BRAID_HINTS_H
#define BRAID_HINTS_H

#include <linux/types.h>

struct braid_node;

/* Mirrored by `Entry` in crates/braid-kernel. The key is that of the eBPF host. */
struct braid_stated {
	u64 netns; /* the network namespace's cookie */
	u64 kind;  /* 1: an address, 2: the name of an interface */
	u64 words[2];
	u64 bottleneck;
};

#define BRAID_MAX_HINTS 1024

/* 0 until the first hint. */
extern u32 braid_hint_generation;

void braid_refresh_hint(struct braid_node *node, u32 generation);

int braid_hints_replace(const struct braid_stated *stated, u32 n);
void braid_hints_end(void);

#endif
