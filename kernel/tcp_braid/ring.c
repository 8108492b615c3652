// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The ring of traces, see ring.h. */
#include <linux/log2.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>
#include <net/netlink.h>

#include "ring.h"

static DEFINE_SPINLOCK(lock);
static u8 *ring;
static u64 head, tail; /* bytes written and read */
static u32 size;
static u64 lost;
static atomic64_t sequence;

u64 braid_ring_sequence(void)
{
	return atomic64_inc_return(&sequence) - 1;
}

static void append(const void *from, u32 bytes)
{
	u32 at = head & (size - 1), first = min(bytes, size - at);

	memcpy(ring + at, from, first);
	memcpy(ring, (const u8 *)from + first, bytes - first);
	head += bytes;
}

bool braid_ring_write(const struct braid_piece *pieces, u32 n)
{
	u64 bytes = 0;
	bool fits;
	u32 i;

	for (i = 0; i < n; i++)
		bytes += pieces[i].bytes;
	spin_lock_bh(&lock);
	fits = ring && sizeof(bytes) + bytes <= size - (head - tail);
	if (fits) {
		append(&bytes, sizeof(bytes));
		for (i = 0; i < n; i++)
			append(pieces[i].at, pieces[i].bytes);
	} else {
		lost++;
	}
	spin_unlock_bh(&lock);
	return fits;
}

int braid_ring_begin(u32 bytes)
{
	u8 *fresh = vmalloc(roundup_pow_of_two(max(bytes, 1u << 16)));

	if (!fresh)
		return -ENOMEM;
	braid_ring_end();
	spin_lock_bh(&lock);
	ring = fresh;
	size = roundup_pow_of_two(max(bytes, 1u << 16));
	head = tail = 0;
	spin_unlock_bh(&lock);
	return 0;
}

int braid_ring_put(struct sk_buff *skb, int attribute, u32 most)
{
	struct nlattr *at;
	u32 bytes, from, first;

	spin_lock_bh(&lock);
	bytes = min_t(u64, ring ? head - tail : 0, most);
	at = bytes ? nla_reserve(skb, attribute, bytes) : NULL;
	if (at) {
		from = tail & (size - 1);
		first = min(bytes, size - from);
		memcpy(nla_data(at), ring + from, first);
		memcpy((u8 *)nla_data(at) + first, ring, bytes - first);
		tail += bytes;
	}
	spin_unlock_bh(&lock);
	return at ? bytes : 0;
}

void braid_ring_counts(u64 *sequence_now, u64 *lost_now)
{
	*sequence_now = atomic64_read(&sequence);
	*lost_now = READ_ONCE(lost);
}

void braid_ring_end(void)
{
	u8 *before;

	spin_lock_bh(&lock);
	before = ring;
	ring = NULL;
	spin_unlock_bh(&lock);
	vfree(before);
}
