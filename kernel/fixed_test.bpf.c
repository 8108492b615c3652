// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The functions of fixed.h inside the kernel, one test program per function, on arguments in a map. A program has the
 * function's name without braid_. The vectors are the native test's.
 */
#include "fixed.h"
#include "bpf.h"

#define FIXED_CALLS 4096

/* Narrow arguments and results use the low bits. Mirrored by `FixedCall` in crates/braid-kernel. */
struct fixed_call {
	u64 a, b, c;
	u64 result;
};

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, FIXED_CALLS);
	MAP_NUMBER(map_flags, BPF_F_MMAPABLE);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct fixed_call);
} fixed_calls SEC(".maps");

#define FIXED_TEST(name, expression)                                                 \
	static long name##_call(u32 index, void *unused)                             \
	{                                                                            \
		struct fixed_call *call = bpf_map_lookup_elem(&fixed_calls, &index); \
                                                                                     \
		if (!call)                                                           \
			return 1;                                                    \
		u64 a = call->a, b = call->b, c = call->c;                           \
                                                                                     \
		(void)b, (void)c;                                                    \
		call->result = (u64)(expression);                                    \
		return 0;                                                            \
	}                                                                            \
                                                                                     \
	SEC("syscall") long name(struct braid_batch *batch)                          \
	{                                                                            \
		return bpf_loop(batch->count, name##_call, 0, 0);                    \
	}

FIXED_TEST(below, braid_below(a, b))
FIXED_TEST(below32, braid_below32((u32)a, (u32)b))
FIXED_TEST(equal, braid_equal(a, b))
FIXED_TEST(select, braid_select((u32)a, b, c))
FIXED_TEST(min32, braid_min32((u32)a, (u32)b))
FIXED_TEST(max32, braid_max32((u32)a, (u32)b))
FIXED_TEST(min, braid_min(a, b))
FIXED_TEST(max, braid_max(a, b))
FIXED_TEST(clamp, braid_clamp(a, b, c))
FIXED_TEST(add, braid_add(a, b))
FIXED_TEST(sub, braid_sub(a, b))
FIXED_TEST(div, braid_div(a, b))
FIXED_TEST(div_up, braid_div_up(a, b))
FIXED_TEST(quotient, braid_quotient(a, b, braid_reciprocal(b)))
FIXED_TEST(sdiv, braid_sdiv((s64)a, b))
FIXED_TEST(shl, braid_shl(a, (u32)b))
FIXED_TEST(shr, braid_shr(a, (u32)b))
FIXED_TEST(clz, braid_clz(a))
FIXED_TEST(mul_high, braid_mul_high(a, b))
FIXED_TEST(mul_shift, braid_mul_shift(a, b, (u32)c))
FIXED_TEST(muldiv, braid_muldiv(a, b, c))
FIXED_TEST(mul, braid_mul(a, b))
FIXED_TEST(cbrt, braid_cbrt(a))
FIXED_TEST(sqrt, braid_sqrt(a))
