/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* threads CASE: threads that hand memory on, with a race of their own or without, for ThreadSanitizer to see; see run. */
#include <pthread.h>
#include <string.h>

#include <drystone/drystone.h>

#include "../support/check.h"
#include "../support/random.h"

#define THREADS 4
#define PLACES  64
#define STEPS   5000

static dry_cache *cache;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *objects[PLACES], *blocks[PLACES]; /* guarded by lock */
static char *shared;

/* What one thread has written and freed another one gets, by nothing that the checker sees but the library. */
static void *own(void *arg)
{
	struct rng rng = { (uint64_t)(uintptr_t)arg };

	for (int i = 0; i < STEPS; i++) {
		size_t size = rng_size(&rng, i % 100 == 0 ? 20 : 13) + 1;
		char *object = dry_cache_alloc(cache), *block = i % 2 ? dry_zalloc(NULL, size) : dry_alloc(NULL, size);

		CHECK(object && block);
		memset(object, 1, 100);
		block[0] = block[size - 1] = 2;
		block = dry_realloc(NULL, block, size + size / 2);
		CHECK(block);
		block[size - 1] = 3;
		dry_cache_free(cache, object);
		dry_free(NULL, block);
	}
	return NULL;
}

static void *hand_on(void *arg)
{
	struct rng rng = { (uint64_t)(uintptr_t)arg };

	for (int i = 0; i < STEPS; i++) {
		size_t size = rng_size(&rng, 12) + 1, k = rng_below(&rng, PLACES);
		char *object = dry_cache_alloc(cache), *block = dry_zalloc(NULL, size), *swap;

		CHECK(object && block);
		memset(object, 1, 100);
		block[size - 1] = 2;
		pthread_mutex_lock(&lock);
		swap = objects[k], objects[k] = object, object = swap;
		swap = blocks[k], blocks[k] = block, block = swap;
		pthread_mutex_unlock(&lock);
		if (object != NULL)
			object[99] = block[0] = 3;
		dry_cache_free(cache, object);
		dry_free(NULL, block);
	}
	return NULL;
}

static void *race(void *arg)
{
	shared[7] = *(char *)arg;
	return NULL;
}

static void run(void *(*fn)(void *))
{
	pthread_t id[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&id[i], NULL, fn, fn == race ? (void *)"x" : (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(id[i], NULL), 0);
}

int main(int argc, char **argv)
{
	struct dry_cache_attr attr = { .name = "watched", .size = 100 };

	CHECK(argc == 2);
	CHECK(cache = dry_cache_create(NULL, &attr));
	CHECK(shared = dry_alloc(NULL, 50));
	if (!strcmp(argv[1], "race")) {
		run(race);
	} else {
		run(own);
		run(hand_on);
	}
	CHECK_EQ(dry_heap_check(NULL), 0);
	return 0;
}
