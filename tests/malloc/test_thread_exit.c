/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Threads that end: others free their blocks; thread-specific destructors and
 * thread-local data allocate on the way out; thousands of threads leave no memory behind.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdlib.h>

#include "../support/check.h"
#include "../support/pattern.h"
#include "../support/random.h"
#include "../support/statm.h"

#define PER_THREAD 300

static pthread_key_t keys[3];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	void *at;
	size_t size;
} left[64 * PER_THREAD];
static size_t left_count, destroyed;
static __thread char *local;

static void leave(void *block, size_t size)
{
	pattern_fill(block, size);
	pthread_mutex_lock(&lock);
	left[left_count].at = block;
	left[left_count++].size = size;
	pthread_mutex_unlock(&lock);
}

/* Runs while the thread ends: frees, allocates, and for some rounds sets itself again. */
static void destructor(void *value)
{
	size_t *count = value;
	void *block;

	for (size_t i = 0; i < 50; i++) {
		block = malloc(i * 20 + 1);
		CHECK(block);
		memset(block, 1, i * 20 + 1);
		free(block);
	}
	free(local);
	local = NULL;
	__atomic_fetch_add(&destroyed, 1, __ATOMIC_RELAXED);
	if (--*count) {
		size_t *again = malloc(sizeof(*again));

		CHECK(again);
		*again = *count;
		free(count);
		pthread_setspecific(keys[*again % 3], again);
		return;
	}
	free(count);
	local = malloc(40);
	CHECK(local);
	free(local);
	local = NULL;
}

static void *thread(void *arg)
{
	struct rng rng = { (uint64_t)(uintptr_t)arg };
	size_t *count;

	CHECK(local = strdup("thread-local"));
	for (int k = 0; k < 3; k++) {
		CHECK(count = malloc(sizeof(*count)));
		*count = 1 + (size_t)k % 3;
		CHECK(!pthread_setspecific(keys[k], count));
	}
	for (int i = 0; i < PER_THREAD; i++) {
		size_t size = rng_size(&rng, i % 50 ? 12 : 18);
		void *block = malloc(size);

		CHECK(block);
		leave(block, size);
	}
	if (rng_below(&rng, 4) == 0)
		pthread_exit(NULL);
	return NULL;
}

static void free_left(struct rng *rng)
{
	while (left_count) {
		size_t i = rng_below(rng, left_count);

		CHECK(pattern_holds(left[i].at, left[i].size));
		free(left[i].at);
		left[i] = left[--left_count];
	}
}

static void *tiny_thread(void *arg)
{
	free(malloc(100));
	free(arg);
	return malloc(2000);
}

/*
 * Slots, arrays and stacks of dead threads are used again. Stacks are smaller than a huge page: where the system gives them always,
 * each of those that libc keeps would have one.
 */
static void test_many(void)
{
	size_t before = 0;
	pthread_attr_t attr;

	CHECK(!pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, 256 << 10));
	for (size_t i = 0; i < test_scaled(6000); i++) {
		pthread_t id;
		void *result;

		CHECK(!pthread_create(&id, &attr, tiny_thread, malloc(2000)));
		CHECK(!pthread_join(id, &result));
		free(result);
		if (i == 500)
			before = test_resident();
	}
	if (before)
		CHECK(test_resident() < before + (8 << 20));
	CHECK(!pthread_attr_destroy(&attr));
}

int main(int argc, char **argv)
{
	uint64_t seed = test_seed(argc, argv);
	struct rng rng = { seed };
	size_t threads = 0;

	for (int k = 0; k < 3; k++)
		CHECK(!pthread_key_create(&keys[k], destructor));
	for (size_t round = 0; round < test_scaled(30); round++) {
		pthread_t ids[64];
		int n = (int)rng_below(&rng, 64) + 1;

		for (int i = 0; i < n; i++)
			CHECK(!pthread_create(&ids[i], NULL, thread, (void *)(uintptr_t)rng_next(&rng)));
		for (int i = 0; i < n; i++)
			CHECK(!pthread_join(ids[i], NULL));
		threads += (size_t)n;
		CHECK_EQ(left_count, (size_t)n * PER_THREAD);
		free_left(&rng);
	}
	CHECK(destroyed >= 3 * threads);
	test_many();
	return 0;
}
