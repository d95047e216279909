/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Big blocks replaced at random, and such that grow, cost few page faults: freed memory serves again. Counted are
 * faults, not time, in a heap of its own, which no helper thread looks after. And what is kept is bounded, is told in
 * the statistics, and goes back. DRY_TEST_NO_NORSEQ: pages know nothing of slots.
 */
#include <sys/resource.h>

#include "check.h"
#include "heap/heap.h"
#include "random.h"

#define LIVE  20
#define TURNS 300
#define KEPT  ((size_t)80 << 20) /* the cap, and a block on its way */

/* The memory of a sanitizer has faults of its own. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define COUNTS 0
#else
#define COUNTS 1
#endif

static long faults(void)
{
	struct rusage usage;

	CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
	return usage.ru_minflt;
}

/* A byte a page. */
static long touch(char *block, size_t from, size_t to)
{
	size_t page = dry_port_page_size();
	long pages = 0;

	for (size_t at = (from + page - 1) / page * page; at < to; at += page, pages++)
		block[at] = 1;
	return pages;
}

static void verify(dry_heap *heap, size_t live)
{
	struct dry_heap_stats stats;
	const char *problem = dry_extents_check(&heap->extents);

	if (problem != NULL)
		fprintf(stderr, "%s\n", problem);
	CHECK(problem == NULL);
	CHECK(dry_heap_stats(heap, &stats) == 0);
	CHECK(stats.extents >= live && stats.extents <= live + live / 8 + (1 << 20));
	CHECK(stats.dirty >= heap->extents.cached_bytes && heap->extents.cached_bytes <= KEPT);
}

static void replaced(struct rng *rng)
{
	dry_heap *heap = dry_heap_create(NULL);
	char *block[LIVE] = { NULL };
	size_t size[LIVE] = { 0 }, live = 0, place;
	long pages = 0, before = faults();

	for (size_t i = 0; i < TURNS; i++) {
		place = rng_below(rng, LIVE);
		live -= size[place];
		dry_free(heap, block[place]);
		size[place] = ((size_t)5 << 18) + rng_below(rng, (size_t)5 << 20);
		live += size[place];
		block[place] = dry_alloc(heap, size[place]);
		CHECK(block[place] != NULL);
		pages += touch(block[place], 0, size[place]);
		verify(heap, live);
	}
	printf("replaced: %ld pages, %ld faults\n", pages, faults() - before);
	CHECK(!COUNTS || faults() - before < pages / 3);
	for (place = 0; place < LIVE; place++)
		dry_free(heap, block[place]);
	verify(heap, 0);
	CHECK(heap->extents.cached_bytes != 0);
	dry_heap_trim(heap);
	CHECK_EQ(heap->extents.cached_bytes, 0);
	CHECK_EQ(heap->extents.live_bytes, 0);
	CHECK(dry_heap_destroy(heap) == 0);
}

/* One after another grows to 16 MiB, by half or by a little. */
static void grown(size_t add, size_t part)
{
	dry_heap *heap = dry_heap_create(NULL);
	long pages = 0, before = faults();

	for (unsigned i = 0; i < 8; i++) {
		size_t size = (size_t)2 << 20, more;
		char *block = dry_alloc(heap, size);

		CHECK(block != NULL);
		pages += touch(block, 0, size);
		for (; size < (size_t)16 << 20; size = more) {
			more = size + size / part + add;
			block = dry_realloc(heap, block, more);
			CHECK(block != NULL && block[0] == 1);
			pages += touch(block, size, more);
		}
		dry_free(heap, block);
		verify(heap, 0);
	}
	printf("grown: %ld pages, %ld faults\n", pages, faults() - before);
	CHECK(!COUNTS || faults() - before < pages / 2);
	CHECK(dry_heap_destroy(heap) == 0);
}

/* A buffer that is freed and allocated anew for each picture, each a little bigger, as the one before is still there or not. */
static void ramped(size_t step, bool overlap)
{
	dry_heap *heap = dry_heap_create(NULL);
	char *block = NULL, *old = NULL;
	long pages = 0, before = faults();

	for (size_t size = (size_t)200 << 10; size < (size_t)8 << 20; size += step) {
		dry_free(heap, overlap ? old : block);
		old = block;
		block = dry_alloc(heap, size);
		CHECK(block != NULL);
		pages += touch(block, 0, size);
		verify(heap, overlap && old != NULL ? 2 * size - step : size);
	}
	printf("ramped by %zu%s: %ld pages, %ld faults\n", step, overlap ? ", two" : "", pages, faults() - before);
	CHECK(!COUNTS || faults() - before < pages / 20);
	if (overlap)
		dry_free(heap, old);
	dry_free(heap, block);
	CHECK(dry_heap_destroy(heap) == 0);
}

/* One that grows, beside memory that another left free: a copy goes there, and fresh pages are not asked for. */
static void grown_into_spare(void)
{
	enum { FROM = 8 << 20, TO = 12 << 20 };
	dry_heap *heap = dry_heap_create(NULL);
	char *block = dry_alloc(heap, FROM), *spare = dry_alloc(heap, TO);

	CHECK(block != NULL && spare != NULL);
	touch(block, 0, FROM);
	touch(spare, 0, TO);
	dry_free(heap, spare);
	long before = faults();
	block = dry_realloc(heap, block, TO);
	CHECK(block != NULL && block[FROM / 2] == 1);
	long pages = touch(block, FROM, TO);
	CHECK(!COUNTS || faults() - before < pages / 8);
	verify(heap, TO);
	dry_free(heap, block);
	CHECK(dry_heap_destroy(heap) == 0);
}

/* Eight that grow by half, each up to another size, and begin anew. */
static void grown_side_by_side(struct rng *rng)
{
	enum { BLOCKS = 8 };
	dry_heap *heap = dry_heap_create(NULL);
	char *block[BLOCKS] = { NULL };
	size_t size[BLOCKS] = { 0 }, limit[BLOCKS] = { 0 }, live = 0;

	for (size_t i = 0; i < 400; i++) {
		size_t place = rng_below(rng, BLOCKS), more = size[place] + size[place] / 2;

		live -= size[place];
		if (size[place] == 0 || more > limit[place]) {
			dry_free(heap, block[place]);
			block[place] = NULL;
			size[place] = 0;
			more = (size_t)5 << 18;
			limit[place] = more + rng_below(rng, (size_t)24 << 20);
		}
		block[place] = dry_realloc(heap, block[place], more);
		CHECK(block[place] != NULL && (size[place] == 0 || block[place][size[place] / 2] == 1));
		touch(block[place], size[place], more);
		memset(block[place] + more / 2, 1, 1);
		memset(block[place] + more / 4 * 3, 1, 1); /* the middle of the next size */
		size[place] = more;
		live += more;
		verify(heap, live);
	}
	for (size_t i = 0; i < BLOCKS; i++)
		dry_free(heap, block[i]);
	CHECK(dry_heap_destroy(heap) == 0);
}

/* Of a block from memory that was used before and such that was not, every byte is zero. */
static void zeroed(void)
{
	dry_heap *heap = dry_heap_create(NULL);
	size_t size = (size_t)3 << 20;

	for (size_t more = 0; more < (size_t)4 << 20; more += 333333) {
		unsigned char *block = dry_zalloc(heap, size + more);

		CHECK(block != NULL);
		for (size_t at = 0; at < size + more; at++)
			CHECK(block[at] == 0);
		memset(block, 0xee, size + more);
		dry_free(heap, block);
	}
	CHECK(dry_heap_destroy(heap) == 0);
}

/* What one phase freed goes back against what the next one takes in smaller blocks. */
static void exchanged(void)
{
	static char *small[10000];
	dry_heap *heap = dry_heap_create(NULL);
	char *big[12];

	for (size_t i = 0; i < 12; i++) {
		big[i] = dry_alloc(heap, (size_t)5 << 20);
		CHECK(big[i] != NULL);
	}
	for (size_t i = 0; i < 12; i++)
		dry_free(heap, big[i]);
	CHECK_EQ(heap->extents.cached_bytes, (size_t)60 << 20);
	for (size_t i = 0; i < 10000; i++) {
		small[i] = dry_alloc(heap, 5000);
		CHECK(small[i] != NULL);
	}
	CHECK(heap->extents.cached_bytes <= (size_t)17 << 20);
	for (size_t i = 0; i < 10000; i++)
		dry_free(heap, small[i]);
	CHECK(dry_heap_destroy(heap) == 0);
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };

	replaced(&rng);
	grown(0, 2);
	grown(100000, 1000);
	ramped(4096, false);
	ramped(20000, true);
	grown_into_spare();
	grown_side_by_side(&rng);
	zeroed();
	exchanged();
	return 0;
}
