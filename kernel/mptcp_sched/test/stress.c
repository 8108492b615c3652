// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Repeatedly loads and unloads the module under traffic: one endless connection has the kernel's default scheduler,
 * others come and go with each of Braid's. Compares every received byte with the sent one. For a separate guest
 * (scripts/guest KERNEL schedulers): it changes the running kernel.
 *
 *	stress MODULE LOADS
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

#define ADDRESS "10.9.0.1"
/* A prime: packets and pieces of memory are not multiples of it. */
#define PERIOD 65521
#define BYTES 300000
#define SCHEDULER "/proc/sys/net/mptcp/scheduler"

static unsigned char pattern[2 * PERIOD];
static atomic_ullong background_bytes;

static void fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, ": %s\n", strerror(errno));
	exit(1);
}

static void set(const char *path, const char *value)
{
	int file = open(path, O_WRONLY);

	if (file < 0 || write(file, value, strlen(value)) < 0)
		fail("%s to %s", path, value);
	close(file);
}

static int listen_at(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	int one = 1, own = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);

	inet_pton(AF_INET, ADDRESS, &address.sin_addr);
	setsockopt(own, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (own < 0 || bind(own, (struct sockaddr *)&address, sizeof(address)) || listen(own, 16))
		fail("listening");
	return own;
}

static int connect_to(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	int own = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);

	inet_pton(AF_INET, ADDRESS, &address.sin_addr);
	if (own < 0 || connect(own, (struct sockaddr *)&address, sizeof(address)))
		fail("connecting");
	return own;
}

struct stream {
	int socket;
	unsigned long long bytes; /* 0: without end */
};

static void *send_all(void *argument)
{
	const struct stream *own = argument;
	unsigned long long sent = 0;

	while (!own->bytes || sent < own->bytes) {
		size_t most = own->bytes && own->bytes - sent < PERIOD ? own->bytes - sent : PERIOD;
		ssize_t done = write(own->socket, pattern + sent % PERIOD, most);

		if (done <= 0)
			fail("sending at %llu", sent);
		sent += done;
	}
	return NULL;
}

/* Receives and compares data until it ends or reaches `bytes`. */
static void receive_all(int socket, unsigned long long bytes, atomic_ullong *count)
{
	unsigned char buffer[16384];
	unsigned long long got = 0;

	while (!bytes || got < bytes) {
		ssize_t done = read(socket, buffer, sizeof(buffer));

		if (done <= 0)
			fail("receiving at %llu", got);
		if (memcmp(buffer, pattern + got % PERIOD, done)) {
			errno = EILSEQ;
			fail("what arrived from byte %llu on", got);
		}
		got += done;
		if (count)
			atomic_store(count, got);
	}
}

static void *background(void *argument)
{
	receive_all(*(int *)argument, 0, &background_bytes);
	return NULL;
}

/* A connection with the current scheduler; the module cannot be removed while it exists. */
static void transfer(int listener, int port, const char *name)
{
	struct stream stream = { .socket = connect_to(port), .bytes = BYTES };
	int other = accept(listener, NULL, NULL);
	pthread_t thread;

	if (other < 0)
		fail("accepting");
	pthread_create(&thread, NULL, send_all, &stream);
	receive_all(other, BYTES, NULL);
	pthread_join(thread, NULL);
	if (!syscall(SYS_delete_module, "braid_sched", O_NONBLOCK)) {
		errno = EINVAL;
		fail("the module went while a connection had %s", name);
	}
	close(stream.socket);
	close(other);
}

static void unload(void)
{
	struct timespec pause = { .tv_nsec = 10000000 };
	int i;

	for (i = 0; i < 1000; i++) {
		if (!syscall(SYS_delete_module, "braid_sched", O_NONBLOCK))
			return;
		nanosleep(&pause, NULL);
	}
	fail("the module does not go");
}

int main(int count, char **words)
{
	static const char *const names[] = { "blest",  "daps",  "ecf",       "hsr", "linux", "llbm", "llrp",
					     "minrtt", "otias", "redundant", "rr",  "sttf",  "wrr" };
	int loads = count > 2 ? atoi(words[2]) : 0, i, listener, first, other;
	unsigned long long state = 1, before;
	struct stream endless = { 0 };
	pthread_t sender, receiver;
	char name[32];

	if (loads < 1)
		return fprintf(stderr, "usage: stress MODULE LOADS\n"), 2;
	for (i = 0; i < 2 * PERIOD; i++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		pattern[i] = i < PERIOD ? state >> 56 : pattern[i - PERIOD];
	}
	set(SCHEDULER, "default");
	first = listen_at(5000);
	endless.socket = connect_to(5000);
	other = accept(first, NULL, NULL);
	pthread_create(&sender, NULL, send_all, &endless);
	pthread_create(&receiver, NULL, background, &other);
	listener = listen_at(5001);
	for (i = 0; i < loads; i++) {
		int module = open(words[1], O_RDONLY);

		before = atomic_load(&background_bytes);
		if (module < 0 || syscall(SYS_finit_module, module, "", 0))
			fail("load %d of %s", i, words[1]);
		close(module);
		snprintf(name, sizeof(name), "braid_%s", names[i % (sizeof(names) / sizeof(names[0]))]);
		set(SCHEDULER, name);
		/* A listener keeps the scheduler of its creation, and so do the connections it accepts. */
		transfer(listener, 5001, name);
		set(SCHEDULER, "default");
		unload();
		if (atomic_load(&background_bytes) == before) {
			errno = ETIMEDOUT;
			fail("the other connection stands still");
		}
		if (i % 20 == 19)
			printf("%d loads, %llu bytes beside them\n", i + 1, atomic_load(&background_bytes));
	}
	printf("%d loads and unloads, %d bytes with each of %zu schedulers in turn, all as sent\n", loads, BYTES,
	       sizeof(names) / sizeof(names[0]));
	return 0;
}
