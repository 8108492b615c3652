// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Traffic under the module's algorithms, every byte compared, and what the module counts of it. For a guest of its own
 * (scripts/guest KERNEL module).
 *
 *	traffic serve ADDRESS PORT                 counts and compares what arrives, and answers with the count
 *	traffic send ADDRESS PORT SECONDS NAME     over MPTCP, under the congestion control NAME
 *	traffic loads ADDRESS PORT MODULE TIMES NAME,NAME...
 *	                                           loads and unloads MODULE while NAMEs have connections
 *	traffic counts                             ACKs of each algorithm, by the number of usable subflows
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../control.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

/* A prime: no packet and no piece of memory is a multiple of it. */
#define PERIOD 65521

static unsigned char pattern[2 * PERIOD];
static struct sockaddr_in peer = { .sin_family = AF_INET };

static void fail(const char *what)
{
	fprintf(stderr, "FAILED %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void *take(void *argument)
{
	int own = (int)(intptr_t)argument;
	static const size_t most = PERIOD;
	unsigned char *buffer = malloc(most);
	uint64_t got = 0;
	ssize_t bytes;

	while ((bytes = read(own, buffer, most)) > 0) {
		if (memcmp(buffer, pattern + got % PERIOD, bytes)) {
			printf("WRONG BYTES between %llu and %llu\n", (unsigned long long)got,
			       (unsigned long long)(got + bytes));
			exit(3);
		}
		got += bytes;
	}
	if (!bytes && write(own, &got, sizeof(got)) != sizeof(got))
		perror("answering");
	free(buffer);
	close(own);
	return NULL;
}

static int serve(void)
{
	int one = 1, own = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP), other;
	struct sockaddr_in any = peer;
	pthread_t thread;

	any.sin_addr.s_addr = INADDR_ANY;
	if (own < 0 || setsockopt(own, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(own, (struct sockaddr *)&any, sizeof(any)) || listen(own, 16))
		fail("listening");
	while ((other = accept(own, NULL, NULL)) >= 0)
		if (pthread_create(&thread, NULL, take, (void *)(intptr_t)other) || pthread_detach(thread))
			fail("starting a thread");
	fail("accepting");
	return 1;
}

static int open_to(const char *name)
{
	int own = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);

	if (own < 0 || setsockopt(own, IPPROTO_TCP, TCP_CONGESTION, name, strlen(name)))
		fail(name);
	if (connect(own, (struct sockaddr *)&peer, sizeof(peer)))
		fail("connecting");
	return own;
}

/* Sends until `until`, or `bytes`, and compares the amount with the count of the peer. */
static uint64_t push(int own, const volatile double *until, uint64_t bytes)
{
	uint64_t sent = 0, counted = 0;

	while (bytes ? sent < bytes : now() < *until) {
		size_t most = bytes && bytes - sent < PERIOD ? bytes - sent : PERIOD;
		ssize_t done = write(own, pattern + sent % PERIOD, most);

		if (done <= 0)
			fail("sending");
		sent += done;
	}
	shutdown(own, SHUT_WR);
	if (read(own, &counted, sizeof(counted)) != sizeof(counted) || counted != sent)
		fail("the peer has counted other bytes than were sent");
	close(own);
	return sent;
}

static volatile double background_until;
static uint64_t background_bytes;

static void *background(void *unused)
{
	(void)unused;
	background_bytes = push(open_to("reno"), &background_until, 0);
	return NULL;
}

static int loads(const char *path, int times, char *names)
{
	char *name[32];
	uint64_t sum = 0;
	pthread_t thread;
	int i, n = 0;

	while (n < 32 && (name[n] = strsep(&names, ",")))
		n++;
	background_until = now() + 1e9;
	if (pthread_create(&thread, NULL, background, NULL))
		fail("starting a thread");
	for (i = 0; i < times; i++) {
		int file = open(path, O_RDONLY | O_CLOEXEC), own;
		double begin = now();

		if (file < 0 || syscall(SYS_finit_module, file, "", 0))
			fail("loading");
		close(file);
		own = open_to(name[i % n]);
		if (write(own, pattern, 30000) != 30000)
			fail("writing");
		if (!syscall(SYS_delete_module, "tcp_braid", O_NONBLOCK)) {
			printf("THE MODULE WENT while a connection had it\n");
			return 1;
		}
		shutdown(own, SHUT_WR);
		uint64_t counted = 0;
		if (read(own, &counted, sizeof(counted)) != sizeof(counted) || counted != 30000)
			fail("counting");
		close(own);
		sum += counted;
		/* A subflow may last a minute after its connection. */
		while (syscall(SYS_delete_module, "tcp_braid", O_NONBLOCK)) {
			if (now() > begin + 200)
				fail("unloading");
			usleep(2000);
		}
	}
	background_until = now();
	pthread_join(thread, NULL);
	printf("%d loads and unloads, each refused in use; %llu bytes compared, beside them %llu under reno\n", times,
	       (unsigned long long)sum, (unsigned long long)background_bytes);
	return !background_bytes;
}

/* Sends a generic netlink request with at most one text, and returns the socket. */
static int ask(int netlink, uint16_t family, uint8_t command, uint16_t flags, uint16_t attribute, const char *text)
{
	struct {
		struct nlmsghdr netlink;
		struct genlmsghdr generic;
		struct nlattr attribute;
		char text[32];
	} request = {
		.netlink = { .nlmsg_type = family, .nlmsg_flags = NLM_F_REQUEST | flags },
		.generic = { .cmd = command, .version = 1 },
	};
	size_t length = text ? strlen(text) + 1 : 0;

	request.netlink.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	if (text) {
		memcpy(request.text, text, length);
		request.attribute = (struct nlattr){ .nla_len = NLA_HDRLEN + length, .nla_type = attribute };
		request.netlink.nlmsg_len += NLA_ALIGN(request.attribute.nla_len);
	}
	return send(netlink, &request, request.netlink.nlmsg_len, 0);
}

static const void *find(const struct nlmsghdr *message, uint16_t wanted)
{
	const char *at = (const char *)message + NLMSG_LENGTH(GENL_HDRLEN);
	const char *end = (const char *)message + message->nlmsg_len;

	while (at + NLA_HDRLEN <= end) {
		const struct nlattr *attribute = (const void *)at;

		if ((attribute->nla_type & NLA_TYPE_MASK) == wanted)
			return at + NLA_HDRLEN;
		at += NLA_ALIGN(attribute->nla_len);
	}
	return NULL;
}

static int counts(void)
{
	int netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC), i;
	static char answer[1 << 16];
	const struct nlmsghdr *message = (const void *)answer;
	const uint16_t *family;
	ssize_t bytes;

	if (netlink < 0 || ask(netlink, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0, CTRL_ATTR_FAMILY_NAME, BRAID_FAMILY) < 0 ||
	    recv(netlink, answer, sizeof(answer), 0) < 0)
		fail("asking for the family");
	family = find(message, CTRL_ATTR_FAMILY_ID);
	if (message->nlmsg_type == NLMSG_ERROR || !family ||
	    ask(netlink, *family, BRAID_CMD_LOADED, NLM_F_DUMP, 0, NULL) < 0)
		fail("the family");
	while ((bytes = recv(netlink, answer, sizeof(answer), 0)) > 0) {
		int rest = bytes;

		for (message = (const void *)answer; NLMSG_OK(message, (unsigned int)rest);
		     message = NLMSG_NEXT(message, rest)) {
			const uint64_t *acks = find(message, BRAID_ATTR_ACKS),
				       *losses = find(message, BRAID_ATTR_LOSSES);
			unsigned long long all = 0;

			if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR)
				return message->nlmsg_type == NLMSG_ERROR;
			for (i = 0; acks && i < 9; i++)
				all += acks[i];
			if (!all)
				continue;
			printf("counts %s", (const char *)find(message, BRAID_ATTR_NAME));
			for (i = 0; i < 9; i++)
				printf(" %llu", (unsigned long long)acks[i]);
			printf(" losses %llu %llu %llu\n", (unsigned long long)losses[1], (unsigned long long)losses[2],
			       (unsigned long long)losses[3]);
		}
	}
	return 1;
}

int main(int argc, char **argv)
{
	int i;

	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < PERIOD; i++)
		pattern[i] = pattern[PERIOD + i] = (i * 2654435761u) >> 13;
	if (argc == 2 && !strcmp(argv[1], "counts"))
		return counts();
	if (argc < 4)
		return 2;
	inet_pton(AF_INET, argv[2], &peer.sin_addr);
	peer.sin_port = htons(atoi(argv[3]));
	if (!strcmp(argv[1], "serve"))
		return serve();
	if (argc == 6 && !strcmp(argv[1], "send")) {
		double begin = now(), until = begin + atof(argv[4]);
		uint64_t sent = push(open_to(argv[5]), &until, 0);

		printf("sent %llu bytes under %s, %.2f Mbit/s\n", (unsigned long long)sent, argv[5],
		       sent * 8 / 1e6 / (now() - begin));
		return 0;
	}
	if (argc == 7 && !strcmp(argv[1], "loads"))
		return loads(argv[4], atoi(argv[5]), argv[6]);
	return 2;
}
