/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What it takes to destroy one cache does not grow with how many there are, in either order. */
#include <drystone/drystone.h>
#include <time.h>

#include "check.h"

#define FEW   500
#define MANY  16000
#define TRIES 4
#define TIMES 10 /* memory that is less often in the processor's caches; it was 40 */

static dry_cache *cache[MANY];

static double now(void)
{
	struct timespec time;

	CHECK_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time), 0);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* ns for each of n. */
static double destroy(unsigned n, unsigned flags, bool newest_first)
{
	struct dry_cache_attr attr = { .name = "many", .size = 200, .flags = flags };
	dry_heap *heap = dry_heap_create(NULL);
	double start, took;

	CHECK(heap != NULL);
	for (unsigned i = 0; i < n; i++) {
		cache[i] = dry_cache_create(heap, &attr);
		CHECK(cache[i] != NULL);
	}
	dry_cache_free(cache[0], dry_cache_alloc(cache[0])); /* from here on there are arrays */
	start = now();
	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(dry_cache_destroy(cache[newest_first ? n - 1 - i : i]), 0);
	took = now() - start;
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	return took / n;
}

static double least(unsigned n, unsigned flags, bool newest_first)
{
	double best = destroy(n, flags, newest_first);

	for (unsigned i = 1; i < TRIES; i++) {
		double took = destroy(n, flags, newest_first);
		best = took < best ? took : best;
	}
	return best;
}

int main(void)
{
	for (unsigned i = 0; i < 4; i++) {
		unsigned flags = i < 2 ? DRY_CACHE_NO_MERGE : 0;
		double few = least(FEW, flags, i % 2 != 0), many = least(MANY, flags, i % 2 != 0);

		printf("%s, %s first: %.0f ns of %u, %.0f of %u\n", flags != 0 ? "apart" : "aliases",
		       i % 2 != 0 ? "newest" : "oldest", few, FEW, many, MANY);
		CHECK(many < few * TIMES);
	}
	return 0;
}
