/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Declarations that a BPF program needs from compiler, loader and kernel: sections, maps and the few helpers used here.
 * Numbers are the kernel's (include/uapi/linux/bpf.h). Our own instead of a distribution's bpf_helpers.h, so that the
 * objects do not depend on the build machine.
 */
#ifndef BRAID_BPF_H
#define BRAID_BPF_H

#define SEC(name) __attribute__((section(name), used))

/* Members of a map declaration, which the loader reads from the type information. */
#define MAP_NUMBER(name, value) int(*name)[value]
#define MAP_TYPE(name, value) typeof(value) *name
#define MAP_VALUES(name, map) map *name[]

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_F_NO_PREALLOC = 1 << 0,
	BPF_SK_STORAGE_GET_F_CREATE = 1 << 0,
	BPF_F_MMAPABLE = 1 << 10,
	BPF_RB_NO_WAKEUP = 1 << 0,
};

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_prandom_u32)(void) = (void *)7;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static void *(*const bpf_sk_storage_get)(void *map, void *sk, void *initial, u64 flags) = (void *)107;
static long (*const bpf_sk_storage_delete)(void *map, void *sk) = (void *)108;
static long (*const bpf_ringbuf_output)(void *ring, const void *data, u64 size, u64 flags) = (void *)130;
/* Calls callback `iterations` times; verified once. Since Linux 5.17. */
static long (*const bpf_loop)(u32 iterations, void *callback, void *context, u64 flags) = (void *)181;

/* Registering a tcp_congestion_ops needs a GPL-compatible licence. */
static const char braid_license[] SEC("license") = "Dual BSD/GPL";

/* Context of the test programs: number of entries of their map to run. */
struct braid_batch {
	u32 count;
};

/* Hides the value of x from the compiler. */
#define BRAID_OPAQUE(x) asm volatile("" : "+r"(x))

#endif
