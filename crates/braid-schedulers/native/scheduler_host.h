/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The native host: BRAID_SCHEDULER makes one constant descriptor that other languages link to. */
#ifndef BRAID_NATIVE_SCHEDULER_HOST_H
#define BRAID_NATIVE_SCHEDULER_HOST_H

struct braid_scheduler_param {
	const char *name;
	u32 initial, low, high, scale;
	const char *unit;
	const char *help;
};

typedef void braid_scheduler_transition(const struct braid_paths *, void *, const void *, struct braid_choice *);

struct braid_scheduler {
	const char *name;
	u32 layout_version;
	u32 flags;
	u32 private_bytes;
	u32 n_params;
	const struct braid_scheduler_param *params;
	braid_scheduler_transition *on_event[4]; /* choose, join, rtt, blocked; 0: ignored */
};

#define BRAID_SCHEDULER_ROW(name, initial, low, high, scale, unit, help) \
	{ #name, initial, low, high, scale, unit, help },

#define BRAID_IGNORE 0

#define BRAID_SCHEDULER(name_, table, flags_, on_choose, on_join, on_rtt, on_blocked)                               \
	_Static_assert(sizeof(struct name_##_private) <= BRAID_SCHEDULER_BYTES, "private state of " #name_);        \
	static const struct braid_scheduler_param name_##_rows[] = { table(BRAID_SCHEDULER_ROW){ 0 } };             \
	extern const struct braid_scheduler braid_scheduler_##name_;                                                \
	const struct braid_scheduler braid_scheduler_##name_ = {                                                    \
		.name = #name_,                                                                                     \
		.layout_version = BRAID_SCHEDULER_LAYOUT_VERSION,                                                   \
		.flags = (flags_),                                                                                  \
		.private_bytes = sizeof(struct name_##_private),                                                    \
		.n_params = sizeof(name_##_rows) / sizeof(name_##_rows[0]) - 1,                                     \
		.params = name_##_rows,                                                                             \
		.on_event = { (braid_scheduler_transition *)(on_choose), (braid_scheduler_transition *)(on_join),   \
			      (braid_scheduler_transition *)(on_rtt), (braid_scheduler_transition *)(on_blocked) }, \
	};

#endif
