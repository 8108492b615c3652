/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel module as host: BRAID_SCHEDULER makes a descriptor of each scheduler, and module.c registers it. Scheduler
 * files are compiled unchanged, without kernel headers. */
#ifndef BRAID_MODULE_SCHEDULER_HOST_H
#define BRAID_MODULE_SCHEDULER_HOST_H

struct braid_scheduler_param {
	const char *name;
	u32 initial, low, high;
};

typedef void braid_scheduler_transition(const struct braid_paths *, void *, const void *, struct braid_choice *);

enum braid_scheduler_event { BRAID_CHOOSE, BRAID_JOIN, BRAID_RTT, BRAID_BLOCKED, BRAID_EVENTS };

struct braid_scheduler {
	const char *name;
	u32 flags;
	u32 n_params;
	const struct braid_scheduler_param *params;
	braid_scheduler_transition *on_event[BRAID_EVENTS];
};

#define BRAID_SCHEDULER_ROW(name, initial, low, high, scale, unit, help) { #name, initial, low, high },

braid_inline void braid_ignore(const struct braid_paths *view, void *priv, const void *params,
			       struct braid_choice *choice)
{
}
#define BRAID_IGNORE braid_ignore

/* A function of the descriptor's type for each event: kernels that check the types of indirect calls accept no
 * other. */
#define BRAID_MODULE_EVENT(name_, event, transition)                                                       \
	static void name_##_module_##event(const struct braid_paths *view, void *priv, const void *params, \
					   struct braid_choice *choice)                                    \
	{                                                                                                  \
		transition(view, priv, params, choice);                                                    \
	}

#define BRAID_SCHEDULER(name_, table, flags_, on_choose, on_join, on_rtt, on_blocked)                            \
	_Static_assert(sizeof(struct name_##_private) <= BRAID_SCHEDULER_BYTES, "private state of " #name_);     \
	_Static_assert(sizeof(struct name_##_params) <= 4 * BRAID_MODULE_PARAMS, "parameters of " #name_);       \
	BRAID_MODULE_EVENT(name_, choose, on_choose)                                                             \
	BRAID_MODULE_EVENT(name_, join, on_join)                                                                 \
	BRAID_MODULE_EVENT(name_, rtt, on_rtt)                                                                   \
	BRAID_MODULE_EVENT(name_, blocked, on_blocked)                                                           \
	static const struct braid_scheduler_param name_##_rows[] = { table(BRAID_SCHEDULER_ROW){ 0, 0, 0, 0 } }; \
	extern const struct braid_scheduler braid_scheduler_##name_;                                             \
	const struct braid_scheduler braid_scheduler_##name_ = {                                                 \
		.name = #name_,                                                                                  \
		.flags = (flags_),                                                                               \
		.n_params = sizeof(name_##_rows) / sizeof(name_##_rows[0]) - 1,                                  \
		.params = name_##_rows,                                                                          \
		.on_event = { name_##_module_choose, name_##_module_join, name_##_module_rtt,                    \
			      name_##_module_blocked },                                                          \
	};

/* Maximum of a scheduler's parameters. */
#define BRAID_MODULE_PARAMS 16

#endif
