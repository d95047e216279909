/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Producer and consumer: one thread allocates blocks of 8 to 512 bytes, another
 * frees them. They meet in a bounded ring of 4096 places.
 *
 * Both ends publish their position only every STEP blocks, so that the ring's
 * own cache misses are a small part of what is measured. The operation is one
 * malloc, one handing over and one free.
 */
#include "common.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define TABLE 4096
#define RING  4096
#define STEP  64
#define SPINS 200

static uint16_t sizes[TABLE];
static void *ring[RING];
/* Positions count up for ever. Stored with release, read by the other end with acquire. */
static _Alignas(128) atomic_size_t written;
static _Alignas(128) atomic_size_t taken;
static _Alignas(128) pthread_barrier_t begin;
static size_t total; /* blocks of this run; written before `begin` */

static void wait_a_little(unsigned *spins)
{
	if (++*spins > SPINS) {
		sched_yield();
		*spins = 0;
	}
}

static void produce(size_t from, size_t count)
{
	for (size_t done = 0; done < count; done += STEP) {
		size_t at = from + done;
		unsigned spins = 0;

		while (at + STEP - atomic_load_explicit(&taken, memory_order_acquire) > RING)
			wait_a_little(&spins);
		for (size_t i = 0; i < STEP; i++)
			ring[(at + i) % RING] = bench_touch(malloc(sizes[(at + i) % TABLE]));
		atomic_store_explicit(&written, at + STEP, memory_order_release);
	}
}

static void producer(unsigned index)
{
	size_t at = 0;

	(void)index;
	for (;;) {
		pthread_barrier_wait(&begin);

		size_t count = total;

		produce(at, count);
		at += count;
	}
}

static void setup(void)
{
	uint64_t state = 521288629ull;

	for (size_t i = 0; i < TABLE; i++)
		sizes[i] = (uint16_t)bench_range(&state, 8, 512);
	pthread_barrier_init(&begin, NULL, 2);
	bench_threads(1, producer);
}

static uint64_t run(size_t rounds, size_t *ops)
{
	size_t at = atomic_load_explicit(&taken, memory_order_relaxed);
	size_t last = at + rounds * TABLE;

	total = rounds * TABLE;

	uint64_t start = bench_now();

	pthread_barrier_wait(&begin);
	for (; at < last; at += STEP) {
		unsigned spins = 0;

		while (atomic_load_explicit(&written, memory_order_acquire) - at < STEP)
			wait_a_little(&spins);
		for (size_t i = 0; i < STEP; i++)
			free(ring[(at + i) % RING]);
		atomic_store_explicit(&taken, at + STEP, memory_order_release);
	}
	*ops = rounds * TABLE;
	return bench_now() - start;
}

int main(int argc, char **argv)
{
	static const struct bench_case cases[] = {
		{ "handover", setup, run },
		{ NULL, NULL, NULL },
	};

	return bench_main(argc, argv, cases);
}
