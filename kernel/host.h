/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel host: BRAID_ALGORITHM for BPF. Algorithm files are compiled unchanged; braid.h finds this header on the
 * include path.
 */
#ifndef BRAID_KERNEL_HOST_H
#define BRAID_KERNEL_HOST_H

#include "bpf.h"
#include "tcp.h"
#include "compat.h"

/* Calls the transition for an event of that type. Its definition is at the end of the algorithm's file, see
 * BRAID_ALGORITHM. */
braid_inline void braid_deliver(struct braid_view *view, void *priv, const struct braid_event *event, u32 type);

#include "shared/view.h"
#include "siblings.h"
#include "hints.h"
#include "shared/hooks.h"
#include "ops.h"

/*
 * Parity: transitions on calls prepared by user space, without a socket or traffic. So every transition is verified,
 * and its results are compared with the native build word by word.
 */
#define BRAID_PARITY_CALLS 256

/* The arguments of one call, overwritten with its results. In a map, as an 8-subflow view is too large for the stack of
 * 512 bytes. Mirrored by `Call` in crates/braid-kernel. */
struct braid_call {
	struct braid_event event;
	struct braid_view view;
	u64 priv[BRAID_PRIVATE_BYTES / 8];
};

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, BRAID_PARITY_CALLS);
	MAP_NUMBER(map_flags, BPF_F_MMAPABLE);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct braid_call);
} braid_calls SEC(".maps");

static long braid_parity_call(u32 index, void *unused)
{
	struct braid_call *call = bpf_map_lookup_elem(&braid_calls, &index);

	if (!call)
		return 1;
	braid_deliver(&call->view, call->priv, &call->event, call->event.type);
	return 0;
}

/* Runs the first batch->count calls. Returns the number of calls begun. */
SEC("syscall") long braid_parity(struct braid_batch *batch)
{
	return bpf_loop(batch->count, braid_parity_call, 0, 0);
}

braid_inline void braid_ignore(struct braid_view *view, void *priv, const void *params, const struct braid_event *event)
{
}
#define BRAID_IGNORE braid_ignore

/* The loaded spec, for `braid status`: NAME[:key=value]... */
const volatile char braid_spec[2048] SEC(".rodata.spec");

/*
 * Parameters are in a separate read-only section. User space overwrites it before loading the object, then the kernel
 * freezes it and its verifier sees constants. The compiler must not: hence volatile and BRAID_OPAQUE. The union gives
 * an algorithm without parameters a section, too.
 */
#define BRAID_ALGORITHM(name_, table, flags_, init, release, on_ack, on_loss, on_recovered, on_idle_restart)   \
	_Static_assert(!((flags_) & BRAID_WANTS_RATE) || (flags_) & BRAID_OWNS_CWND,                           \
		       "the kernel gives rate samples to those only that own the window: " #name_);            \
	_Static_assert(sizeof(struct name_##_public) <= BRAID_PUBLIC_WORDS * 8, "public state of " #name_);    \
	_Static_assert(sizeof(struct name_##_private) <= BRAID_PRIVATE_BYTES, "private state of " #name_);     \
	const volatile union {                                                                                 \
		struct name_##_params params;                                                                  \
		u32 at_least_one_word;                                                                         \
	} braid_params SEC(".rodata.params") = { .params = { table(BRAID_PARAM_INITIAL) } };                   \
	/* A scratch buffer. Parameters and the following members are part of a trace's record. */             \
	struct braid_place {                                                                                   \
		struct braid_work work;                                                                        \
		u32 params[(sizeof(struct name_##_params) + 7) / 8 * 2];                                       \
		struct name_##_private priv;                                                                   \
		struct braid_view view;                                                                        \
	};                                                                                                     \
	struct braid_places {                                                                                  \
		struct braid_desk desk;                                                                        \
		struct braid_place place[BRAID_PLACES];                                                        \
	};                                                                                                     \
	struct braid_stored {                                                                                  \
		struct braid_socket socket;                                                                    \
		struct braid_note note;                                                                        \
		struct braid_hinted hinted;                                                                    \
		struct name_##_private priv;                                                                   \
	};                                                                                                     \
	_Static_assert(sizeof(struct name_##_private) % 8 == 0, "words only: private state of " #name_);       \
	struct {                                                                                               \
		MAP_NUMBER(type, BPF_MAP_TYPE_SK_STORAGE);                                                     \
		MAP_NUMBER(map_flags, BPF_F_NO_PREALLOC);                                                      \
		MAP_TYPE(key, int);                                                                            \
		MAP_TYPE(value, struct braid_stored);                                                          \
	} braid_sockets SEC(".maps");                                                                          \
	struct {                                                                                               \
		MAP_NUMBER(type, BPF_MAP_TYPE_PERCPU_ARRAY);                                                   \
		MAP_NUMBER(max_entries, 1);                                                                    \
		MAP_TYPE(key, u32);                                                                            \
		MAP_TYPE(value, struct braid_places);                                                          \
	} braid_works SEC(".maps");                                                                            \
	braid_inline struct braid_desk *braid_desk(void)                                                       \
	{                                                                                                      \
		u32 only = 0;                                                                                  \
                                                                                                               \
		return bpf_map_lookup_elem(&braid_works, &only);                                               \
	}                                                                                                      \
	braid_inline struct braid_work *braid_work_at(struct braid_desk *desk, u32 place)                      \
	{                                                                                                      \
		return &((struct braid_places *)desk)->place[place].work;                                      \
	}                                                                                                      \
	braid_inline struct braid_socket *braid_storage_of(struct tcp_sock *tp, u64 create)                    \
	{                                                                                                      \
		return bpf_sk_storage_get(&braid_sockets, tp, 0, create);                                      \
	}                                                                                                      \
	braid_inline void braid_delete_storage(struct tcp_sock *tp)                                            \
	{                                                                                                      \
		bpf_sk_storage_delete(&braid_sockets, tp);                                                     \
	}                                                                                                      \
	braid_inline struct braid_view *braid_view_of(struct braid_work *work)                                 \
	{                                                                                                      \
		return &((struct braid_place *)work)->view;                                                    \
	}                                                                                                      \
	braid_inline void *braid_private_at(struct braid_work *work)                                           \
	{                                                                                                      \
		return &((struct braid_place *)work)->priv;                                                    \
	}                                                                                                      \
	braid_inline void *braid_private_in(struct braid_socket *storage)                                      \
	{                                                                                                      \
		return &((struct braid_stored *)storage)->priv;                                                \
	}                                                                                                      \
	braid_inline struct braid_note *braid_note_in(struct braid_socket *storage)                            \
	{                                                                                                      \
		return &((struct braid_stored *)storage)->note;                                                \
	}                                                                                                      \
	braid_inline struct braid_hinted *braid_hinted_of(struct braid_socket *storage)                        \
	{                                                                                                      \
		return &((struct braid_stored *)storage)->hinted;                                              \
	}                                                                                                      \
	braid_inline u32 braid_private_words(void)                                                             \
	{                                                                                                      \
		return sizeof(struct name_##_private) / 8;                                                     \
	}                                                                                                      \
	braid_inline u32 braid_record_bytes(struct braid_work *work)                                           \
	{                                                                                                      \
		u32 n = braid_view_of(work)->n;                                                                \
                                                                                                               \
		if (n > BRAID_MAX_SUBFLOWS)                                                                    \
			n = BRAID_MAX_SUBFLOWS;                                                                \
		return __builtin_offsetof(struct braid_place, view.subflow) -                                  \
		       __builtin_offsetof(struct braid_place, work.record) + n * sizeof(struct braid_subflow); \
	}                                                                                                      \
	/* A global function: the verifier checks its loop once per program, not at each call. */              \
	__attribute__((noinline)) int braid_copy_private(struct name_##_private *to,                           \
							 const struct name_##_private *from)                   \
	{                                                                                                      \
		u32 k;                                                                                         \
                                                                                                               \
		for (k = 0; to && from && k < sizeof(*to) / 8; k++)                                            \
			((volatile u64 *)to)[k] = ((const volatile u64 *)from)[k];                             \
		return 0;                                                                                      \
	}                                                                                                      \
	braid_inline void braid_record_private(struct braid_work *work, const void *priv)                      \
	{                                                                                                      \
		braid_copy_private(braid_private_at(work), priv);                                              \
	}                                                                                                      \
	braid_inline void braid_record_params(struct braid_work *work)                                         \
	{                                                                                                      \
		const volatile u32 *from = (const volatile u32 *)&braid_params;                                \
		u32 k;                                                                                         \
                                                                                                               \
		for (k = 0; k < sizeof(struct name_##_params) / 4; k++)                                        \
			((struct braid_place *)work)->params[k] = from[k];                                     \
	}                                                                                                      \
	braid_inline u32 braid_flags(void)                                                                     \
	{                                                                                                      \
		return (flags_);                                                                               \
	}                                                                                                      \
	braid_inline u64 braid_identity(void)                                                                  \
	{                                                                                                      \
		return braid_identity_of(#name_, sizeof(#name_) - 1);                                          \
	}                                                                                                      \
	braid_inline u32 braid_public_words(void)                                                              \
	{                                                                                                      \
		return (sizeof(struct name_##_public) + 7) / 8;                                                \
	}                                                                                                      \
	braid_inline void braid_deliver(struct braid_view *view, void *priv, const struct braid_event *event,  \
					u32 type)                                                              \
	{                                                                                                      \
		const struct name_##_params *params = (const struct name_##_params *)&braid_params;            \
                                                                                                               \
		BRAID_OPAQUE(params);                                                                          \
		switch (type) {                                                                                \
		case BRAID_INIT: init(view, priv, params, event); break;                                       \
		case BRAID_RELEASE: release(view, priv, params, event); break;                                 \
		case BRAID_ON_LOSS: on_loss(view, priv, params, event); break;                                 \
		case BRAID_ON_RECOVERED: on_recovered(view, priv, params, event); break;                       \
		case BRAID_ON_ACK: on_ack(view, priv, params, event); break;                                   \
		case BRAID_ON_IDLE_RESTART: on_idle_restart(view, priv, params, event); break;                 \
		}                                                                                              \
	}                                                                                                      \
	BRAID_OPS(flags_, on_idle_restart)

#endif
