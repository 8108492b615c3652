/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The module as host: what BRAID_ALGORITHM means when an algorithm's file, unchanged, is compiled by Kbuild. */
#ifndef BRAID_MODULE_HOST_H
#define BRAID_MODULE_HOST_H

#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "compat.h"
#include "hints.h"
#include "instance.h"
#include "registry.h"

#ifndef BRAID_SOURCE_HASH
#define BRAID_SOURCE_HASH 0
#endif

#define BRAID_LOAD(x) READ_ONCE(x)
#define BRAID_BITS(object, field) ((u32)(object)->field)
#define BRAID_OPAQUE(x) ((void)0)

#include "shared/view.h"
#include "shared/hooks.h"

braid_inline void braid_ignore(struct braid_view *view, void *priv, const void *params, const struct braid_event *event)
{
}
#define BRAID_IGNORE braid_ignore

static void braid_init(struct sock *sk)
{
	braid_on_init(tcp_sk(sk));
}

static void braid_release(struct sock *sk)
{
	braid_on_release(tcp_sk(sk));
}

static u32 braid_ssthresh(struct sock *sk)
{
	return braid_on_ssthresh(tcp_sk(sk));
}

static u32 braid_undo_cwnd(struct sock *sk)
{
	return braid_on_undo_cwnd(tcp_sk(sk));
}

static void __maybe_unused braid_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	braid_on_cong_avoid(tcp_sk(sk), ack, acked);
}

static void __maybe_unused braid_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	braid_on_pkts_acked(tcp_sk(sk), sample->rtt_us);
}

static void __maybe_unused braid_set_state(struct sock *sk, u8 new_state)
{
	braid_on_set_state(tcp_sk(sk), new_state);
}

static void __maybe_unused braid_cong_control(BRAID_CONTROL_ARGUMENTS)
{
	braid_control(tcp_sk(sk), sample);
}

static void __maybe_unused braid_tx_start(struct sock *sk)
{
	braid_start(tcp_sk(sk));
}

static void __maybe_unused braid_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_CWND_RESTART)
		braid_mark(tcp_sk(sk), BRAID_DECAYED);
	else if (BRAID_IS_TX_START(event))
		braid_start(tcp_sk(sk));
}

#define BRAID_ROW(name, initial, low, high, scale, unit, help) { #name, initial, low, high },

#define BRAID_ALGORITHM(name_, table, flags_, init_, release_, on_ack_, on_loss_, on_recovered_, on_idle_restart) \
	_Static_assert(sizeof(struct name_##_public) <= BRAID_PUBLIC_WORDS * 8, "public state of " #name_);       \
	_Static_assert(sizeof(struct name_##_private) <= BRAID_PRIVATE_BYTES, "private state of " #name_);        \
	static const struct braid_param_row braid_rows[] = { table(BRAID_ROW){ 0 } };                             \
	static const struct tcp_congestion_ops braid_ops = {                                                      \
		.flags = TCP_CONG_NON_RESTRICTED,                                                                 \
		.init = braid_init,                                                                               \
		.release = braid_release,                                                                         \
		.ssthresh = braid_ssthresh,                                                                       \
		.undo_cwnd = braid_undo_cwnd,                                                                     \
		.cwnd_event = BRAID_MINDS(on_idle_restart) ? braid_cwnd_event : NULL,                             \
		.cong_avoid = (flags_) & BRAID_OWNS_CWND ? NULL : braid_cong_avoid,                               \
		.pkts_acked = (flags_) & (BRAID_OWNS_CWND | BRAID_GROWTH_ONLY) ? NULL : braid_pkts_acked,         \
		.cong_control = (flags_) & BRAID_OWNS_CWND ? braid_cong_control : NULL,                           \
		.set_state = (flags_) & BRAID_OWNS_CWND ? braid_set_state : NULL,                                 \
		BRAID_TX_START(BRAID_MINDS(on_idle_restart) ? braid_tx_start : NULL).owner = THIS_MODULE,         \
	};                                                                                                        \
	extern const struct braid_algorithm braid_algorithm_##name_;                                              \
	const struct braid_algorithm braid_algorithm_##name_ = {                                                  \
		.name = #name_,                                                                                   \
		.ops = &braid_ops,                                                                                \
		.rows = braid_rows,                                                                               \
		.n_params = ARRAY_SIZE(braid_rows) - 1,                                                           \
		.source_hash = BRAID_SOURCE_HASH,                                                                 \
	};                                                                                                        \
	/* Setting the sysctl to braid_NAME loads the module. */                                                  \
	MODULE_ALIAS("tcp_braid_" #name_);                                                                        \
	braid_inline const struct braid_algorithm *braid_algorithm_here(void)                                     \
	{                                                                                                         \
		return &braid_algorithm_##name_;                                                                  \
	}                                                                                                         \
	braid_inline u32 braid_flags(void)                                                                        \
	{                                                                                                         \
		return (flags_);                                                                                  \
	}                                                                                                         \
	braid_inline u64 braid_identity(void)                                                                     \
	{                                                                                                         \
		return braid_identity_of(#name_, sizeof(#name_) - 1);                                             \
	}                                                                                                         \
	braid_inline u32 braid_public_words(void)                                                                 \
	{                                                                                                         \
		return (sizeof(struct name_##_public) + 7) / 8;                                                   \
	}                                                                                                         \
	braid_inline u32 braid_private_bytes(void)                                                                \
	{                                                                                                         \
		return sizeof(struct name_##_private);                                                            \
	}                                                                                                         \
	braid_inline void braid_call_algorithm(const struct braid_hook *hook, u32 type)                           \
	{                                                                                                         \
		struct braid_own *own = braid_own_of(hook->tp);                                                   \
		const struct name_##_params *params = (const void *)own->node.version->params;                    \
		const struct braid_event *event = &hook->work->event;                                             \
		struct braid_view *view = braid_view(hook);                                                       \
                                                                                                                  \
		switch (type) {                                                                                   \
		case BRAID_INIT: init_(view, own->priv, params, event); break;                                    \
		case BRAID_RELEASE: release_(view, own->priv, params, event); break;                              \
		case BRAID_ON_LOSS: on_loss_(view, own->priv, params, event); break;                              \
		case BRAID_ON_RECOVERED: on_recovered_(view, own->priv, params, event); break;                    \
		case BRAID_ON_ACK: on_ack_(view, own->priv, params, event); break;                                \
		case BRAID_ON_IDLE_RESTART: on_idle_restart(view, own->priv, params, event); break;               \
		}                                                                                                 \
	}

#endif
