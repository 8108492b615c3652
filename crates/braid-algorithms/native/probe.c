// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* For tests in other languages: what the C compiler made of braid.h, and the functions of fixed.h under their names. */
#include "braid.h"

struct braid_probe_field {
	const char *name;
	u64 offset, size;
};

#define FIELD(type, field) \
	{ #type "." #field, __builtin_offsetof(struct braid_##type, field), sizeof(((struct braid_##type *)0)->field) }
#define WHOLE(type) { #type, 0, sizeof(struct braid_##type) }

extern const struct braid_probe_field braid_probe_fields[];
const struct braid_probe_field braid_probe_fields[] = {
	WHOLE(subflow),
	FIELD(subflow, cwnd),
	FIELD(subflow, ssthresh),
	FIELD(subflow, ca_state),
	FIELD(subflow, flags),
	FIELD(subflow, srtt_us),
	FIELD(subflow, min_rtt_us),
	FIELD(subflow, last_rtt_us),
	FIELD(subflow, mss),
	FIELD(subflow, in_flight),
	FIELD(subflow, prior_cwnd),
	FIELD(subflow, cwnd_clamp),
	FIELD(subflow, delivered),
	FIELD(subflow, delivered_ce),
	FIELD(subflow, lost),
	FIELD(subflow, id),
	FIELD(subflow, hint),
	FIELD(subflow, snd_una),
	FIELD(subflow, snd_nxt),
	FIELD(subflow, last_ack_us),
	FIELD(subflow, pacing_rate),
	FIELD(subflow, public_words),
	WHOLE(view),
	FIELD(view, connection),
	FIELD(view, n),
	FIELD(view, self),
	FIELD(view, subflow),
	WHOLE(event),
	FIELD(event, now_us),
	FIELD(event, type),
	FIELD(event, cause),
	FIELD(event, flags),
	FIELD(event, acked),
	FIELD(event, grow),
	FIELD(event, acked_bytes),
	FIELD(event, rtt_us),
	FIELD(event, idle_us),
	FIELD(event, owd_us),
	FIELD(event, rate_delivered),
	FIELD(event, rate_interval_us),
	FIELD(event, rate_prior_delivered),
	FIELD(event, rate_losses),
	FIELD(event, prior_in_flight),
	{ 0 },
};

struct braid_probe_function {
	const char *name;
	u64 (*call)(u64 a, u64 b, u64 c);
};

#define FUNCTIONS(F)                                           \
	F(below, braid_below(a, b))                            \
	F(below32, braid_below32((u32)a, (u32)b))              \
	F(equal, braid_equal(a, b))                            \
	F(select, braid_select((u32)a, b, c))                  \
	F(min32, braid_min32((u32)a, (u32)b))                  \
	F(max32, braid_max32((u32)a, (u32)b))                  \
	F(min, braid_min(a, b))                                \
	F(max, braid_max(a, b))                                \
	F(clamp, braid_clamp(a, b, c))                         \
	F(add, braid_add(a, b))                                \
	F(sub, braid_sub(a, b))                                \
	F(div, braid_div(a, b))                                \
	F(div_up, braid_div_up(a, b))                          \
	F(quotient, braid_quotient(a, b, braid_reciprocal(b))) \
	F(sdiv, braid_sdiv((s64)a, b))                         \
	F(shl, braid_shl(a, (u32)b))                           \
	F(shr, braid_shr(a, (u32)b))                           \
	F(clz, braid_clz(a))                                   \
	F(mul_high, braid_mul_high(a, b))                      \
	F(mul_shift, braid_mul_shift(a, b, (u32)c))            \
	F(muldiv, braid_muldiv(a, b, c))                       \
	F(mul, braid_mul(a, b))                                \
	F(cbrt, braid_cbrt(a))                                 \
	F(sqrt, braid_sqrt(a))

#define DEFINE(name, expression)                     \
	static u64 probe_##name(u64 a, u64 b, u64 c) \
	{                                            \
		return (u64)(expression);            \
	}
#define ROW(name, expression) { #name, probe_##name },

FUNCTIONS(DEFINE)

extern const struct braid_probe_function braid_probe_functions[];
const struct braid_probe_function braid_probe_functions[] = { FUNCTIONS(ROW){ 0 } };

u32 braid_probe_compare_products(u64 a, u64 b, u64 c, u64 d);
u32 braid_probe_compare_products(u64 a, u64 b, u64 c, u64 d)
{
	return braid_compare_products(a, b, c, d);
}

u32 braid_probe_product_below(u64 a, u64 b, u64 c, u64 d);
u32 braid_probe_product_below(u64 a, u64 b, u64 c, u64 d)
{
	return braid_product_below(a, b, c, d);
}
