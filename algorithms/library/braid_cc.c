// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The library's interface, see braid_cc.h, over the descriptors that native/host.h makes of the algorithms. */
#include <stdlib.h>
#include <string.h>

#include "braid_cc.h"

#include "braid.h"
#include "list.h"

#define SAME(type, own, field, other) \
	_Static_assert(offsetof(struct type, field) == offsetof(struct own, other), "layout of " #type)
SAME(braid_cc_path, braid_subflow, hint, hint);
SAME(braid_cc_path, braid_subflow, words, public_words);
SAME(braid_cc_event, braid_event, owd_us, owd_us);
SAME(braid_cc_event, braid_event, prior_in_flight, prior_in_flight);
_Static_assert(sizeof(struct braid_cc_path) == sizeof(struct braid_subflow), "layout of braid_cc_path");
_Static_assert(sizeof(struct braid_cc_event) == sizeof(struct braid_event), "layout of braid_cc_event");

#define DECLARE(name) extern const struct braid_algorithm braid_algorithm_##name;
#define ENTRY(name) &braid_algorithm_##name,
BRAID_ALGORITHMS(DECLARE)
static const struct braid_algorithm *const algorithms[] = { BRAID_ALGORITHMS(ENTRY) };
#define N_ALGORITHMS (sizeof(algorithms) / sizeof(algorithms[0]))

struct braid_cc {
	const struct braid_algorithm *algorithm;
	u32 *params;
	u32 next_id;
	void *priv[BRAID_MAX_SUBFLOWS]; /* of the view's subflows, by their place */
	struct braid_view view;
};

const char *braid_cc_name(unsigned int i)
{
	return i < N_ALGORITHMS ? algorithms[i]->name : NULL;
}

/* Number of a choice among names joined by |; -1: none of them. */
static long choice(const char *names, const char *value)
{
	size_t length = strlen(value);
	long number = 0;

	for (;; names++, number++) {
		if (!strncmp(names, value, length) && (!names[length] || names[length] == '|'))
			return number;
		names = strchr(names, '|');
		if (!names)
			return -1;
	}
}

int braid_cc_set(braid_cc *connection, const char *key, const char *value)
{
	const struct braid_algorithm *algorithm = connection->algorithm;
	u32 i;

	for (i = 0; i < algorithm->n_params; i++) {
		const struct braid_param *param = &algorithm->params[i];
		double number;
		char *end;

		if (strcmp(param->name, key))
			continue;
		if (strchr(param->unit, '|')) {
			number = (double)choice(param->unit, value);
		} else {
			number = strtod(value, &end) * param->scale + 0.5;
			if (end == value || *end)
				return 0;
		}
		if (!(number >= param->low && number < param->high + 1.0))
			return 0;
		connection->params[i] = (u32)number;
		return 1;
	}
	return 0;
}

static const struct braid_algorithm *algorithm_of(const char *name, size_t length)
{
	size_t i;

	for (i = 0; i < N_ALGORITHMS; i++)
		if (strlen(algorithms[i]->name) == length && !strncmp(algorithms[i]->name, name, length))
			return algorithms[i];
	return NULL;
}

/* The parameters of a spec, behind its name. */
static int set_all(braid_cc *connection, const char *rest)
{
	char key[64], value[64];
	size_t n, length;

	while (*rest == ':') {
		n = strcspn(++rest, "=");
		if (!rest[n] || n >= sizeof(key))
			return 0;
		memcpy(key, rest, n);
		key[n] = 0;
		rest += n + 1;
		length = strcspn(rest, ":");
		if (length >= sizeof(value))
			return 0;
		memcpy(value, rest, length);
		value[length] = 0;
		rest += length;
		if (!braid_cc_set(connection, key, value))
			return 0;
	}
	return !*rest;
}

braid_cc *braid_cc_open(const char *spec)
{
	size_t length = strcspn(spec, ":");
	const struct braid_algorithm *algorithm = algorithm_of(spec, length);
	braid_cc *connection = algorithm ? calloc(1, sizeof(*connection)) : NULL;
	u32 i;

	if (!connection)
		return NULL;
	connection->algorithm = algorithm;
	connection->params = calloc(algorithm->n_params + 1, sizeof(u32));
	for (i = 0; connection->params && i < algorithm->n_params; i++)
		connection->params[i] = algorithm->params[i].initial;
	if (!connection->params || !set_all(connection, spec + length)) {
		braid_cc_close(connection);
		return NULL;
	}
	return connection;
}

void braid_cc_close(braid_cc *connection)
{
	u32 i;

	if (!connection)
		return;
	for (i = 0; i < connection->view.n; i++)
		free(connection->priv[i]);
	free(connection->params);
	free(connection);
}

const char *braid_cc_param(const braid_cc *connection, unsigned int i, const char **help)
{
	const struct braid_algorithm *algorithm = connection->algorithm;

	if (i >= algorithm->n_params)
		return NULL;
	if (help)
		*help = algorithm->params[i].help;
	return algorithm->params[i].name;
}

int braid_cc_owns_window(const braid_cc *connection)
{
	return (connection->algorithm->flags & BRAID_OWNS_CWND) != 0;
}

/* The place of a path in the view; BRAID_MAX_SUBFLOWS if there is none. */
static u32 place_of(const braid_cc *connection, u32 id)
{
	u32 i;

	for (i = 0; i < connection->view.n; i++)
		if (connection->view.subflow[i].id == id)
			return i;
	return BRAID_MAX_SUBFLOWS;
}

static void deliver(braid_cc *connection, u32 place, const struct braid_event *event)
{
	struct braid_view *view = &connection->view;
	struct braid_subflow *self = &view->subflow[place];

	view->self = place;
	connection->algorithm->on_event[event->type](view, connection->priv[place], connection->params, event);
	self->cwnd = (u32)braid_clamp(self->cwnd, 1, braid_max32(self->cwnd_clamp, 1));
	self->ssthresh = braid_max32(self->ssthresh, 1);
}

uint32_t braid_cc_join(braid_cc *connection, uint32_t cwnd, uint32_t mss, uint64_t now_us)
{
	struct braid_event event = { .type = BRAID_INIT, .now_us = now_us };
	struct braid_view *view = &connection->view;
	u32 place = view->n;

	if (place == BRAID_MAX_SUBFLOWS)
		return 0;
	connection->priv[place] = calloc(1, connection->algorithm->private_bytes + 8);
	if (!connection->priv[place])
		return 0;
	view->subflow[place] = (struct braid_subflow){
		.cwnd = cwnd,
		.ssthresh = BRAID_SSTHRESH_INFINITE,
		.cwnd_clamp = BRAID_U32_MAX,
		.flags = BRAID_SAME_ALGORITHM,
		.mss = mss,
		.id = ++connection->next_id,
	};
	view->n++;
	deliver(connection, place, &event);
	return view->subflow[place].id;
}

void braid_cc_leave(braid_cc *connection, uint32_t id, uint64_t now_us)
{
	struct braid_event event = { .type = BRAID_RELEASE, .now_us = now_us };
	struct braid_view *view = &connection->view;
	u32 place = place_of(connection, id), behind;

	if (place == BRAID_MAX_SUBFLOWS)
		return;
	deliver(connection, place, &event);
	free(connection->priv[place]);
	behind = --view->n - place;
	memmove(&view->subflow[place], &view->subflow[place + 1], behind * sizeof(view->subflow[0]));
	memmove(&connection->priv[place], &connection->priv[place + 1], behind * sizeof(connection->priv[0]));
}

struct braid_cc_path *braid_cc_path(braid_cc *connection, uint32_t id)
{
	u32 place = place_of(connection, id);

	return place < BRAID_MAX_SUBFLOWS ? (struct braid_cc_path *)&connection->view.subflow[place] : NULL;
}

void braid_cc_event(braid_cc *connection, uint32_t id, const struct braid_cc_event *event)
{
	u32 place = place_of(connection, id);

	if (place < BRAID_MAX_SUBFLOWS && event->type >= BRAID_ON_LOSS && event->type <= BRAID_ON_IDLE_RESTART)
		deliver(connection, place, (const struct braid_event *)event);
}
