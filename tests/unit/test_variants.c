/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The variants that experiments compare do what they say, and the counts of lock rounds are exact. */
#include <drystone/experiment.h>
#include <stdlib.h>

#include "../support/check.h"
#include "port/contract.h"

#define N 2000

static void *objects[N];

static struct dry_cache_stats stats_of(dry_cache *cache)
{
	struct dry_cache_stats s;

	CHECK_EQ(dry_cache_stats(cache, &s), 0);
	return s;
}

static dry_cache *make(dry_heap *heap, size_t size, unsigned flags)
{
	struct dry_cache_attr attr = { .name = "variant", .size = size, .flags = flags | DRY_CACHE_NO_MERGE };
	dry_cache *cache = dry_cache_create(heap, &attr);

	CHECK(cache);
	return cache;
}

static void fill(dry_cache *cache)
{
	for (int i = 0; i < N; i++)
		CHECK(objects[i] = dry_cache_alloc(cache));
}

static void empty(dry_cache *cache)
{
	for (int i = 0; i < N; i++)
		dry_cache_free(cache, objects[i]);
	CHECK_EQ(stats_of(cache).active_objects, 0);
	CHECK_EQ(dry_cache_check(cache), 0);
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

/* 64 objects a slab, arrays of more: each refill empties a new slab, so that there is nothing to attach. */
static void test_refill_locks(dry_heap *heap)
{
	for (int first = 0; first < 2; first++) {
		dry_cache *cache = make(heap, 64, DRY_CACHE_PUBLISHED | (first ? DRY_CACHE_ATTACH_FIRST : 0));
		struct dry_cache_stats s;

		fill(cache);
		s = stats_of(cache);
		CHECK_EQ(s.objects_per_slab, 4096 / 64);
		CHECK(s.limit >= s.objects_per_slab);
		CHECK_EQ(s.node_locks, first ? 2 * s.slabs : 0);
		CHECK_EQ(s.shared_locks, 0);
		empty(cache);
	}
}

static void test_no_arrays(dry_heap *heap)
{
	dry_cache *cache = make(heap, 64, DRY_CACHE_NO_ARRAYS);
	struct dry_cache_stats s;

	fill(cache);
	s = stats_of(cache);
	CHECK_EQ(s.limit, 0);
	CHECK_EQ(s.active_objects, N);
	CHECK_EQ(s.cached_objects, 0);
	CHECK_EQ(s.slow_allocs, N);
	/* One for each object: to take it, or, from a new slab, to attach what is left. */
	CHECK_EQ(s.node_locks, N);
	for (int i = 0; i < N; i++)
		dry_cache_free(cache, objects[i]);
	s = stats_of(cache);
	CHECK_EQ(s.node_locks, 2 * N);
	CHECK_EQ(s.slow_frees, N);
	CHECK_EQ(s.cached_objects, 0);
	fill(cache);
	empty(cache);
}

static void never_runs(void *object, void *arg)
{
	(void)arg;
	(void)object;
}

static void test_order(dry_heap *heap, size_t size, void (*ctor)(void *, void *), unsigned flags, enum dry_mgmt mgmt,
		       unsigned pages)
{
	struct dry_cache_attr attr = { .name = "order", .size = size, .ctor = ctor, .flags = flags | DRY_CACHE_NO_MERGE };
	dry_cache *cache = dry_cache_create(heap, &attr);
	struct dry_cache_stats s;

	CHECK(cache);
	s = stats_of(cache);
	CHECK_EQ(s.mgmt, mgmt);
	CHECK_EQ(s.pages_per_slab, pages);
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

int main(void)
{
	struct dry_heap_attr attr = { .nodes = 1, .page_size = 4096 };
	dry_heap *heap;

	if (dry_port_page_size() > attr.page_size) {
		printf("not here: the published orders are those of pages of 4 KiB\n");
		return 77;
	}
	heap = dry_heap_create(&attr);
	CHECK(heap);
	test_refill_locks(heap);
	test_no_arrays(heap);
	/* The published order without its first type, and with it. */
	test_order(heap, 256, NULL, DRY_CACHE_PUBLISHED, DRY_MGMT_OBJFREELIST, 1);
	test_order(heap, 256, NULL, DRY_CACHE_PUBLISHED_2015, DRY_MGMT_OFF_SLAB, 1);
	test_order(heap, 96, NULL, DRY_CACHE_PUBLISHED_2015, DRY_MGMT_NORMAL_LEFTOVER, 1);
	test_order(heap, 32, NULL, DRY_CACHE_PUBLISHED_2015, DRY_MGMT_NORMAL_DEDICATED, 1);
	/* 3 * 1040 of 4096: more than 1/8 is left over, so the slab would be of two pages. */
	test_order(heap, 1040, never_runs, DRY_CACHE_PUBLISHED, DRY_MGMT_NORMAL_LEFTOVER, 2);
	test_order(heap, 1040, never_runs, DRY_CACHE_PUBLISHED | DRY_CACHE_SMALL_SLABS, DRY_MGMT_NORMAL_LEFTOVER, 1);
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	printf("variants: ok (no random numbers in it)\n");
	return 0;
}
