/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * 100,000 allocations of 8 to 4096 bytes (uniform), then all frees.
 *
 *   forward  freed in the order of allocation
 *   reverse  last one first
 *   shuffle  in a random order
 *   threads  forward, on every CPU at once; each thread frees its own blocks
 *
 * The operation is one malloc and one free. With threads the time is that of
 * the whole, so the figure is what one thread sees.
 */
#include "common.h"

#include <pthread.h>

#define COUNT 100000

static uint16_t sizes[COUNT];
static uint32_t order[COUNT];
static void **blocks; /* COUNT for each thread */

static void make_sizes(void)
{
	uint64_t state = 2463534242ull;

	for (size_t i = 0; i < COUNT; i++)
		sizes[i] = (uint16_t)bench_range(&state, 8, 4096);
}

static void setup_forward(void)
{
	make_sizes();
	blocks = bench_touch(malloc(COUNT * sizeof(*blocks)));
	for (size_t i = 0; i < COUNT; i++)
		order[i] = (uint32_t)i;
}

static void setup_reverse(void)
{
	setup_forward();
	for (size_t i = 0; i < COUNT; i++)
		order[i] = (uint32_t)(COUNT - 1 - i);
}

static void setup_shuffle(void)
{
	uint64_t state = 362436069ull;

	setup_forward();
	for (uint32_t i = COUNT - 1; i > 0; i--) {
		uint32_t j = bench_range(&state, 0, i), kept = order[i];

		order[i] = order[j];
		order[j] = kept;
	}
}

static void round_of(void **mine)
{
	for (size_t i = 0; i < COUNT; i++)
		mine[i] = bench_touch(malloc(sizes[i]));
	for (size_t i = 0; i < COUNT; i++)
		free(mine[order[i]]);
}

static uint64_t run_one(size_t rounds, size_t *ops)
{
	uint64_t start = bench_now();

	for (size_t r = 0; r < rounds; r++)
		round_of(blocks);
	*ops = rounds * COUNT;
	return bench_now() - start;
}

/* The threads live through all repetitions, as those of a server do. */
static pthread_barrier_t begin, end;
static size_t thread_rounds; /* written by main before `begin`, read by the threads after it */

static void worker(unsigned index)
{
	for (;;) {
		pthread_barrier_wait(&begin);
		for (size_t r = 0; r < thread_rounds; r++)
			round_of(blocks + (size_t)index * COUNT);
		pthread_barrier_wait(&end);
	}
}

static void setup_threads(void)
{
	unsigned n = bench_cpus();

	setup_forward();
	free(blocks);
	blocks = bench_touch(malloc(n * COUNT * sizeof(*blocks)));
	pthread_barrier_init(&begin, NULL, n + 1);
	pthread_barrier_init(&end, NULL, n + 1);
	bench_threads(n, worker);
}

static uint64_t run_threads(size_t rounds, size_t *ops)
{
	thread_rounds = rounds;

	uint64_t start = bench_now();

	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	*ops = rounds * COUNT;
	return bench_now() - start;
}

int main(int argc, char **argv)
{
	static const struct bench_case cases[] = {
		{ "forward", setup_forward, run_one },
		{ "reverse", setup_reverse, run_one },
		{ "shuffle", setup_shuffle, run_one },
		{ "threads", setup_threads, run_threads },
		{ NULL, NULL, NULL },
	};

	return bench_main(argc, argv, cases);
}
