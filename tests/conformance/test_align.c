/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Alignment and spacing of objects, for all sizes 1 to 4096 and alignments up to 65536.
 *
 * DRY_TEST_CONF: secure=secure:1 (where an object may be far smaller than its slot)
 */
#include "../support/exercise.h"

#define HELD 12

static void test_one(dry_heap *heap, size_t size, size_t align, unsigned flags)
{
	size_t want = align ? align : size % 16 == 0 ? 16 : 8;
	dry_cache *cache = make_cache(heap, "aligned", size, align, flags | DRY_CACHE_NO_MERGE);
	const int held = (int)test_fit(HELD, 2 * (size > align ? size : align));
	struct dry_cache_stats stats;
	void *objects[HELD];

	if ((flags & DRY_CACHE_HWALIGN) && want < 64)
		want = 64;
	CHECK(cache);
	stats = stats_of(cache);
	CHECK_EQ(stats.object_size, size);
	CHECK(stats.stride >= size && stats.stride % want == 0);
	CHECK(stats.align >= want && stats.align % want == 0);
	for (int i = 0; i < held; i++) {
		objects[i] = dry_cache_alloc(cache);
		CHECK(objects[i] && (uintptr_t)objects[i] % want == 0);
		pattern_fill(objects[i], size);
	}
	for (int i = 0; i < held; i++) {
		CHECK(pattern_holds(objects[i], size));
		dry_cache_free(cache, objects[i]);
	}
	CHECK_EQ(dry_cache_check(cache), 0);
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };
	dry_heap *heap = dry_heap_create(NULL);
	const size_t small = test_biggest(4096), big = test_biggest(4194304);

	CHECK(heap);
	for (size_t size = 1; size <= small; size++)
		test_one(heap, size, 0, 0);
	for (size_t size = 1; size <= small; size += 1 + rng_below(&rng, 60))
		test_one(heap, size, 0, DRY_CACHE_HWALIGN);
	for (size_t align = 8; align <= test_biggest(65536); align *= 2) {
		for (size_t size = 1; size <= small; size += 1 + rng_below(&rng, 120))
			test_one(heap, size, align, 0);
		for (size_t size = 1; size <= small; size *= 2)
			test_one(heap, size, align, 0);
		test_one(heap, align, align, 0);
		test_one(heap, align + 1, align, 0);
	}
	for (size_t align = 1; align <= 4; align *= 2) /* small ones are allowed, too */
		test_one(heap, 5, align, 0);
	for (size_t size = 8192; size <= big; size *= 2) {
		test_one(heap, size - 1, 0, 0);
		test_one(heap, size, 0, 0);
	}
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	return 0;
}
