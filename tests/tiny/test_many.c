/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Numbers that are large for their fields: more small objects in a slab's pages than 16 bits count, requests whose bytes
 * are more than a size_t holds, as many pools as a heap may have, caches of one kind; and what of it goes back.
 */
#include <drystone/tiny.h>
#include <stdlib.h>

#include "../support/exercise.h"

static dry_heap *heap_of(void *memory, size_t bytes, size_t page_size)
{
	struct dry_heap_attr attr = { .memory = memory, .memory_size = bytes, .page_size = page_size };
	dry_heap *heap = dry_heap_create(&attr);

	CHECK(heap);
	return heap;
}

/* With pages of 64 KiB, 64 of them hold 262144 objects of 16 bytes. Blocks between the slabs stop some from growing. */
static void test_small_objects(struct rng *rng)
{
	enum { N = 600000, BYTES = 24 << 20 };
	void *memory = malloc(BYTES);
	dry_heap *heap = heap_of(memory, BYTES, 65536);
	dry_cache *cache = make_cache(heap, "small", 16, 0, DRY_CACHE_NO_MERGE);
	void **objects = malloc(N * sizeof(*objects)), *blocks[12];

	CHECK(memory && cache && objects);
	for (int i = 0; i < N; i++) {
		CHECK(objects[i] = dry_cache_alloc(cache));
		memset(objects[i], 0x5a, 16);
		if (i % (N / 12) == 0)
			CHECK(blocks[i / (N / 12)] = dry_alloc(heap, 65536 * (1 + rng_below(rng, 3))));
	}
	CHECK_EQ(stats_of(cache).active_objects, N);
	CHECK_EQ(dry_heap_check(heap), 0);
	rng_shuffle(rng, objects, N);
	for (int i = 0; i < N; i++)
		dry_cache_free(cache, objects[i]);
	for (int i = 0; i < 12; i++)
		dry_free(heap, blocks[i]);
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_cache_destroy(cache), 0);
	dry_heap_destroy(heap);
	free(objects);
	free(memory);
}

static void test_requests(void)
{
	static _Alignas(16) char memory[1 << 20];
	dry_heap *heap = heap_of(memory, sizeof(memory), 0);
	const size_t counts[] = { SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 100, SIZE_MAX / 1000 + 1, (size_t)1 << 40 };

	for (size_t size = 16; size < 20000; size = size * 3 + 8) {
		dry_cache *cache = make_cache(heap, "reserve", size, 0, DRY_CACHE_NO_MERGE);

		CHECK(cache);
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
			CHECK_EQ(dry_cache_prefill(cache, counts[i]), -ENOMEM);
			CHECK_EQ(stats_of(cache).slabs, 0);
			CHECK_EQ(dry_heap_check(heap), 0);
			CHECK(!dry_alloc(heap, counts[i]));
			CHECK(!dry_alloc_aligned(heap, 65536, counts[i]));
		}
		/* reserved slabs are given back, also if some of each were used */
		CHECK_EQ(dry_cache_prefill(cache, 20), 0);
		CHECK(stats_of(cache).slabs > 0 && dry_cache_alloc(cache));
		dry_cache_shrink(cache);
		CHECK_EQ(stats_of(cache).slabs, 1);
		CHECK_EQ(dry_cache_destroy(cache), -EBUSY);
	}
	CHECK_EQ(dry_heap_check(heap), 0);
}

/* 8 at most; blocks come from all of them and go back, and none lies in two. */
static void test_pools(struct rng *rng)
{
	static _Alignas(16) char memory[8][8192];
	dry_heap *heap = heap_of(memory[0], 8192, 0);
	void *blocks[1000];
	unsigned n = 0, in[8] = { 0 };

	CHECK_EQ(dry_heap_add(heap, NULL, 8192), -EINVAL);
	CHECK_EQ(dry_heap_check(heap), 0);
	for (int i = 1; i < 8; i++)
		CHECK_EQ(dry_heap_add(heap, memory[i] + i, 8192 - (size_t)i), 0);
	CHECK_EQ(dry_heap_add(heap, blocks, sizeof(blocks)), -ENOMEM);
	CHECK_EQ(dry_heap_add(heap, blocks, 100), -EINVAL);
	while (n < 1000 && (blocks[n] = dry_alloc(heap, 64 + rng_below(rng, 600))) != NULL)
		in[((char *)blocks[n++] - memory[0]) / 8192]++;
	for (int i = 0; i < 8; i++)
		CHECK(in[i] > 0);
	CHECK_EQ(dry_heap_check(heap), 0);
	rng_shuffle(rng, blocks, n);
	for (unsigned i = 0; i < n; i++)
		dry_free(heap, blocks[i]);
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

/* More caches of one kind than a class counts: a further class serves those, and each lives until its last cache goes. */
static void test_names(void)
{
	enum { N = 65536 + 100, BYTES = 16 << 20 };
	void *memory = malloc(BYTES);
	dry_heap *heap = heap_of(memory, BYTES, 0);
	dry_cache **caches = malloc(N * sizeof(*caches));
	void *object;

	CHECK(memory && caches);
	for (unsigned i = 0; i < N; i++)
		CHECK(caches[i] = make_cache(heap, "like", 40, 0, 0));
	CHECK(object = dry_cache_alloc(caches[0]));
	for (unsigned i = N - 1; i != 0; i--)
		CHECK_EQ(dry_cache_destroy(caches[i]), 0);
	CHECK_EQ(stats_of(caches[0]).active_objects, 1);
	CHECK_EQ(dry_cache_destroy(caches[0]), -EBUSY);
	dry_cache_free(caches[0], object);
	CHECK_EQ(dry_cache_destroy(caches[0]), 0);
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	free(caches);
	free(memory);
}

/* A reserve for a cache that shares the class of general blocks goes with the cache's last name, as that of others does. */
static void test_reserve_ends(void)
{
	static _Alignas(16) char memory[1 << 16];
	dry_heap *heap = heap_of(memory, sizeof(memory), 0);
	void *block = dry_alloc(heap, 64);
	dry_cache *first = make_cache(heap, "first", 64, 0, 0), *second = make_cache(heap, "second", 64, 0, 0);
	struct dry_heap_stats before, after;

	CHECK(block && first && second);
	CHECK_EQ(dry_heap_stats(heap, &before), 0);
	CHECK_EQ(dry_cache_prefill(first, 400), 0);
	CHECK_EQ(dry_cache_destroy(first), 0);
	CHECK(stats_of(second).objects >= 400);
	CHECK_EQ(dry_cache_destroy(second), 0);
	CHECK_EQ(dry_heap_stats(heap, &after), 0);
	CHECK(after.in_use <= before.in_use);
	CHECK_EQ(dry_heap_check(heap), 0);
	dry_free(heap, block);
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };

	test_small_objects(&rng);
	test_requests();
	test_pools(&rng);
	test_names();
	test_reserve_ends();
	return 0;
}
