/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Poisoned caches work as any other, and free objects hold no old content. */
/* DRY_TEST_NOT_TINY: no debugging of caches. */
#include <stdlib.h>

#include "../support/exercise.h"

static void test_size(dry_heap *heap, size_t size, unsigned type, struct rng *rng)
{
	dry_cache *cache = make_cache(heap, "poisoned", size, 0, DRY_CACHE_POISON | type);
	const int n = (int)test_fit(300, size);
	void *objects[300];

	if (!cache) { /* not every type can be had for every size */
		CHECK(type && errno == EINVAL);
		return;
	}
	CHECK_EQ(dry_cache_alloc_bulk(cache, (size_t)n, objects), n);
	for (int i = 0; i < n; i++)
		memset(objects[i], 0x3c, size);
	rng_shuffle(rng, objects, (size_t)n);
	for (int i = 0; i < n; i++)
		dry_cache_free(cache, objects[i]);
	for (int i = 0; i < n; i++) {
		CHECK(objects[i] = dry_cache_alloc(cache));
		if (size >= 16)
			CHECK(!all_bytes(objects[i], size, 0x3c));
	}
	dry_cache_free_bulk(cache, (size_t)n, objects);
	exercise_cache(heap, cache, test_scaled(6000), rng);
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

int main(int argc, char **argv)
{
	static const unsigned types[] = { 0, DRY_CACHE_OBJFREELIST, DRY_CACHE_NORMAL, DRY_CACHE_OFF_SLAB,
					  DRY_CACHE_BITMAP, DRY_CACHE_CHAIN, DRY_CACHE_PUBLISHED };
	struct rng rng = { test_seed(argc, argv) };
	dry_heap *heap = dry_heap_create(NULL);

	CHECK(heap);
	for (size_t size = 1; size < test_biggest(9000); size += size / 3 + 1)
		for (int t = 0; t < 7; t++)
			test_size(heap, size, types[t], &rng);
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	return 0;
}
