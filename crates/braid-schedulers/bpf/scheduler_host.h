/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BPF as host: one program per event over memory that its caller lays out. It shows that a scheduler compiles for BPF; to run
 * one in a kernel takes a hook, which mainline does not have. */
#ifndef BRAID_BPF_SCHEDULER_HOST_H
#define BRAID_BPF_SCHEDULER_HOST_H

/* Arguments of a program. */
struct braid_scheduler_memory {
	struct braid_paths view;
	struct braid_choice choice;
	u32 params[16];
	u8 private[BRAID_SCHEDULER_BYTES];
};

braid_inline void braid_ignore(const struct braid_paths *view, void *priv, const void *params,
			       struct braid_choice *choice)
{
}
#define BRAID_IGNORE braid_ignore

#define BRAID_BPF_EVENT(name_, event, transition)                                                \
	__attribute__((section("braid/" #event), used)) u64 name_##_bpf_##event(void *memory)    \
	{                                                                                        \
		struct braid_scheduler_memory *own = memory;                                     \
                                                                                                 \
		transition(&own->view, (void *)own->private, (void *)own->params, &own->choice); \
		return 0;                                                                        \
	}

#define BRAID_SCHEDULER(name_, table, flags_, on_choose, on_join, on_rtt, on_blocked)                        \
	_Static_assert(sizeof(struct name_##_private) <= BRAID_SCHEDULER_BYTES, "private state of " #name_); \
	_Static_assert(sizeof(struct name_##_params) <= 64, "parameters of " #name_);                        \
	BRAID_BPF_EVENT(name_, choose, on_choose)                                                            \
	BRAID_BPF_EVENT(name_, join, on_join)                                                                \
	BRAID_BPF_EVENT(name_, rtt, on_rtt)                                                                  \
	BRAID_BPF_EVENT(name_, blocked, on_blocked)

#endif
