/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Attributes that cannot be had: NULL with EINVAL, and nothing leaked. */
#include <stdlib.h>

#include "../support/exercise.h"

static void grace_call(void *arg, struct dry_grace_head *head, void (*func)(struct dry_grace_head *head))
{
	(void)arg;
	func(head);
}

static void grace_barrier(void *arg)
{
	(void)arg;
}

static const struct dry_grace grace = { grace_call, grace_barrier, NULL };

static void construct(void *object, void *arg)
{
	(void)arg;
	*(char *)object = 1;
}

static const struct dry_cache_attr bad[] = {
	{ .name = "size 0", .size = 0 },
	{ .name = "size too big", .size = 4194305 },
	{ .name = "size absurd", .size = SIZE_MAX },
	{ .name = "align 3", .size = 64, .align = 3 },
	{ .name = "align 24", .size = 64, .align = 24 },
	{ .name = "align too big", .size = 64, .align = 131072 },
	{ .name = "align absurd", .size = 64, .align = SIZE_MAX },
	{ .name = NULL, .size = 64 },
	{ .name = "", .size = 64 },
	{ .name = "limit", .size = 64, .limit = 513 },
	{ .name = "no such type", .size = 64, .flags = 0x0800 },
	{ .name = "no such type", .size = 64, .flags = 0x0f00 },
	{ .name = "no such flag", .size = 64, .flags = 0x40000000 },
	{ .name = "poison with ctor", .size = 64, .flags = DRY_CACHE_POISON, .ctor = construct },
	{ .name = "poison with dtor", .size = 64, .flags = DRY_CACHE_POISON, .dtor = construct },
	{ .name = "poison typesafe", .size = 64, .flags = DRY_CACHE_POISON | DRY_CACHE_TYPESAFE_BY_RCU },
	{ .name = "objfreelist ctor", .size = 64, .flags = DRY_CACHE_OBJFREELIST, .ctor = construct },
	{ .name = "chain ctor", .size = 64, .flags = DRY_CACHE_CHAIN, .ctor = construct },
	{ .name = "objfreelist ts", .size = 64, .flags = DRY_CACHE_OBJFREELIST | DRY_CACHE_TYPESAFE_BY_RCU },
	{ .name = "chain ts", .size = 64, .flags = DRY_CACHE_CHAIN | DRY_CACHE_TYPESAFE_BY_RCU },
	/* an array of indices that no object can hold: 4096 bytes and more hold at least 512 of 8 */
	{ .name = "objfreelist small", .size = 8, .flags = DRY_CACHE_OBJFREELIST },
};

static void test_bad_caches(dry_heap *heap)
{
	struct dry_heap_stats before, after;

	for (int round = 0; round < 300; round++) {
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			errno = 0;
			dry_cache *cache = dry_cache_create(heap, &bad[i]);
			if (cache || errno != EINVAL)
				fprintf(stderr, "attribute: %s\n", bad[i].name ? bad[i].name : "NULL name");
			CHECK(!cache);
			CHECK_EQ(errno, EINVAL);
		}
		if (round == 0)
			before = heap_stats_of(heap);
	}
	after = heap_stats_of(heap);
	CHECK_EQ(before.caches, after.caches);
	CHECK_EQ(before.in_use, after.in_use);
	CHECK_EQ(before.extents, after.extents);
	CHECK_EQ(dry_heap_check(heap), 0);
}

/* More than 256 objects a slab have no room in the descriptor's bits. */
static void test_bitmap(dry_heap *heap)
{
	for (size_t size = 1; size <= 64; size++) {
		errno = 0;
		dry_cache *cache = make_cache(heap, "bits", size, 0, DRY_CACHE_BITMAP);

		if (!cache) {
			CHECK_EQ(errno, EINVAL);
			continue;
		}
		CHECK(stats_of(cache).objects_per_slab <= 256);
		CHECK_EQ(stats_of(cache).mgmt, DRY_MGMT_BITMAP);
		CHECK_EQ(dry_cache_destroy(cache), 0);
	}
}

static void test_bad_heaps(void)
{
	static char memory[512 * 1024];
	const struct dry_heap_attr heaps[] = {
		{ .name = "memory too small", .memory = memory, .memory_size = (test_is_tiny() ? 2 : 256) * 1024 - 1 },
		{ .name = "memory of 0", .memory = memory, .memory_size = 0 },
		{ .name = "page 2048", .page_size = 2048 },
		{ .name = "page 8192", .page_size = 8192 },
		{ .name = "page 5000", .page_size = 5000 },
		{ .name = "page 131072", .page_size = 131072 },
		{ .name = "page 1", .page_size = 1 },
		{ .name = "9 nodes", .nodes = 9 },
		{ .name = "many nodes", .nodes = 1u << 31 },
	};

	for (size_t i = 0; i < sizeof(heaps) / sizeof(heaps[0]); i++) {
		errno = 0;
		dry_heap *heap = dry_heap_create(&heaps[i]);
		if (heap || errno != EINVAL)
			fprintf(stderr, "heap attribute: %s\n", heaps[i].name);
		CHECK(!heap);
		CHECK_EQ(errno, EINVAL);
	}
}

int main(int argc, char **argv)
{
	struct dry_heap_attr attr = { .name = "attributes", .grace = &grace };
	struct dry_cache_attr typesafe = { .name = "ts", .size = 64, .flags = DRY_CACHE_TYPESAFE_BY_RCU };
	dry_heap *heap = dry_heap_create(&attr), *plain = dry_heap_create(NULL);
	dry_cache *cache;

	test_seed(argc, argv);
	CHECK(heap && plain);
	test_bad_caches(heap);
	test_bad_caches(plain);
	test_bad_caches(NULL);
	test_bitmap(heap);
	test_bad_heaps();

	errno = 0;
	CHECK(!dry_cache_create(plain, &typesafe)); /* no grace hook */
	CHECK_EQ(errno, EINVAL);
	if (!test_is_tiny()) { /* no grace periods there */
		cache = dry_cache_create(heap, &typesafe);
		CHECK(cache);
		CHECK_EQ(dry_cache_destroy(cache), 0);
	}

	/* the bounds themselves are good */
	static const struct dry_cache_attr good[] = {
		{ .name = "n", .size = 1 },
		{ .name = "n", .size = 4194304 },
		{ .name = "n", .size = 1, .align = 65536 },
		{ .name = "n", .size = 64, .limit = 1 },
		{ .name = "n", .size = 64, .limit = 512 },
	};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK(cache = dry_cache_create(heap, &good[i]));
		void *object = dry_cache_alloc(cache);
		if (object)
			memset(object, 0x5a, good[i].size);
		else /* one such object is more than a small pool holds */
			CHECK(test_in_pool() && good[i].size + good[i].align >= TEST_POOL);
		dry_cache_free(cache, object);
		CHECK_EQ(dry_cache_destroy(cache), 0);
	}
	CHECK_EQ(dry_heap_destroy(heap), 0);
	CHECK_EQ(dry_heap_destroy(plain), 0);
	return 0;
}
