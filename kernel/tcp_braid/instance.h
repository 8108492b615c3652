/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is loaded: an algorithm under a name, with parameters. A name that is loaded again gets a new version of its
 * parameters; sockets keep the version that they began with.
 */
#ifndef BRAID_INSTANCE_H
#define BRAID_INSTANCE_H

#include <linux/percpu.h>
#include <net/tcp.h>

#define BRAID_COUNTED_SUBFLOWS 9
#define BRAID_COUNTED_CAUSES 4

struct braid_counts {
	u64 acks[BRAID_COUNTED_SUBFLOWS]; /* delivered, by the number of eligible subflows on this algorithm */
	u64 losses[BRAID_COUNTED_CAUSES]; /* delivered, by cause */
};

/* A row of an algorithm's table of parameters. */
struct braid_param_row {
	const char *name;
	u32 initial, low, high;
};

/* An algorithm, as host.h makes it of its file. */
struct braid_algorithm {
	const char *name;
	const struct tcp_congestion_ops *ops;
	const struct braid_param_row *rows;
	u32 n_params;
	u64 source_hash;
};

/* Whole words of 64 bits, as a trace has them. */
#define BRAID_PARAMS_BYTES(n) (((n) + 1) / 2 * 8)

struct braid_version {
	struct list_head entry;
	u32 id;      /* over all instances, from 1 */
	u32 sockets; /* that run it */
	const char *spec;
	u32 params[];
};

struct braid_instance {
	struct tcp_congestion_ops ops; /* first, so that hooks find it by icsk_ca_ops */
	const struct braid_algorithm *algorithm;
	struct braid_counts __percpu *counts;
	struct braid_version *current_version;
	struct list_head versions, entry;
	bool is_registered;
	bool is_traced;
};

#define BRAID_EACH_INSTANCE(instance) list_for_each_entry(instance, &braid_instances, entry)
/* All there ever were: a socket may have its ops until the module goes. Under the lock. */
extern struct list_head braid_instances;
extern struct mutex braid_instances_lock;

struct braid_version *braid_version_get(struct braid_instance *instance);
void braid_version_put(struct braid_instance *instance, struct braid_version *version);
/* Keeps versions as they are. */
void braid_versions_lock(void);
void braid_versions_unlock(void);

const struct braid_algorithm *braid_algorithm_of(const char *name);
struct braid_instance *braid_instance_of(const char *name);
/*
 * Registers the algorithm as braid_NAME, or gives new sockets new parameters where it is registered already. `set` is
 * KEY=NUMBER,... in the units of the algorithm's file; keys that it does not name have their defaults. With the lock.
 */
int braid_load(const char *name, const struct braid_algorithm *algorithm, const char *set, const char *spec);
/* Sockets that have it keep it. With the lock. */
void braid_unload(struct braid_instance *instance);

int braid_instances_begin(void);
void braid_instances_end(void);

#endif
