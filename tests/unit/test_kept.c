/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Runs of pages that were freed serve again as they are: the last ones, little in all, and none where there is a limit.
 * Figures say that they are free, a reap and a trim give them back, and a second free of one is told.
 * DRY_TEST_NO_NORSEQ: pages know nothing of slots.
 */
#include "check.h"
#include "base/fatal.h"
#include "heap/heap.h"

#define SIZE  40000
#define BOUND ((size_t)256 << 10)
#define RUNS  64

static size_t in_use(dry_heap *heap)
{
	struct dry_heap_stats stats;

	CHECK(dry_heap_stats(heap, &stats) == 0);
	return stats.in_use;
}

static size_t kept(dry_heap *heap)
{
	return (size_t)dry_kept_pages(&heap->kept) << dry_heap_arena(heap)->page_shift;
}

static bool keeps(void)
{
	dry_heap *heap = dry_heap_create(NULL);
	bool some;

	dry_free(heap, dry_alloc(heap, SIZE));
	some = kept(heap) != 0;
	dry_heap_destroy(heap);
	return some;
}

static void test_again(void)
{
	dry_heap *heap = dry_heap_create(NULL);
	char *first = dry_alloc(heap, SIZE), *second;
	size_t used = in_use(heap);

	CHECK(first != NULL);
	memset(first, 0xff, SIZE);
	dry_free(heap, first);
	CHECK(kept(heap) >= SIZE && in_use(heap) == used - kept(heap));
	second = dry_zalloc(heap, SIZE);
	CHECK(second == first && kept(heap) == 0 && in_use(heap) == used);
	for (size_t i = 0; i < SIZE; i++)
		CHECK_EQ(second[i], 0);
	dry_free(heap, second);
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

static void fill(dry_heap *heap)
{
	size_t page = (size_t)1 << dry_heap_arena(heap)->page_shift;
	void *run[RUNS];

	for (size_t i = 0; i < RUNS; i++)
		CHECK(run[i] = dry_alloc_aligned(heap, page, SIZE + i / 2 * page));
	for (size_t i = 0; i < RUNS; i++)
		dry_free(heap, run[i]);
}

static void test_bound(void)
{
	dry_heap *heap = dry_heap_create(NULL);

	fill(heap);
	CHECK(kept(heap) != 0 && kept(heap) <= BOUND);
	CHECK(dry_arena_check(dry_heap_arena(heap)) == NULL);
	dry_heap_reap(heap);
	CHECK_EQ(kept(heap), 0);
	fill(heap);
	dry_heap_trim(heap);
	CHECK_EQ(kept(heap), 0);
	CHECK(dry_arena_check(dry_heap_arena(heap)) == NULL);
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

static void test_limited(void)
{
	struct dry_heap_attr attr = { .limit = (size_t)8 << 20 };
	dry_heap *heap = dry_heap_create(&attr);

	fill(heap);
	CHECK_EQ(kept(heap), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

static unsigned told;

static void count_report(enum dry_fatal_code code, const void *address)
{
	(void)address;
	told += code == DRY_FATAL_INVALID_POINTER;
}

static void test_twice(void)
{
	dry_heap *heap = dry_heap_create(NULL);
	void *run = dry_alloc(heap, SIZE);

	dry_free(heap, run);
	CHECK(kept(heap) != 0);
	dry_fatal_aborts = false;
	dry_fatal_explain = count_report;
	dry_free(heap, run);
	CHECK_EQ(told, 1);
	CHECK(dry_alloc(heap, SIZE) == run && dry_alloc(heap, SIZE) != run);
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

int main(void)
{
	if (!keeps()) { /* several nodes, or a sanitizer that watches over free memory */
		printf("no runs are kept here\n");
		return 77;
	}
	test_again();
	test_bound();
	test_limited();
	test_twice();
	return 0;
}
