// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A drop-tail bottleneck between two network namespaces, for kernels without netem:
 *
 *	host-bottleneck SENDER RECEIVER BITS_PER_SECOND LIMIT_BYTES DELAY_US SECONDS [DEVICE LOSS]
 *
 * Each namespace gets a TUN device, t0 or DEVICE. Data goes from SENDER to RECEIVER through the queue, then waits
 * DELAY_US; the return direction only has the delay. LOSS is the probability of a random loss of data. Prints "ready"
 * once both devices exist.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ull
#define SLOTS 65536u

struct packet {
	uint64_t sent; /* leaves the queue */
	uint64_t due;  /* arrives at the receiver */
	ssize_t length;
	unsigned char data[1600];
};

struct pipe {
	struct packet *packets;
	unsigned read, left, written; /* accepted, out of the queue, delivered */
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static int open_device(const char *namespace, const char *name)
{
	struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	char path[256];
	int space, device;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	snprintf(path, sizeof(path), "/run/netns/%s", namespace);
	space = open(path, O_RDONLY | O_CLOEXEC);
	if (space < 0 || setns(space, CLONE_NEWNET)) {
		perror(path);
		exit(1);
	}
	close(space);
	device = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
	if (device < 0 || ioctl(device, TUNSETIFF, &request)) {
		perror("/dev/net/tun");
		exit(1);
	}
	return device;
}

int main(int count, char **words)
{
	if (count != 7 && count != 9) {
		fprintf(stderr, "usage: host-bottleneck SENDER RECEIVER BITS_PER_SECOND LIMIT_BYTES DELAY_US SECONDS "
				"[DEVICE LOSS]\n");
		return 2;
	}
	const char *name = count == 9 ? words[7] : "t0";
	double loss = count == 9 ? atof(words[8]) : 0;
	int devices[2] = { open_device(words[1], name), open_device(words[2], name) };
	double rate = atof(words[3]);
	long limit = atol(words[4]), queued = 0;
	uint64_t delay = strtoull(words[5], NULL, 10) * 1000, free_at = 0;
	uint64_t end = now() + strtoull(words[6], NULL, 10) * SECOND;
	struct pipe pipes[2] = { 0 };

	for (int i = 0; i < 2; i++) {
		pipes[i].packets = malloc(SLOTS * sizeof(struct packet));
		if (!pipes[i].packets)
			return 1;
	}
	srand48((long)now());
	prctl(PR_SET_TIMERSLACK, 1);
	puts("ready");
	fflush(stdout);
	for (uint64_t time = now(); time < end; time = now()) {
		uint64_t next = time + SECOND / 10;

		for (int i = 0; i < 2; i++) {
			struct pipe *pipe = &pipes[i];

			/* 64, so that the other direction waits at most for that many packets. */
			for (int n = 0; n < 64 && pipe->read - pipe->written < SLOTS; n++) {
				struct packet *packet = &pipe->packets[pipe->read % SLOTS];

				packet->length = read(devices[i], packet->data, sizeof(packet->data));
				if (packet->length <= 0)
					break;
				time = now();
				packet->sent = time;
				if (i == 0) {
					while (pipe->left != pipe->read &&
					       pipe->packets[pipe->left % SLOTS].sent <= time)
						queued -= pipe->packets[pipe->left++ % SLOTS].length;
					if (queued + packet->length > limit || drand48() < loss)
						continue;
					if (free_at < time)
						free_at = time;
					free_at += (uint64_t)((double)packet->length * 8e9 / rate);
					packet->sent = free_at;
					queued += packet->length;
				}
				packet->due = packet->sent + delay;
				pipe->read++;
			}
		}
		for (int i = 0; i < 2; i++) {
			struct pipe *pipe = &pipes[i];

			for (time = now(); pipe->written != pipe->read; pipe->written++) {
				struct packet *packet = &pipe->packets[pipe->written % SLOTS];

				if (packet->due > time) {
					if (packet->due < next)
						next = packet->due;
					break;
				}
				if (i == 0 && pipe->left == pipe->written)
					queued -= pipe->packets[pipe->left++ % SLOTS].length;
				/* Fails while a device is down: the packet is lost. */
				if (write(devices[1 - i], packet->data, (size_t)packet->length) < 0)
					continue;
			}
		}
		time = now();
		if (next > time) {
			struct timespec wait = { 0, (long)(next - time) };
			struct pollfd ready[2] = { { devices[0], POLLIN, 0 }, { devices[1], POLLIN, 0 } };

			ppoll(ready, 2, &wait, NULL);
		}
	}
	return 0;
}
