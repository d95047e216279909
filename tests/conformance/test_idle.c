/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The default heap gives idle memory back by itself, whether its blocks and objects come from malloc() or from calls of its own: in
 * a program of one thread as they are freed, in one of several a while later.
 * DRY_TEST_NOT_TINY: nothing is given back there
 * DRY_TEST_NO_SANITIZER: what is resident is the sanitizer's, too
 */
#include <drystone/process.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/exercise.h"
#include "../support/statm.h"

enum { N = 60000, SIZE = 1000, BYTES = N * SIZE };
static void *objects[N];

enum how { TYPED, TYPED_BULK, BIG_BULK, GENERAL };

static size_t size_of(enum how how)
{
	return how == BIG_BULK ? 60 * SIZE : SIZE;
}

static bool in_bulk(enum how how)
{
	return how == TYPED_BULK || how == BIG_BULK;
}

static void fill(dry_cache *cache, enum how how)
{
	size_t n = BYTES / size_of(how);

	if (in_bulk(how))
		CHECK_EQ(dry_cache_alloc_bulk(cache, n, objects), n);
	for (size_t i = 0; i < n; i++) {
		if (!in_bulk(how))
			objects[i] = how == TYPED ? dry_cache_alloc(cache) : dry_alloc(NULL, SIZE);
		CHECK(objects[i] != NULL);
		memset(objects[i], 1, size_of(how));
	}
}

static void empty(dry_cache *cache, enum how how)
{
	size_t n = BYTES / size_of(how);

	if (in_bulk(how))
		dry_cache_free_bulk(cache, n, objects);
	for (size_t i = 0; !in_bulk(how) && i < n; i++) {
		if (how == TYPED)
			dry_cache_free(cache, objects[i]);
		else
			dry_free(NULL, objects[i]);
	}
}

/* In milliseconds, about. */
static unsigned returned_after(size_t base)
{
	unsigned ms = 0;

	for (; test_resident() > base + BYTES / 5 && ms < 20000; ms += 50)
		nanosleep(&(struct timespec){ .tv_nsec = 50 * 1000 * 1000 }, NULL);
	return ms;
}

static void *sit(void *arg)
{
	pause();
	return arg;
}

/* In a process of its own, for what one gave back in vain it keeps for a while. */
static void one_way(enum how how, bool threads)
{
	dry_cache *cache = dry_cache_create(NULL, &(struct dry_cache_attr){ .name = "idle", .size = size_of(how) });
	size_t base = test_resident();
	pthread_t thread;

	CHECK(cache != NULL);
	CHECK_EQ(dry_ctl("decay_ms", "200"), 0);
	if (threads)
		CHECK_EQ(pthread_create(&thread, NULL, sit, NULL), 0);
	fill(cache, how);
	CHECK(test_resident() > base + BYTES / 10 * 9);
	empty(cache, how);
#ifndef __GLIBC__ /* which tells of threads */
	threads = true;
#endif
	CHECK(returned_after(base) < (threads ? 20000 : 50));
	_exit(0);
}

int main(void)
{
	for (enum how how = TYPED; how <= GENERAL; how++)
		for (int threads = 0; threads < 2; threads++) {
			pid_t child = fork();
			int status;

			if (child == 0)
				one_way(how, threads != 0);
			CHECK(waitpid(child, &status, 0) == child && status == 0);
		}
	return 0;
}
