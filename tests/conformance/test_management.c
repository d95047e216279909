/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Every management type, for a sweep of sizes: all calls are exact whichever keeps the free objects. */
/* DRY_TEST_NOT_TINY: one way to keep free objects. */
#include "../support/exercise.h"
#include "../support/pages.h"

static const unsigned types[] = { 0, DRY_CACHE_OBJFREELIST, DRY_CACHE_NORMAL, DRY_CACHE_OFF_SLAB,
				  DRY_CACHE_BITMAP, DRY_CACHE_CHAIN, DRY_CACHE_PUBLISHED };

static void check_type(const struct dry_cache_stats *stats, unsigned type)
{
	CHECK_EQ(stats->flags & DRY_CACHE_TYPE_MASK, type);
	switch (type) {
	case DRY_CACHE_OBJFREELIST:
		CHECK_EQ(stats->mgmt, DRY_MGMT_OBJFREELIST);
		break;
	case DRY_CACHE_NORMAL:
		CHECK(stats->mgmt == DRY_MGMT_NORMAL_LEFTOVER || stats->mgmt == DRY_MGMT_NORMAL_DEDICATED);
		break;
	case DRY_CACHE_OFF_SLAB:
		CHECK_EQ(stats->mgmt, DRY_MGMT_OFF_SLAB);
		break;
	case DRY_CACHE_BITMAP:
		CHECK_EQ(stats->mgmt, DRY_MGMT_BITMAP);
		break;
	case DRY_CACHE_CHAIN:
		CHECK_EQ(stats->mgmt, DRY_MGMT_CHAIN);
		break;
	case DRY_CACHE_PUBLISHED:
		CHECK(stats->mgmt <= DRY_MGMT_NORMAL_DEDICATED);
		break;
	}
}

/* true if the cache can be had */
static bool test_type(dry_heap *heap, size_t size, size_t align, unsigned type, size_t steps, struct rng *rng)
{
	dry_cache *cache = make_cache(heap, "typed", size, align, type);
	struct dry_cache_stats stats;

	if (!cache) {
		CHECK_EQ(errno, EINVAL);
		return false;
	}
	exercise_cache(heap, cache, steps, rng);
	stats = stats_of(cache);
	check_type(&stats, type);
	check_figures(&stats, test_page_size());
	dry_cache_shrink(cache);
	CHECK_EQ(stats_of(cache).slabs, 0);
	CHECK_EQ(dry_cache_destroy(cache), 0);
	return true;
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };
	dry_heap *heap = dry_heap_create(&(struct dry_heap_attr){ .name = "types" });
	size_t had[7] = { 0 }, tried = 0;

	CHECK(heap);
	for (size_t size = 8; size <= 20000; size += 8 + rng_below(&rng, size / 2), tried++)
		for (int t = 0; t < 7; t++)
			had[t] += test_type(heap, size, 0, types[t], test_scaled(4100), &rng);
	for (int t = 0; t < 7; t++)
		had[t] += test_type(heap, 100, 256, types[t], test_scaled(4100), &rng);
	tried++;
	CHECK_EQ(had[0], tried); /* the default and the published order always find one */
	CHECK_EQ(had[6], tried);
	for (int t = 1; t < 6; t++) /* and no type is refused throughout */
		CHECK(had[t] * 2 > tried);
	/* sizes for which each type must be possible */
	for (int t = 1; t < 6; t++) {
		CHECK(test_type(heap, 2 * test_any_type(), 0, types[t], 2000, &rng));
		CHECK(test_type(heap, 1000, 0, types[t], 2000, &rng));
		CHECK(test_type(heap, 4096, 0, types[t], 2000, &rng));
	}
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	return 0;
}
