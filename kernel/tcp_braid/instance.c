// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Loading and unloading algorithms under names, see instance.h. */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "instance.h"
#include "list.h"

#define DECLARE(name_) extern const struct braid_algorithm braid_algorithm_##name_;
#define ENTRY(name_) &braid_algorithm_##name_,
BRAID_ALGORITHMS(DECLARE)

static const struct braid_algorithm *const algorithms[] = { BRAID_ALGORITHMS(ENTRY) };

LIST_HEAD(braid_instances);
DEFINE_MUTEX(braid_instances_lock);
static DEFINE_SPINLOCK(versions_lock);
static u32 last_version;

static char *load = "all";
module_param_named(algorithms, load, charp, 0444);
MODULE_PARM_DESC(algorithms, "what to register at once: all, none, or NAME,NAME,...");

const struct braid_algorithm *braid_algorithm_of(const char *name)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(algorithms); i++)
		if (!strcmp(algorithms[i]->name, name))
			return algorithms[i];
	return NULL;
}

void braid_versions_lock(void)
{
	spin_lock_bh(&versions_lock);
}

void braid_versions_unlock(void)
{
	spin_unlock_bh(&versions_lock);
}

struct braid_version *braid_version_get(struct braid_instance *instance)
{
	struct braid_version *version;

	braid_versions_lock();
	version = instance->current_version;
	version->sockets++;
	braid_versions_unlock();
	return version;
}

static void free_if_unused(const struct braid_instance *instance, struct braid_version *version)
{
	if (version->sockets || version == instance->current_version)
		return;
	list_del(&version->entry);
	kfree(version->spec);
	kfree(version);
}

void braid_version_put(struct braid_instance *instance, struct braid_version *version)
{
	braid_versions_lock();
	version->sockets--;
	free_if_unused(instance, version);
	braid_versions_unlock();
}

/* KEY=NUMBER into the parameters. */
static int set_param(const struct braid_algorithm *algorithm, u32 *params, const char *key, char *value)
{
	u32 k, number;

	for (k = 0; k < algorithm->n_params; k++) {
		const struct braid_param_row *row = &algorithm->rows[k];

		if (strcmp(row->name, key))
			continue;
		if (kstrtou32(value, 10, &number) || number < row->low || number > row->high)
			return -ERANGE;
		params[k] = number;
		return 0;
	}
	return -EINVAL;
}

static int set_params(const struct braid_algorithm *algorithm, u32 *params, const char *set)
{
	char *text = kstrdup(set, GFP_KERNEL), *rest = text, *assignment;
	int error = text ? 0 : -ENOMEM;

	while (!error && (assignment = strsep(&rest, ","))) {
		char *value = strchr(assignment, '=');

		if (!*assignment)
			continue;
		if (value)
			*value++ = 0;
		error = value ? set_param(algorithm, params, assignment, value) : -EINVAL;
	}
	kfree(text);
	return error;
}

static struct braid_version *new_version(const struct braid_algorithm *algorithm, const char *set, const char *spec)
{
	struct braid_version *version = kzalloc(sizeof(*version) + BRAID_PARAMS_BYTES(algorithm->n_params), GFP_KERNEL);
	int error;
	u32 k;

	if (!version)
		return ERR_PTR(-ENOMEM);
	for (k = 0; k < algorithm->n_params; k++)
		version->params[k] = algorithm->rows[k].initial;
	version->spec = kstrdup(spec, GFP_KERNEL);
	error = version->spec ? set_params(algorithm, version->params, set) : -ENOMEM;
	if (error) {
		kfree(version->spec);
		kfree(version);
		return ERR_PTR(error);
	}
	version->id = ++last_version;
	return version;
}

static void take_version(struct braid_instance *instance, struct braid_version *version)
{
	struct braid_version *before = instance->current_version;

	braid_versions_lock();
	instance->current_version = version;
	list_add(&version->entry, &instance->versions);
	if (before)
		free_if_unused(instance, before);
	braid_versions_unlock();
}

struct braid_instance *braid_instance_of(const char *name)
{
	struct braid_instance *instance;

	BRAID_EACH_INSTANCE(instance)
	if (instance->is_registered && !strcmp(instance->ops.name + strlen("braid_"), name))
		return instance;
	return NULL;
}

/* One that was unloaded and has the same name and algorithm, or a new one. */
static struct braid_instance *unregistered(const char *name, const struct braid_algorithm *algorithm)
{
	struct braid_instance *instance;
	int cpu;

	BRAID_EACH_INSTANCE(instance)
	{
		if (instance->algorithm != algorithm || strcmp(instance->ops.name + strlen("braid_"), name))
			continue;
		for_each_possible_cpu(cpu) memset(per_cpu_ptr(instance->counts, cpu), 0, sizeof(struct braid_counts));
		return instance;
	}
	instance = kzalloc(sizeof(*instance), GFP_KERNEL);
	if (!instance)
		return NULL;
	instance->counts = alloc_percpu(struct braid_counts);
	if (!instance->counts) {
		kfree(instance);
		return NULL;
	}
	instance->ops = *algorithm->ops;
	snprintf(instance->ops.name, sizeof(instance->ops.name), "braid_%s", name);
	instance->algorithm = algorithm;
	INIT_LIST_HEAD(&instance->versions);
	list_add_tail(&instance->entry, &braid_instances);
	return instance;
}

int braid_load(const char *name, const struct braid_algorithm *algorithm, const char *set, const char *spec)
{
	struct braid_instance *instance = braid_instance_of(name);
	struct braid_version *version;
	int error;

	if (!*name || strlen(name) > sizeof(instance->ops.name) - sizeof("braid_"))
		return -EINVAL;
	version = new_version(algorithm, set, spec);
	if (IS_ERR(version))
		return PTR_ERR(version);
	if (instance && instance->algorithm != algorithm) {
		braid_unload(instance);
		instance = NULL;
	}
	if (!instance)
		instance = unregistered(name, algorithm);
	if (!instance) {
		kfree(version->spec);
		kfree(version);
		return -ENOMEM;
	}
	take_version(instance, version);
	if (instance->is_registered)
		return 0;
	error = tcp_register_congestion_control(&instance->ops);
	instance->is_registered = !error;
	return error;
}

void braid_unload(struct braid_instance *instance)
{
	tcp_unregister_congestion_control(&instance->ops);
	instance->is_registered = false;
}

static bool __init is_named(const char *name)
{
	size_t length = strlen(name);
	const char *at = load;

	if (!strcmp(load, "all"))
		return true;
	while ((at = strstr(at, name))) {
		if ((at == load || at[-1] == ',') && (!at[length] || at[length] == ','))
			return true;
		at += length;
	}
	return false;
}

int __init braid_instances_begin(void)
{
	int i, error = 0;

	mutex_lock(&braid_instances_lock);
	for (i = 0; !error && i < ARRAY_SIZE(algorithms); i++)
		if (is_named(algorithms[i]->name))
			error = braid_load(algorithms[i]->name, algorithms[i], "", algorithms[i]->name);
	mutex_unlock(&braid_instances_lock);
	if (error) {
		pr_err(KBUILD_MODNAME ": cannot register braid_%s (error %d)%s\n", algorithms[i - 1]->name, error,
		       error == -EEXIST ? ": it is loaded already, as eBPF; unload it or load with algorithms=none"
					: "");
		braid_instances_end();
	}
	return error;
}

/* At the end no socket has any of them. */
void braid_instances_end(void)
{
	struct braid_instance *instance, *next;

	list_for_each_entry_safe(instance, next, &braid_instances, entry)
	{
		if (instance->is_registered)
			braid_unload(instance);
		kfree(instance->current_version->spec);
		kfree(instance->current_version);
		free_percpu(instance->counts);
		kfree(instance);
	}
	INIT_LIST_HEAD(&braid_instances);
}
