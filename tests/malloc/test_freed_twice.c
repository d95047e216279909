/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * free(p); free(p) with nothing in between, in a program that has allocated all sizes a lot: no two live blocks have one
 * address, in four threads. In each block its owner's number stands as long as it lives. Nor do they if these are the first calls
 * of a thread, or objects of caches. A new heap stops its arrays now and then, so there are several processes.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <drystone/drystone.h>

#include "../support/check.h"
#include "../support/profiles.h"
#include "../support/random.h"

#define THREADS 4
#define KEEP    300
#define ROUNDS  10
#define AGAIN   6

extern int malloc_trim(size_t left) __attribute__((weak)); /* musl has none */
extern __typeof__(dry_cache_create) dry_cache_create __attribute__((weak));
extern __typeof__(dry_cache_alloc) dry_cache_alloc __attribute__((weak));
extern __typeof__(dry_cache_free) dry_cache_free __attribute__((weak));

static uint64_t seed;
static dry_cache *cache;

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

/* Each look stops the arrays. */
static void *look(void *over)
{
	while (!*(_Atomic bool *)over)
		if (malloc_trim != NULL)
			malloc_trim(0);
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

static void *begin_object(void *given)
{
	void *own = given ? given : dry_cache_alloc(cache);

	CHECK(own);
	dry_cache_free(cache, own);
	OPAQUE(own);
	dry_cache_free(cache, own);
	return NULL;
}

/* given: the thread is the first to free, and frees before it allocates. */
static void first_objects(size_t size, bool given)
{
	struct dry_cache_attr attr = { .name = "twice", .size = size, .flags = DRY_CACHE_NO_MERGE };
	static void *got[1000];
	pthread_t thread;

	CHECK(cache = dry_cache_create(NULL, &attr));
	for (size_t i = 0; i < 1000; i++)
		CHECK(got[i] = dry_cache_alloc(cache));
	for (size_t i = 1; i < 1000; i++) /* 40 are less than an array has room for */
		if (i <= 40 || i > 960)
			dry_cache_free(cache, got[i]);
	CHECK(!pthread_create(&thread, NULL, begin_object, given ? got[0] : NULL));
	CHECK(!pthread_join(thread, NULL));
	for (size_t i = 0; i < 1000; i++) {
		CHECK(got[i] = dry_cache_alloc(cache));
		for (size_t j = 0; j < i; j++)
			CHECK(got[j] != got[i]);
	}
}

static void run(void)
{
	pthread_t thread[THREADS], looks;
	_Atomic bool over = false;

	for (size_t size = 1; size <= 1024; size = size + size / 2 + 1)
		first_calls(size);
	for (size_t size = 8; size <= 1024 && dry_cache_create; size = size + size / 2)
		for (int given = 0; given < 2; given++)
			first_objects(size, given);
	CHECK(!pthread_create(&looks, NULL, look, &over));
	for (size_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, work, (void *)i));
	for (size_t i = 0; i < THREADS; i++)
		CHECK(!pthread_join(thread[i], NULL));
	over = true;
	CHECK(!pthread_join(looks, NULL));
}

int main(int argc, char **argv)
{
	const char *conf = getenv("DRYSTONE_CONF");
	char number[24];

	seed = test_seed(argc, argv);
	if (argc > 2) {
		run();
		return 0;
	}
	for (int i = 0; i < AGAIN; i++) {
		snprintf(number, sizeof(number), "%llu", (unsigned long long)seed++);
		/* reports are no errors here */
		CHECK_EQ(test_again(conf != NULL ? conf : "abort:0", number, "once"), 0);
	}
	return 0;
}
