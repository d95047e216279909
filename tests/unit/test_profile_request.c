// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * A program that lives by hits alone is asked from outside for samples, as `drystone profile` asks: the next allocation obeys, and
 * the ones after it are hits again. By each function that can be one; with threads beside.
 * DRY_TEST_NO_SANITIZER: it is about malloc.
 * DRY_TEST_CONF: check=check:1
 */
#include <drystone/drystone.h>
#include <drystone/inspect.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "check.h"

static struct dry_inspect_profile *profile;
static atomic_int stop;

static void *by_malloc(void)
{
	return malloc(100);
}

static void *by_calloc(void)
{
	return calloc(10, 10);
}

static void *by_aligned(void)
{
	return aligned_alloc(64, 192);
}

static void *by_realloc(void)
{
	return realloc(malloc(100), 300);
}

static size_t limit(void)
{
	return __atomic_load_n((size_t *)(uintptr_t)profile->limit, __ATOMIC_ACQUIRE);
}

static void ask(uint32_t what)
{
	__atomic_store_n((size_t *)(uintptr_t)profile->limit, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&profile->request, what, __ATOMIC_RELEASE);
}

static void *work(void *arg)
{
	while (!stop)
		free(by_realloc());
	return arg;
}

static void check_obeys(void *(*allocate)(void))
{
	size_t before = limit();

	for (int i = 0; i < 1000; i++)
		free(allocate());
	for (int on = 1; on >= 0; on--) {
		CHECK(before != 0 && profile->request == 0);
		ask(on ? 1 << 20 : DRY_INSPECT_PROFILE_OFF);
		free(allocate());
		CHECK(profile->request == 0 && profile->on == (uint32_t)on);
		CHECK(limit() == before);
	}
}

int main(void)
{
	pthread_t threads[2];

	free(malloc(1));
	profile = (void *)(uintptr_t)dry_inspect.profile;
	check_obeys(by_malloc);
	check_obeys(by_calloc);
	check_obeys(by_aligned);
	check_obeys(by_realloc);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
	/* Any of them may obey; all do once they have seen it. */
	for (int i = 0; i < 300; i++) {
		ask(i % 2 == 0 ? 1 << 20 : DRY_INSPECT_PROFILE_OFF);
		while (__atomic_load_n(&profile->request, __ATOMIC_ACQUIRE) != 0)
			free(malloc(64));
	}
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK(limit() != 0);
	return 0;
}
