/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * check:1: two threads on two CPUs free one block at the same moment, again and again. Where both pass it waits in two arrays;
 * one of these is emptied, for it is idle, and the block's slab goes: then the other array must not hand it out. No two live
 * blocks overlap, and nothing crashes.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <drystone/drystone.h>

#include "../support/check.h"

#define PASSES  40 /* are enough, or: */
#define SECONDS 2
#define LIVE    600

extern __typeof__(dry_heap_reap) dry_heap_reap __attribute__((weak));

static const size_t sizes[] = { 32768, 4096, 16384 };
static void *volatile block;
static _Atomic unsigned turn, done;

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	CHECK(!sched_setaffinity(0, sizeof(set), &set));
}

static void *other(void *arg)
{
	unsigned now = 0;

	stay_on((int)(intptr_t)arg);
	for (;;) {
		while (turn == now)
			;
		now = turn;
		if (now == UINT32_MAX)
			return NULL;
		free(block);
		done = now;
	}
}

/* No report of both: the block is free twice. */
static int both_pass(unsigned round)
{
	struct stat log;

	turn = round;
	for (volatile unsigned wait = round % 40; wait > 0; wait--)
		;
	free(block);
	while (done != round)
		;
	CHECK(!fstat(2, &log) && !ftruncate(2, 0));
	return log.st_size == 0;
}

static void look(size_t size)
{
	static char *got[2 * LIVE];
	static size_t bytes[2 * LIVE];

	for (int i = 0; i < 20; i++) { /* the other thread's array is idle, this one's is not */
		void *one = malloc(size), *two = malloc(size);
		CHECK(one && two);
		free(two);
		free(one);
		dry_heap_reap(NULL);
	}
	for (size_t i = 0; i < 2 * LIVE; i++) {
		bytes[i] = i < LIVE ? 33000 + i * 100 : size;
		CHECK(got[i] = malloc(bytes[i]));
		for (size_t j = 0; j < i; j++)
			CHECK(got[i] >= got[j] + bytes[j] || got[j] >= got[i] + bytes[i]);
	}
	for (size_t i = 0; i < 2 * LIVE; i++)
		free(got[i]);
}

static void race(int here, int there)
{
	time_t until = time(NULL) + SECONDS;
	pthread_t thread;
	unsigned passes = 0;

	stay_on(here);
	CHECK(!pthread_create(&thread, NULL, other, (void *)(intptr_t)there));
	for (unsigned round = 1; passes < PASSES && time(NULL) < until; round++) {
		size_t size = sizes[passes % (sizeof(sizes) / sizeof(sizes[0]))];
		CHECK(block = malloc(size));
		if (!both_pass(round))
			continue;
		look(size);
		passes++;
	}
	turn = UINT32_MAX;
	CHECK(!pthread_join(thread, NULL));
}

int main(int argc, char **argv)
{
	int cpu[2], cpus = 0, reports;
	cpu_set_t set;

	CHECK(!sched_getaffinity(0, sizeof(set), &set));
	for (int i = 0; i < CPU_SETSIZE && cpus < 2; i++)
		if (CPU_ISSET(i, &set))
			cpu[cpus++] = i;
	if (cpus < 2 || !dry_heap_reap) {
		printf("one CPU, or no interface: skipped\n");
		return 77;
	}
	if (argc == 1) {
		char *args[] = { argv[0], (char[]){ "race" }, NULL };
		setenv("DRYSTONE_CONF", "check:1,abort:0", 1);
		execv("/proc/self/exe", args);
	}
	reports = memfd_create("reports", 0);
	CHECK(reports >= 0 && dup2(reports, 2) == 2);
	race(cpu[0], cpu[1]);
	return 0;
}
