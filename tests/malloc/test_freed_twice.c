/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * free(p); free(p) with nothing in between, in a program that has allocated all sizes a lot: no two live blocks have one
 * address, in four threads. In each block its owner's number stands as long as it lives. Nor do they if these are the first calls
 * of a thread.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/random.h"

#define THREADS 4
#define KEEP    300
#define ROUNDS  10

static uint64_t seed;

static size_t any_size(struct rng *rng)
{
	return 16 + rng_below(rng, 1 << (4 + rng_below(rng, 9)));
}

static void *work(void *arg)
{
	struct rng rng = { seed + (size_t)arg };
	uint64_t *kept[KEEP], tag;

	for (int i = 0; i < 50000; i++) {
		void *block = malloc(any_size(&rng));
		OPAQUE(block);
		free(block);
	}
	for (int round = 0; round < ROUNDS; round++) {
		size_t size = any_size(&rng);
		void *twice = malloc(size);

		CHECK(twice);
		OPAQUE(twice);
		free(twice);
		OPAQUE(twice);
		free(twice);
		for (uint64_t i = 0; i < KEEP; i++) {
			CHECK(kept[i] = malloc(size));
			kept[i][0] = (uint64_t)(size_t)arg << 32 | i;
		}
		for (uint64_t i = 0; i < KEEP; i++) {
			tag = (uint64_t)(size_t)arg << 32 | i;
			CHECK_EQ(kept[i][0], tag);
			free(kept[i]);
		}
	}
	return NULL;
}

static void *begin(void *given)
{
	free(given);
	OPAQUE(given);
	free(given);
	return NULL;
}

static void first_calls(size_t size)
{
	static void *got[1000];
	void *given = malloc(size);
	pthread_t thread;

	CHECK(given);
	CHECK(!pthread_create(&thread, NULL, begin, given));
	CHECK(!pthread_join(thread, NULL));
	for (size_t i = 0; i < 1000; i++) {
		CHECK(got[i] = malloc(size));
		for (size_t j = 0; j < i; j++)
			CHECK(got[j] != got[i]);
	}
	for (size_t i = 0; i < 1000; i++)
		free(got[i]);
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];

	/* Reports are no errors here. */
	if (!getenv("DRYSTONE_CONF")) {
		setenv("DRYSTONE_CONF", "abort:0", 1);
		execv("/proc/self/exe", argv);
	}
	for (size_t size = 1; size <= 1024; size = size + size / 2 + 1)
		first_calls(size);
	seed = test_seed(argc, argv);
	for (size_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, work, (void *)i));
	for (size_t i = 0; i < THREADS; i++)
		CHECK(!pthread_join(thread[i], NULL));
	return 0;
}
