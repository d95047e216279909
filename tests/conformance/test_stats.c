/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The figures: exact at rest, consistent always, and hits are hits. */
#include <stdlib.h>

#include "../support/exercise.h"

static void test_equations(dry_heap *heap, struct rng *rng)
{
	enum { N = 4000 };
	static void *objects[N];
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t size = 8; size <= 3000; size = size * 2 + 24) {
		const size_t n = test_fit(N, size);
		dry_cache *cache = make_cache(heap, "equations", size, 0, DRY_CACHE_NO_MERGE);
		struct dry_cache_stats stats;
		size_t held = 0;

		CHECK(cache);
		for (int step = 0; step < 400; step++) {
			size_t want = rng_below(rng, n);

			while (held < want)
				CHECK(objects[held++] = dry_cache_alloc(cache));
			rng_shuffle(rng, objects, held);
			while (held > want)
				dry_cache_free(cache, objects[--held]);
			stats = stats_of(cache);
			CHECK_EQ(stats.active_objects, held);
			CHECK_EQ(stats.object_size, size);
			check_figures(&stats, page_size);
			CHECK_EQ(dry_cache_check(cache), 0);
		}
		while (held)
			dry_cache_free(cache, objects[--held]);
		stats = stats_of(cache);
		check_figures(&stats, page_size);
		if (!test_is_tiny()) /* allocations are not counted there */
			CHECK(stats.allocs > 0 && stats.slow_allocs > 0);
		dry_cache_shrink(cache);
		stats = stats_of(cache);
		CHECK_EQ(stats.slabs, 0);
		CHECK_EQ(stats.objects, 0);
		CHECK_EQ(stats.active_slabs, 0);
		CHECK_EQ(stats.cached_objects, 0);
		CHECK_EQ(dry_cache_destroy(cache), 0);
	}
}

/* Free and alloc in turn never leave the array once it has objects. */
static void test_hits(dry_heap *heap)
{
	dry_cache *cache = make_cache(heap, "hits", 64, 0, DRY_CACHE_NO_MERGE);
	struct dry_cache_stats before, after;
	void *object;

	CHECK(cache);
	for (int i = 0; i < 1000; i++)
		dry_cache_free(cache, dry_cache_alloc(cache));
	before = stats_of(cache);
	for (int i = 0; i < 1000000; i++) {
		object = dry_cache_alloc(cache);
		CHECK(object);
		dry_cache_free(cache, object);
	}
	after = stats_of(cache);
	CHECK(after.slow_allocs - before.slow_allocs <= 10000);
	CHECK(after.slow_frees - before.slow_frees <= 10000);
	CHECK(after.allocs >= before.allocs);
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

/* Tunables: the limit asked for, or one by size. */
static void test_tunables(dry_heap *heap)
{
	static const unsigned limits[] = { 1, 2, 7, 60, 500, 512 };
	struct dry_cache_attr attr = { .name = "tuned", .size = 64, .flags = DRY_CACHE_NO_MERGE };
	const int n = (int)test_fit(3000, 64);
	void *objects[3000];

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		attr.limit = limits[i];
		dry_cache *cache = dry_cache_create(heap, &attr);
		CHECK(cache);
		CHECK_EQ(stats_of(cache).limit, limits[i]);
		CHECK(stats_of(cache).batchcount >= 1 && stats_of(cache).batchcount <= limits[i]);
		for (int k = 0; k < n; k++)
			CHECK(objects[k] = dry_cache_alloc(cache));
		for (int k = 0; k < n; k++)
			dry_cache_free(cache, objects[k]);
		CHECK_EQ(stats_of(cache).active_objects, 0);
		CHECK_EQ(dry_cache_check(cache), 0);
		CHECK_EQ(dry_cache_destroy(cache), 0);
	}
}

/* What grows only: slabs made, housekeeping, memory given back, allocations that failed. */
static void test_counters(void)
{
	static char memory[1 << 20];
	struct dry_heap_attr attr = { .name = "counters", .memory = memory, .memory_size = sizeof(memory) };
	dry_heap *own = dry_heap_create(&(struct dry_heap_attr){ .name = "own" }), *small = dry_heap_create(&attr);
	dry_cache *cache = make_cache(own, "counters", 1000, 0, DRY_CACHE_NO_MERGE);
	struct dry_heap_stats before, after;
	const size_t n = 500;
	size_t returned;
	void *objects[500];

	CHECK(own && small && cache);
	for (unsigned round = 1; round <= 3; round++) {
		CHECK_EQ(dry_cache_alloc_bulk(cache, n, objects), n);
		CHECK(stats_of(cache).peak_slabs >= n / stats_of(cache).objects_per_slab);
		CHECK(stats_of(cache).slabs_made >= round * (n / stats_of(cache).objects_per_slab));
		dry_cache_free_bulk(cache, n, objects);
		dry_cache_shrink(cache);
		CHECK_EQ(stats_of(cache).slabs, 0);
	}
	before = heap_stats_of(own);
	returned = dry_heap_trim(own);
	CHECK_EQ(heap_stats_of(own).purged - before.purged, returned);
	dry_heap_reap(own);
	after = heap_stats_of(own);
	CHECK(after.reaps > before.reaps && after.purged > 0 && after.failures == 0);
	CHECK_EQ(dry_heap_destroy(own), 0);

	cache = make_cache(small, "fills it", 1000, 0, DRY_CACHE_NO_MERGE);
	CHECK(cache);
	while (dry_cache_alloc(cache) != NULL)
		;
	CHECK_EQ(stats_of(cache).failures, 1);
	CHECK(dry_alloc(small, sizeof(memory)) == NULL);
	CHECK_EQ(heap_stats_of(small).failures, 2);
}

static void test_heap_figures(void)
{
	struct dry_heap_attr attr = { .name = "figures" };
	dry_heap *heap = dry_heap_create(&attr);
	struct dry_heap_stats empty, full;
	dry_cache *cache = make_cache(heap, "figures", 1000, 0, DRY_CACHE_NO_MERGE);
	const size_t n = test_fit(1000, 1000), huge = test_biggest(64 << 20);
	void *objects[1000], *big;

	CHECK(heap && cache);
	/* once before: what a first use takes for array caches stays */
	CHECK_EQ(dry_cache_alloc_bulk(cache, n, objects), n);
	dry_cache_free_bulk(cache, n, objects);
	dry_cache_shrink(cache);
	empty = heap_stats_of(heap);
	CHECK_EQ(dry_cache_alloc_bulk(cache, n, objects), n);
	big = dry_alloc(heap, huge);
	CHECK(big);
	full = heap_stats_of(heap);
	CHECK(full.in_use >= empty.in_use + n * 1000);
	CHECK(full.in_use + full.extents >= empty.in_use + empty.extents + n * 1000 + huge);
	CHECK(full.reserved >= full.in_use);
	CHECK(full.slots >= 1 && full.slots <= 4096);
	CHECK(full.allocs >= full.slow_allocs);
	dry_free(heap, big);
	dry_cache_free_bulk(cache, n, objects);
	dry_cache_shrink(cache);
	CHECK_EQ(heap_stats_of(heap).in_use, empty.in_use);
	CHECK_EQ(heap_stats_of(heap).extents, empty.extents);
	CHECK(heap_stats_of(heap).dirty > 0 || dry_heap_trim(heap) == 0);
	dry_heap_trim(heap);
	CHECK_EQ(heap_stats_of(heap).dirty, 0);
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };
	dry_heap *heap = dry_heap_create(NULL);

	CHECK(heap);
	test_equations(heap, &rng);
	test_hits(heap);
	if (!test_is_tiny()) /* no arrays that could be tuned */
		test_tunables(heap);
	if (!test_is_tiny()) /* which keeps none */
		test_counters();
	test_heap_figures();
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	return 0;
}
