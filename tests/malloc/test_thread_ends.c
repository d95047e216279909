/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Threads that never allocate end, and libc frees in them what it kept for others, behind all destructors: nothing of theirs is
 * read when their stacks are gone.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/glibc.h"

#define THREADS 24 /* libc keeps stacks of 40 MiB, five as a rule */
#define ROUNDS  60

static pthread_barrier_t barrier;

static void *nothing(void *arg)
{
	pthread_barrier_wait(&barrier);
	return arg;
}

static void start_detached(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, 8 << 20), 0);
	CHECK_EQ(pthread_create(&thread, &attr, nothing, NULL), 0);
	pthread_attr_destroy(&attr);
}

/* Misses, and fences. */
static void work(void)
{
	static void *block[5000];
	const size_t count = sizeof(block) / sizeof(block[0]);

	for (size_t i = 0; i < count; i++)
		CHECK(block[i] = malloc(i % 2000));
	for (size_t i = 0; i < count; i++)
		free(block[i]);
	malloc_trim(0);
}

int main(void)
{
	work();
	for (int round = 0; round < ROUNDS; round++) {
		CHECK_EQ(pthread_barrier_init(&barrier, NULL, THREADS + 1), 0);
		for (int i = 0; i < THREADS; i++)
			start_detached();
		pthread_barrier_wait(&barrier);
		usleep(round < 6 ? 20000 : 1000);
		work();
	}
	return 0;
}
