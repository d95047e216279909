/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Runs of one size: N blocks are allocated, then all are freed in the order in which they were allocated, a number of
 * rounds for each size. With several threads each does so with blocks of its own, and they begin each round together.
 *
 * Prints "run SIZE MALLOC FREE": nanoseconds of one call, the least of the rounds but the first (which gets
 * its memory from the system), the mean over the threads. An operation is one malloc and one free.
 */
#include "patterns.h"

#include <pthread.h>
#include <stdio.h>

#define RUN       20000
#define SHORT_RUN 2000 /* at tiny scales */
#define ROUNDS    24

static const uint16_t run_sizes[] = { 8, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024, 2048, 4096 };
#define SIZES (sizeof(run_sizes) / sizeof(run_sizes[0]))

struct least {
	uint64_t malloc, free; /* nanoseconds of a whole run */
};

static struct least least[64][SIZES]; /* by thread */
static size_t run_length, rounds;
static pthread_barrier_t barrier;

static void one_round(struct suite_worker *w, void **block, size_t s, int counts)
{
	struct least *l = &least[w->index][s];
	size_t size = run_sizes[s];

	if (w->suite->threads > 1)
		pthread_barrier_wait(&barrier);

	uint64_t begin = bench_now();

	for (size_t i = 0; i < run_length; i++) {
		uint32_t *p = malloc(size);

		if (p == NULL)
			bench_die("out of memory");
		*p = (uint32_t)i;
		block[i] = p;
	}

	uint64_t middle = bench_now();
	uint64_t sum = 0;

	for (size_t i = 0; i < run_length; i++)
		sum += *(uint32_t *)block[i];

	uint64_t freeing = bench_now();

	for (size_t i = 0; i < run_length; i++)
		free(block[i]);

	uint64_t end = bench_now();

	if (sum != (uint64_t)run_length * (run_length - 1) / 2)
		suite_damaged(block[0]);
	w->check += sum;
	w->ops += run_length;
	if (!counts)
		return;
	if (l->malloc == 0 || middle - begin < l->malloc)
		l->malloc = middle - begin;
	if (l->free == 0 || end - freeing < l->free)
		l->free = end - freeing;
}

static void runs(struct suite_worker *w)
{
	void **block = malloc(run_length * sizeof(*block));

	if (block == NULL)
		bench_die("out of memory");
	for (size_t s = 0; s < SIZES; s++)
		for (size_t r = 0; r <= rounds; r++)
			one_round(w, block, s, r > 0);
	free(block);
}

static double mean_ns(const struct suite *suite, size_t s, int freeing)
{
	uint64_t sum = 0;

	for (unsigned t = 0; t < suite->threads; t++)
		sum += freeing ? least[t][s].free : least[t][s].malloc;
	return (double)sum / suite->threads / (double)run_length;
}

void pattern_runs(struct suite *suite)
{
	run_length = suite->scale < 0.01 ? SHORT_RUN : RUN;
	rounds = suite_count(suite, ROUNDS);
	if (rounds < 2)
		rounds = 2;
	pthread_barrier_init(&barrier, NULL, suite->threads);
	suite_threads(suite, runs);
	for (size_t s = 0; s < SIZES; s++)
		printf("run %u %.3f %.3f\n", run_sizes[s], mean_ns(suite, s, 0), mean_ns(suite, s, 1));
}
