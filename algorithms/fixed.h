/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Integer arithmetic with the same results natively and in the kernel.
 *
 * Every function is defined for every input and equal on both targets. C leaves division by zero and wide shifts
 * undefined, BPF defines them, and BPF below -mcpu=v4 has no signed division and no 128-bit type. So division, variable
 * shifts, products wider than 64 bits and roots are only here.
 *
 * Branch-free: the BPF verifier would explore 2^bits paths for a branch per bit. The same applies to loops over
 * subflows that branch on computed values: use the minima, maxima and conditions below.
 */
#ifndef BRAID_FIXED_H
#define BRAID_FIXED_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed int s32;
typedef signed long long s64;

#define BRAID_U32_MAX 0xffffffffu
#define BRAID_U64_MAX 0xffffffffffffffffull
#define BRAID_S64_MAX 0x7fffffffffffffffll

#define braid_inline static inline __attribute__((always_inline, unused))

/*
 * A function that the verifier checks once, for any arguments, instead of at each call with known values. It returns a
 * u32, takes pointers to writable memory and checks that they are not null.
 */
#ifdef __bpf__
#define braid_once __attribute__((noinline))
#else
#define braid_once static __attribute__((unused))
#endif

/*
 * Conditions as numbers, 1 or 0, and a selection between two values. BPF has neither a conditional move nor an
 * instruction that sets a register to a comparison, so a comparison becomes a branch, and the verifier explores both
 * sides with different knowledge. So for BPF the borrow of a - b is computed by arithmetic that is opaque to the
 * compiler. These functions, the wide product and the count of zero bits (no instruction below -mcpu=v4) exist twice.
 */
#ifdef __bpf__
#define BRAID_HIDE(x) __asm__("" : "+r"(x))

/* 1 if a < b */
braid_inline u32 braid_below(u64 a, u64 b)
{
	u64 borrow = a - b;

	BRAID_HIDE(borrow);
	borrow = ((~a & b) | ((~a | b) & borrow)) >> 63;
	BRAID_HIDE(borrow);
	return (u32)borrow;
}

braid_inline u32 braid_below32(u32 a, u32 b)
{
	u64 borrow = (u64)a - b;

	BRAID_HIDE(borrow);
	borrow >>= 63;
	BRAID_HIDE(borrow);
	return (u32)borrow;
}

/* 1 if a == b */
braid_inline u32 braid_equal(u64 a, u64 b)
{
	u64 difference = a ^ b;

	difference |= 0 - difference;
	BRAID_HIDE(difference);
	difference >>= 63;
	BRAID_HIDE(difference);
	return 1 ^ (u32)difference;
}

/* condition ? a : b, for a condition of 1 or 0 */
braid_inline u64 braid_select(u32 condition, u64 a, u64 b)
{
	return b ^ ((a ^ b) & (0 - (u64)condition));
}

/* The high 64 bits of a * b. */
braid_inline u64 braid_mul_high(u64 a, u64 b)
{
	u64 a0 = a & BRAID_U32_MAX, a1 = a >> 32;
	u64 b0 = b & BRAID_U32_MAX, b1 = b >> 32;
	u64 low = a0 * b0;
	u64 middle = a1 * b0 + (low >> 32);
	u64 carry = a0 * b1 + (middle & BRAID_U32_MAX);

	return a1 * b1 + (middle >> 32) + (carry >> 32);
}
#else
braid_inline u32 braid_below(u64 a, u64 b)
{
	return a < b;
}

braid_inline u32 braid_below32(u32 a, u32 b)
{
	return a < b;
}

braid_inline u32 braid_equal(u64 a, u64 b)
{
	return a == b;
}

braid_inline u64 braid_select(u32 condition, u64 a, u64 b)
{
	return condition ? a : b;
}

braid_inline u64 braid_mul_high(u64 a, u64 b)
{
	return (u64)(((unsigned __int128)a * b) >> 64);
}
#endif

braid_inline u64 braid_min(u64 a, u64 b)
{
	return braid_select(braid_below(a, b), a, b);
}

braid_inline u64 braid_max(u64 a, u64 b)
{
	return braid_select(braid_below(a, b), b, a);
}

braid_inline u32 braid_min32(u32 a, u32 b)
{
	return (u32)braid_select(braid_below32(a, b), a, b);
}

braid_inline u32 braid_max32(u32 a, u32 b)
{
	return (u32)braid_select(braid_below32(a, b), b, a);
}

braid_inline u64 braid_clamp(u64 x, u64 low, u64 high)
{
	return x < low ? low : x > high ? high : x;
}

/* a + b, or the largest u64. */
braid_inline u64 braid_add(u64 a, u64 b)
{
	u64 sum = a + b;

	return sum < a ? BRAID_U64_MAX : sum;
}

/* a - b, or 0. */
braid_inline u64 braid_sub(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/* floor(a / b); 0 if b is 0, as the BPF instruction. */
braid_inline u64 braid_div(u64 a, u64 b)
{
	return b ? a / b : 0;
}

/* ceil(a / b); 0 if b is 0. */
braid_inline u64 braid_div_up(u64 a, u64 b)
{
	u64 quotient = b ? a / b : 0;

	/* Not by the remainder, for which BPF would divide again. */
	return quotient + (b && quotient * b != a);
}

/* floor(a / b), 0 if b is 0, from braid_reciprocal(b): several quotients by one divisor cost one division. Without the
 * remainder of the reciprocal the product is less than 1 too small. */
braid_inline u64 braid_reciprocal(u64 b)
{
	return b ? BRAID_U64_MAX / b : 0;
}

braid_inline u64 braid_quotient(u64 a, u64 b, u64 reciprocal)
{
	u64 quotient = braid_mul_high(a, reciprocal);

	return quotient + (b && a - quotient * b >= b);
}

/* a / b rounded towards zero; 0 if b is 0. */
braid_inline s64 braid_sdiv(s64 a, u64 b)
{
	u64 magnitude = braid_div(a < 0 ? 0 - (u64)a : (u64)a, b);

	return a < 0 ? (s64)(0 - magnitude) : (s64)magnitude;
}

/* x << n and x >> n; 0 from n = 64 on. */
braid_inline u64 braid_shl(u64 x, u32 n)
{
	return n < 64 ? x << (n & 63) : 0;
}

braid_inline u64 braid_shr(u64 x, u32 n)
{
	return n < 64 ? x >> (n & 63) : 0;
}

#ifdef __bpf__
/* One step of braid_clz: whether the upper half of a number of 2 * half bits is not 0. By carry, without a comparison:
 * after a branch the verifier would know the shift and follow each of the 64 cases to the end. */
#define BRAID_CLZ_STEP(half)                                                              \
	do {                                                                              \
		u64 step = (((x >> (half)) + ((1ull << (half)) - 1)) >> (half)) * (half); \
		n -= (u32)step;                                                           \
		x >>= step & 63;                                                          \
	} while (0)

/* Number of zero bits above the highest one; 64 for 0. */
braid_inline u32 braid_clz(u64 x)
{
	u32 n = 64;

	BRAID_CLZ_STEP(32);
	BRAID_CLZ_STEP(16);
	BRAID_CLZ_STEP(8);
	BRAID_CLZ_STEP(4);
	BRAID_CLZ_STEP(2);
	BRAID_CLZ_STEP(1);
	return n - (u32)x;
}
#else
braid_inline u32 braid_clz(u64 x)
{
	return x ? (u32)__builtin_clzll(x) : 64;
}
#endif

/* floor(a * b / 2^n) for n up to 64; saturates. */
braid_inline u64 braid_mul_shift(u64 a, u64 b, u32 n)
{
	u64 high = braid_mul_high(a, b);

	return braid_shr(high, n) ? BRAID_U64_MAX : braid_shl(high, 64 - n) | braid_shr(a * b, n);
}

/* 1 if a * b < c * d, with 128-bit products. */
braid_inline u32 braid_product_below(u64 a, u64 b, u64 c, u64 d)
{
	u64 left, right;

	/* The common case: 64-bit products, which BPF has. */
	if (!((a | b | c | d) >> 32))
		return braid_below(a * b, c * d);
	left = braid_mul_high(a, b);
	right = braid_mul_high(c, d);
	return braid_below(left, right) | (braid_equal(left, right) & braid_below(a * b, c * d));
}

/* Compares a and b: 0 if a < b, 1 if equal, 2 if a > b. */
braid_inline u32 braid_compare(u64 a, u64 b)
{
	return 1 + braid_below(b, a) - braid_below(a, b);
}

/* Compares a * b and c * d likewise, with 128-bit products. */
braid_inline u32 braid_compare_products(u64 a, u64 b, u64 c, u64 d)
{
	u32 high, low = braid_compare(a * b, c * d);

	/* The common case: 64-bit products, which BPF has. */
	if (!((a | b | c | d) >> 32))
		return low;
	high = braid_compare(braid_mul_high(a, b), braid_mul_high(c, d));
	return (u32)braid_select(braid_equal(high, 1), low, high);
}

/* One 32-bit digit of a long division: (rest * 2^32 + digit) / divisor, where rest < divisor and the divisor's top bit
 * is set. The estimate from the divisor's upper half is at most 2 too large (Knuth, The Art of Computer Programming,
 * vol. 2, 4.3.1, algorithm D). */
braid_inline u64 braid_divide_digit(u64 rest, u64 digit, u64 divisor, u64 *new_rest)
{
	u64 d1 = divisor >> 32, d0 = divisor & BRAID_U32_MAX;
	u64 q = rest / (d1 | !d1); /* d1 is never 0: the verifier and the sanitizers cannot know */
	u64 r = rest - q * d1;
	u64 too_large;

	too_large = q > BRAID_U32_MAX || q * d0 > ((r << 32) | digit);
	q -= too_large;
	r += too_large ? d1 : 0;
	too_large = r <= BRAID_U32_MAX && (q > BRAID_U32_MAX || q * d0 > ((r << 32) | digit));
	q -= too_large;
	*new_rest = ((rest << 32) | digit) - q * divisor;
	return q;
}

/* floor(a * b / c) with a 128-bit product; saturates; 0 if c is 0. */
braid_inline u64 braid_muldiv(u64 a, u64 b, u64 c)
{
	u64 high = braid_mul_high(a, b), low = a * b;
	u64 rest, q1, q0;
	u32 shift;

	if (c == 0)
		return 0;
	if (high == 0)
		return low / c;
	if (high >= c)
		return BRAID_U64_MAX;
	shift = braid_clz(c);
	c = braid_shl(c, shift);
	high = braid_shl(high, shift) | braid_shr(low, 64 - shift);
	low = braid_shl(low, shift);
	q1 = braid_divide_digit(high, low >> 32, c, &rest);
	q0 = braid_divide_digit(rest, low & BRAID_U32_MAX, c, &rest);
	return (q1 << 32) | q0;
}

/* a * b, or the largest u64. */
braid_inline u64 braid_mul(u64 a, u64 b)
{
	return braid_mul_high(a, b) ? BRAID_U64_MAX : a * b;
}

/* One step of the roots below: keeps the trial bit if the trial value still fits. */
#define BRAID_CBRT_STEP(s)                                        \
	do {                                                      \
		u64 trial = 3 * root * (root + 1) + 1;            \
		u64 fits = 1 ^ (u64)braid_below(x >> (s), trial); \
		x -= (trial << (s)) & (0 - fits);                 \
		root = (root + fits) << ((s) != 0);               \
	} while (0)

/* floor(cbrt(x)), at most 2642245. Digit by digit in base 8, 22 fixed steps. */
braid_inline u32 braid_cbrt(u64 x)
{
	u64 root = 0;

	BRAID_CBRT_STEP(63);
	BRAID_CBRT_STEP(60);
	BRAID_CBRT_STEP(57);
	BRAID_CBRT_STEP(54);
	BRAID_CBRT_STEP(51);
	BRAID_CBRT_STEP(48);
	BRAID_CBRT_STEP(45);
	BRAID_CBRT_STEP(42);
	BRAID_CBRT_STEP(39);
	BRAID_CBRT_STEP(36);
	BRAID_CBRT_STEP(33);
	BRAID_CBRT_STEP(30);
	BRAID_CBRT_STEP(27);
	BRAID_CBRT_STEP(24);
	BRAID_CBRT_STEP(21);
	BRAID_CBRT_STEP(18);
	BRAID_CBRT_STEP(15);
	BRAID_CBRT_STEP(12);
	BRAID_CBRT_STEP(9);
	BRAID_CBRT_STEP(6);
	BRAID_CBRT_STEP(3);
	BRAID_CBRT_STEP(0);
	return (u32)root;
}

#define BRAID_SQRT_STEP(s)                                 \
	do {                                               \
		u64 trial = root | (1ull << (s));          \
		u64 fits = 1 ^ (u64)braid_below(x, trial); \
		x -= trial & (0 - fits);                   \
		root = (root >> 1) | ((fits << (s)));      \
	} while (0)

/* floor(sqrt(x)). Digit by digit in base 4, 32 fixed steps. */
braid_inline u32 braid_sqrt(u64 x)
{
	u64 root = 0;

	BRAID_SQRT_STEP(62);
	BRAID_SQRT_STEP(60);
	BRAID_SQRT_STEP(58);
	BRAID_SQRT_STEP(56);
	BRAID_SQRT_STEP(54);
	BRAID_SQRT_STEP(52);
	BRAID_SQRT_STEP(50);
	BRAID_SQRT_STEP(48);
	BRAID_SQRT_STEP(46);
	BRAID_SQRT_STEP(44);
	BRAID_SQRT_STEP(42);
	BRAID_SQRT_STEP(40);
	BRAID_SQRT_STEP(38);
	BRAID_SQRT_STEP(36);
	BRAID_SQRT_STEP(34);
	BRAID_SQRT_STEP(32);
	BRAID_SQRT_STEP(30);
	BRAID_SQRT_STEP(28);
	BRAID_SQRT_STEP(26);
	BRAID_SQRT_STEP(24);
	BRAID_SQRT_STEP(22);
	BRAID_SQRT_STEP(20);
	BRAID_SQRT_STEP(18);
	BRAID_SQRT_STEP(16);
	BRAID_SQRT_STEP(14);
	BRAID_SQRT_STEP(12);
	BRAID_SQRT_STEP(10);
	BRAID_SQRT_STEP(8);
	BRAID_SQRT_STEP(6);
	BRAID_SQRT_STEP(4);
	BRAID_SQRT_STEP(2);
	BRAID_SQRT_STEP(0);
	return (u32)root;
}

#endif
