/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * DRY_TEST_NO_SANITIZER: it needs the malloc override.
 *
 * Out of memory at each request under the malloc family: as test_oom.c, on the default heap, which is trimmed before each
 * attempt, so that it asks again. The k-th request of the port or for a run of pages fails, alone and with all later
 * ones, for every k, in five workloads: small blocks, big ones, growing ones, aligned ones, zeroed ones.
 */
#include <malloc.h>
#include <stdlib.h>

#include <drystone/drystone.h>

#include "../support/check.h"
#include "../support/pattern.h"
#include "../support/random.h"
#include "fail_port.h"
#include "fail_runs.h"
#include "malloc/options.h"

enum { MOST = 150 };

static void *blocks[MOST];
static size_t sizes[MOST];

static void *small(size_t i, size_t *size)
{
	*size = 1 + i * 7 % 1500;
	return malloc(*size);
}

static void *big(size_t i, size_t *size)
{
	*size = i % 20 == 0 ? 20000 + i * 4099 : 64;
	return malloc(*size);
}

static void *growing(size_t i, size_t *size)
{
	void *block = malloc(50 + i), *more;

	*size = 50 + i;
	if (!block)
		return NULL;
	pattern_fill(block, *size);
	more = realloc(block, *size * 3);
	if (!more) { /* then it is what it was */
		CHECK_EQ(errno, ENOMEM);
		CHECK(pattern_holds(block, *size));
		free(block);
		return NULL;
	}
	CHECK(pattern_holds_key(more, *size, pattern_key(block, *size)));
	*size *= 3;
	return more;
}

static void *aligned(size_t i, size_t *size)
{
	void *block = NULL;

	*size = 100 + i * 13 % 9000;
	errno = posix_memalign(&block, (size_t)16 << i % 10, *size);
	return block;
}

static void *zeroed(size_t i, size_t *size)
{
	void *block;

	*size = 1 + i * 97 % 40000;
	block = calloc(1, *size);
	CHECK(!block || all_bytes(block, *size, 0));
	return block;
}

/* How many were refused; all is freed at the end. */
static size_t work(void *(*get)(size_t i, size_t *size))
{
	size_t refused = 0;

	for (size_t i = 0; i < MOST; i++) {
		errno = 0;
		blocks[i] = get(i, &sizes[i]);
		if (blocks[i]) {
			pattern_fill(blocks[i], sizes[i]);
			continue;
		}
		CHECK_EQ(errno, ENOMEM);
		refused++;
	}
	for (size_t i = 0; i < MOST; i++) {
		CHECK(!blocks[i] || pattern_holds(blocks[i], sizes[i]));
		free(blocks[i]);
	}
	return refused;
}

static int add_active(dry_cache *cache, void *arg)
{
	struct dry_cache_stats stats;

	CHECK_EQ(dry_cache_stats(cache, &stats), 0);
	if (!strncmp(stats.name, "kmalloc-", 8)) /* not what the library has for itself */
		*(size_t *)arg += stats.active_objects;
	return 0;
}

static size_t active(void)
{
	size_t sum = 0;

	CHECK_EQ(dry_heap_for_each_cache(NULL, add_active, &sum), 0);
	return sum;
}

/* false: the workload made fewer than k requests. */
static bool attempt(void *(*get)(size_t i, size_t *size), bool of_port, long k, bool all_after, size_t *refused)
{
	size_t before;
	bool reached;

	dry_heap_trim(NULL);
	before = active();
	atomic_store(&dry_fail_calls, 0);
	atomic_store(&run_calls, 0);
	atomic_store(&dry_fail_after, all_after);
	atomic_store(&run_fail_after, all_after);
	atomic_store(of_port ? &dry_fail_at : &run_fail_at, k);
	*refused += work(get);
	reached = atomic_load(of_port ? &dry_fail_calls : &run_calls) >= k;
	atomic_store(&dry_fail_at, 0);
	atomic_store(&run_fail_at, 0);
	CHECK_EQ(dry_heap_check(NULL), 0);
	CHECK_EQ(active(), before); /* nothing is lost */
	CHECK_EQ(work(get), 0);
	return reached;
}

int main(int argc, char **argv)
{
	static void *(*const workloads[])(size_t i, size_t *size) = { small, big, growing, aligned, zeroed };

	test_seed(argc, argv);
	dry_option_background = false;
	for (size_t w = 0; w < sizeof(workloads) / sizeof(workloads[0]); w++)
		for (int of_port = 0; of_port < 2; of_port++) {
			size_t refused = 0;
			long k = 1;

			/* One request alone may be made up for by what lies idle; all from there on may not. */
			while (attempt(workloads[w], of_port, k, false, &refused) &&
			       attempt(workloads[w], of_port, k, true, &refused))
				k++;
			CHECK(of_port || (k > 1 && refused > 0));
			printf("workload %zu, %s: %ld requests, %zu refusals seen\n", w, of_port ? "port" : "arena", k - 1,
			       refused);
			fflush(stdout);
		}
	return 0;
}
