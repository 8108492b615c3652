/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The native host: BRAID_ALGORITHM makes one constant descriptor that other languages link to. */
#ifndef BRAID_NATIVE_HOST_H
#define BRAID_NATIVE_HOST_H

struct braid_param {
	const char *name;
	u32 initial, low, high, scale;
	const char *unit;
	const char *help;
};

typedef void braid_transition(struct braid_view *, void *, const void *, const struct braid_event *);

struct braid_algorithm {
	const char *name;
	u32 layout_version;
	u32 flags;
	u32 public_bytes;
	u32 private_bytes;
	u32 params_bytes;
	u32 n_params;
	const struct braid_param *params;
	braid_transition *on_event[6]; /* indexed by enum braid_event_type */
};

#define BRAID_PARAM_ROW(name, initial, low, high, scale, unit, help) { #name, initial, low, high, scale, unit, help },

braid_inline void braid_ignore(struct braid_view *view, void *priv, const void *params, const struct braid_event *event)
{
}
#define BRAID_IGNORE braid_ignore

#define BRAID_ALGORITHM(name_, table, flags_, init, release, on_ack, on_loss, on_recovered, on_idle_restart) \
	_Static_assert(sizeof(struct name_##_public) <= BRAID_PUBLIC_WORDS * 8, "public state of " #name_);  \
	_Static_assert(sizeof(struct name_##_private) <= BRAID_PRIVATE_BYTES, "private state of " #name_);   \
	_Static_assert(sizeof(#name_) <= 10, "name of " #name_ ": at most 9 characters");                    \
	static const struct braid_param name_##_param_rows[] = { table(BRAID_PARAM_ROW){ 0 } };              \
	extern const struct braid_algorithm braid_algorithm_##name_;                                         \
	const struct braid_algorithm braid_algorithm_##name_ = {                                                      \
		.name = #name_,                                                                                       \
		.layout_version = BRAID_LAYOUT_VERSION,                                                               \
		.flags = (flags_),                                                                                    \
		.public_bytes = sizeof(struct name_##_public),                                                        \
		.private_bytes = sizeof(struct name_##_private),                                                      \
		.params_bytes = sizeof(struct name_##_params),                                                        \
		.n_params = sizeof(name_##_param_rows) / sizeof(name_##_param_rows[0]) - 1,                           \
		.params = name_##_param_rows,                                                                         \
		.on_event = {                                                                                         \
			[BRAID_INIT] = (braid_transition *)(init),                                                    \
			[BRAID_RELEASE] = (braid_transition *)(release),                                              \
			[BRAID_ON_LOSS] = (braid_transition *)(on_loss),                                              \
			[BRAID_ON_RECOVERED] = (braid_transition *)(on_recovered),                                    \
			[BRAID_ON_ACK] = (braid_transition *)(on_ack),                                                \
			[BRAID_ON_IDLE_RESTART] = (braid_transition *)(on_idle_restart),                              \
		},                                                                                                    \
	};

#endif
