/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * check:1 and objects of 8 bytes, whose slab keeps its list in free ones: a second free is stopped also if the object was written
 * to in between, in the default heap and in another one. Two threads that have neighbours are not reported.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drystone/drystone.h>

#include "../support/check.h"

extern __typeof__(dry_cache_create) dry_cache_create __attribute__((weak));
extern __typeof__(dry_cache_alloc) dry_cache_alloc __attribute__((weak));
extern __typeof__(dry_cache_free) dry_cache_free __attribute__((weak));
extern __typeof__(dry_heap_create) dry_heap_create __attribute__((weak));

#define KEEP   64
#define ROUNDS 20000

static dry_cache *cache;

static void make(const char *which, size_t size)
{
	dry_heap *heap = which[1] == 'h' ? dry_heap_create(NULL) : NULL;
	struct dry_cache_attr attr = { .name = "small", .size = size, .align = size < 8 ? size & -size : 8 };

	CHECK(which[1] != 'h' || heap);
	CHECK(cache = dry_cache_create(heap, &attr));
}

static void *work(void *arg)
{
	uint64_t *kept[KEEP] = { 0 };

	for (size_t i = 0; i < ROUNDS; i++) {
		uint64_t **at = &kept[i * 7 % KEEP], tag = (size_t)arg << 32 | i * 7 % KEEP;
		if (*at)
			CHECK_EQ(**at, tag);
		dry_cache_free(cache, *at);
		CHECK(*at = dry_cache_alloc(cache));
		**at = tag;
	}
	for (size_t i = 0; i < KEEP; i++)
		dry_cache_free(cache, kept[i]);
	return NULL;
}

static void rightly(const char *which)
{
	pthread_t thread[2];

	make(which, 8);
	for (size_t i = 0; i < 2; i++)
		CHECK(!pthread_create(&thread[i], NULL, work, (void *)(i + 1)));
	for (size_t i = 0; i < 2; i++)
		CHECK(!pthread_join(thread[i], NULL));
}

static void wrongly(const char *which)
{
	size_t size = (size_t)(which[2] - '0');

	make(which, size);
	char *kept = dry_cache_alloc(cache), *twice = dry_cache_alloc(cache);

	CHECK(kept && twice);
	dry_cache_free(cache, twice);
	memset(twice, 'b', size);
	dry_cache_free(cache, twice);
	_exit(0);
}

static int run(char **argv, const char *which)
{
	char *args[] = { argv[0], (char *)(uintptr_t)which, NULL };
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		setenv("DRYSTONE_CONF", "check:1", 1);
		execv("/proc/self/exe", args);
		_exit(9);
	}
	CHECK(waitpid(child, &status, 0) == child);
	return status;
}

int main(int argc, char **argv)
{
	static const char *const wrong[] = { "wd8", "wh8", "wd1", "wh5", "wd9", "wh9" };

	if (!dry_cache_create)
		return 0;
	if (argc > 1 && argv[1][0] == 'r')
		rightly(argv[1]);
	else if (argc > 1)
		wrongly(argv[1]);
	if (argc > 1)
		return 0;
	CHECK_EQ(run(argv, "rd"), 0);
	CHECK_EQ(run(argv, "rh"), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		int status = run(argv, wrong[i]);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
	return 0;
}
