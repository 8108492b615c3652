/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the kernel has the fields of its structures for MPTCP. These are private to net/mptcp, no package of headers has
 * them, and they change between releases: so they are looked up by name in the running kernel's type information (BTF) when
 * the module is loaded. The log names a field that is missing or has another size, and the module is not loaded. Each module
 * has its list in fields.h.
 */
#ifndef BRAID_MODULE_LAYOUT_H
#define BRAID_MODULE_LAYOUT_H

#include <linux/types.h>
#include <linux/compiler.h>

#include "fields.h"

#define BRAID_LAYOUT_FIELD(structure, field, bits) u32 structure##_##field;
/* Offsets in bits. */
struct braid_layout {
	BRAID_LAYOUT(BRAID_LAYOUT_FIELD)
};
extern struct braid_layout braid_layout;

/* Fills it. 0, or an error, which is logged; -ENOENT, without a log: there is no type information. */
int braid_layout_find(void);

/* A field of `base`, as an lvalue. */
#define braid_field(type, base, field) (*(type *)((u8 *)(base) + braid_layout.field / 8))

#define braid_flag(base, field) \
	(READ_ONCE(((const u8 *)(base))[braid_layout.field / 8]) >> (braid_layout.field % 8) & 1)

/* The structure whose field `entry` is. */
#define braid_of(entry, field) ((void *)((u8 *)(entry) - braid_layout.field / 8))

#endif
