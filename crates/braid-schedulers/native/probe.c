// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The layout as C sees it, to be compared with what Rust takes it for. */
#include "scheduler.h"

extern const unsigned int braid_scheduler_layout[];
const unsigned int braid_scheduler_layout[] = {
	sizeof(struct braid_path),
	sizeof(struct braid_paths),
	sizeof(struct braid_choice),
	__builtin_offsetof(struct braid_path, memory),
	__builtin_offsetof(struct braid_paths, window),
	__builtin_offsetof(struct braid_paths, path),
	__builtin_offsetof(struct braid_choice, ssthresh),
};
