/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The module's interface to `braid`: generic netlink, family "braid". Mirrored by crates/braid-kernel/src/genetlink.rs. */
#ifndef BRAID_CONTROL_H
#define BRAID_CONTROL_H

#define BRAID_FAMILY "braid"
#define BRAID_FAMILY_VERSION 1

enum {
	BRAID_CMD_LOAD = 1, /* NAME, ALGORITHM, SET, SPEC */
	BRAID_CMD_UNLOAD,   /* NAME */
	BRAID_CMD_LOADED, /* dump: one message per version: NAME, ALGORITHM, SPEC, VERSION, SOCKETS, CURRENT, ACKS, LOSSES */
	BRAID_CMD_SOCKETS,  /* dump, of the caller's network namespace: COOKIE, ALGORITHM, ID, VERSION, WORDS */
	BRAID_CMD_STATE,    /* HINTS: what is stated from now on */
	BRAID_CMD_RECORD,   /* BYTES, NAME: begins to trace a name; BYTES: with a new ring. Without NAME: ends all */
	BRAID_CMD_RECORDS,  /* dump: RECORDS */
	BRAID_CMD_RECORDED, /* answer: SEQUENCE, LOST */
};

enum {
	BRAID_ATTR_NAME = 1,  /* text, without braid_ */
	BRAID_ATTR_ALGORITHM, /* text */
	BRAID_ATTR_SET,       /* text: KEY=NUMBER,... */
	BRAID_ATTR_SPEC,      /* text */
	BRAID_ATTR_VERSION,   /* u32 */
	BRAID_ATTR_SOCKETS,   /* u32 */
	BRAID_ATTR_CURRENT,   /* flag */
	BRAID_ATTR_ACKS,      /* u64[9] */
	BRAID_ATTR_LOSSES,    /* u64[4] */
	BRAID_ATTR_COOKIE,    /* u64 */
	BRAID_ATTR_ID,        /* u32 */
	BRAID_ATTR_WORDS,     /* u64[12]: the public words */
	BRAID_ATTR_HINTS,     /* struct braid_stated[] */
	BRAID_ATTR_BYTES,     /* u32 */
	BRAID_ATTR_RECORDS,   /* bytes: each record behind its length, a u64 */
	BRAID_ATTR_SEQUENCE,  /* u64 */
	BRAID_ATTR_LOST,      /* u64 */
	BRAID_ATTRS,
};

int braid_control_begin(void);
void braid_control_end(void);

#endif
