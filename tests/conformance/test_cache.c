/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A cache's life: create, single and bulk calls, reserve, shrink, destroy. */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdlib.h>

#include "../support/capture.h"
#include "../support/exercise.h"

static void test_alloc_free(dry_heap *heap)
{
	enum { SIZE = 100 };
	const size_t n = test_fit(3000, SIZE);
	dry_cache *cache = make_cache(heap, "alloc-free", SIZE, 0, DRY_CACHE_NO_MERGE);
	void **objects = calloc(n, sizeof(*objects));

	CHECK(cache && objects);
	for (size_t i = 0; i < n; i++) {
		objects[i] = dry_cache_alloc(cache);
		CHECK(objects[i] && (uintptr_t)objects[i] % 8 == 0);
		pattern_fill(objects[i], SIZE);
		CHECK_EQ(stats_of(cache).active_objects, i + 1);
	}
	for (size_t i = 0; i < n; i++)
		CHECK(pattern_holds(objects[i], SIZE));
	for (size_t i = 0; i < n; i++) {
		errno = 1234;
		dry_cache_free(cache, objects[i]);
		CHECK_EQ(errno, 1234);
	}
	errno = 4321;
	dry_cache_free(cache, NULL);
	CHECK_EQ(errno, 4321);
	CHECK_EQ(stats_of(cache).active_objects, 0);
	CHECK_EQ(dry_cache_check(cache), 0);
	CHECK_EQ(dry_cache_destroy(cache), 0);
	CHECK_EQ(dry_cache_destroy(NULL), 0);
	free(objects);
}

static void test_zalloc(dry_heap *heap)
{
	enum { N = 500 };
	void *objects[N];

	for (size_t size = 1; size <= test_biggest(5000); size = size * 3 / 2 + 1) {
		const int n = (int)test_fit(N, size);
		dry_cache *cache = make_cache(heap, "zalloc", size, 0, DRY_CACHE_NO_MERGE);

		CHECK(cache);
		for (int round = 0; round < 2; round++) {
			for (int i = 0; i < n; i++) {
				objects[i] = dry_cache_zalloc(cache);
				CHECK(objects[i] && all_bytes(objects[i], size, 0));
				memset(objects[i], 0xa5, size);
			}
			for (int i = 0; i < n; i++)
				dry_cache_free(cache, objects[i]);
		}
		CHECK_EQ(dry_cache_destroy(cache), 0);
	}
}

static void test_bulk(dry_heap *heap)
{
	static const size_t counts[] = { 0, 1, 2, 3, 7, 16, 64, 100, 500, 3000 };
	static void *objects[3000];
	dry_cache *cache = make_cache(heap, "bulk", 72, 0, DRY_CACHE_NO_MERGE);

	CHECK(cache);
	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		size_t n = test_fit(counts[c], 72);

		CHECK_EQ(dry_cache_alloc_bulk(cache, n, objects), n);
		for (size_t i = 0; i < n; i++) {
			CHECK(objects[i]);
			pattern_fill(objects[i], 72);
		}
		CHECK_EQ(stats_of(cache).active_objects, n);
		for (size_t i = 0; i < n; i++)
			CHECK(pattern_holds(objects[i], 72));
		dry_cache_free_bulk(cache, n / 2, objects);
		for (size_t i = n / 2; i < n; i++) /* bulk and single calls mix */
			dry_cache_free(cache, objects[i]);
		CHECK_EQ(stats_of(cache).active_objects, 0);
		CHECK_EQ(dry_cache_check(cache), 0);
	}
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

/* All or none: a bulk call that cannot be served leaves nothing allocated. */
static void test_bulk_fails_whole(void)
{
	enum { N = 100000 };
	struct dry_heap_attr attr = { .name = "small", .limit = 2 << 20 };
	dry_heap *heap = dry_heap_create(&attr);
	dry_cache *cache = make_cache(heap, "bulk-fail", 256, 0, DRY_CACHE_NO_MERGE);
	const size_t some = test_fit(1000, 256);
	void **objects = calloc(N, sizeof(*objects));

	CHECK(heap && cache && objects);
	for (int round = 0; round < 3; round++) {
		errno = 0;
		CHECK_EQ(dry_cache_alloc_bulk(cache, N, objects), 0);
		CHECK_EQ(errno, ENOMEM);
		CHECK_EQ(stats_of(cache).active_objects, 0);
		CHECK_EQ(dry_heap_check(heap), 0);
		CHECK_EQ(dry_cache_alloc_bulk(cache, some, objects), some);
		dry_cache_free_bulk(cache, some, objects);
	}
	CHECK_EQ(dry_heap_destroy(heap), 0);
	free(objects);
}

struct reserved {
	dry_cache *cache;
	void **objects;
	size_t n;
};

static void *take_reserved(void *arg)
{
	struct reserved *reserved = arg;

	for (size_t i = 0; i < reserved->n; i++) {
		reserved->objects[i] = dry_cache_alloc(reserved->cache);
		CHECK(reserved->objects[i]);
		memset(reserved->objects[i], 1, 200);
	}
	return NULL;
}

/* After a reserve of n, n allocations succeed in a heap that has no page left, by any thread. */
static void test_prefill(void)
{
	static void *objects[1500];
	struct dry_heap_attr attr = { .name = "prefill", .limit = 4 << 20 };

	for (size_t n = 1; n <= test_fit(1500, 200); n = n * 2 + 3) {
		dry_heap *heap = dry_heap_create(&attr);
		dry_cache *cache = make_cache(heap, "prefilled", 200, 0, DRY_CACHE_NO_MERGE);
		dry_cache *hog = make_cache(heap, "hog", 4096, 0, DRY_CACHE_NO_MERGE);
		struct reserved other = { cache, objects, n / 2 }, own = { cache, objects + n / 2, n - n / 2 };
		pthread_t thread;

		CHECK(heap && cache && hog);
		CHECK_EQ(dry_cache_prefill(cache, n), 0);
		while (dry_cache_alloc(hog))
			;
		CHECK_EQ(errno, ENOMEM);
		CHECK(!pthread_create(&thread, NULL, take_reserved, &other));
		CHECK(!pthread_join(thread, NULL));
		take_reserved(&own);
		CHECK_EQ(stats_of(cache).active_objects, n);
		CHECK_EQ(dry_heap_check(heap), 0);
		dry_cache_free_bulk(cache, n, objects);
		errno = 1234;
		CHECK_EQ(dry_cache_prefill(cache, 1 << 20), -ENOMEM);
		CHECK_EQ(errno, 1234);
		CHECK_EQ(dry_cache_prefill(cache, 0), 0);
		CHECK_EQ(dry_heap_check(heap), 0);
		CHECK_EQ(dry_heap_destroy(heap), 0);
	}
}

/* A reserve is of the next n allocations, not of n more: what is used and reserved again and again does not grow. */
static void test_prefill_again(void)
{
	dry_heap *heap = dry_heap_create(&(struct dry_heap_attr){ .name = "prefill-again", .limit = 4 << 20 });
	dry_cache *cache = make_cache(heap, "prefilled", 256, 0, DRY_CACHE_NO_MERGE);
	void *objects[50];
	size_t slabs = 0;

	CHECK(heap && cache);
	for (int round = 0; round < 2000; round++) {
		CHECK_EQ(dry_cache_prefill(cache, 50), 0);
		for (size_t i = 0; i < 50; i++)
			CHECK(objects[i] = dry_cache_alloc(cache));
		dry_cache_free_bulk(cache, 50, objects);
		if (round == 20)
			slabs = stats_of(cache).slabs;
	}
	CHECK_EQ(stats_of(cache).slabs, slabs);
	CHECK_EQ(dry_cache_prefill(cache, 0), 0);
	dry_cache_shrink(cache);
	CHECK_EQ(stats_of(cache).slabs, 0);
	/* One that was used up, whether or not arrays had what it asked for, is none any more. */
	CHECK_EQ(dry_cache_prefill(cache, 50), 0);
	for (size_t i = 0; i < 50; i++)
		CHECK(objects[i] = dry_cache_alloc(cache));
	dry_cache_free_bulk(cache, 50, objects);
	dry_cache_shrink(cache);
	CHECK_EQ(stats_of(cache).slabs, 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

/* After the first ones of a reserve, which fill an array, the others are still there. */
static void test_prefill_begun(size_t size, size_t n, size_t first)
{
	dry_heap *heap = dry_heap_create(&(struct dry_heap_attr){ .name = "prefill-begun", .limit = 4 << 20 });
	dry_cache *cache = make_cache(heap, "prefilled", size, 0, DRY_CACHE_NO_MERGE);
	dry_cache *hog = make_cache(heap, "hog", 4096, 0, DRY_CACHE_NO_MERGE);

	CHECK(heap && cache && hog);
	n = test_fit(n, size);
	CHECK_EQ(dry_cache_prefill(cache, n), 0);
	for (size_t i = 0; i < first; i++)
		CHECK(dry_cache_alloc(cache));
	while (dry_cache_alloc(hog))
		;
	for (size_t i = first; i < n; i++)
		CHECK(dry_cache_alloc(cache));
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

/* Objects smaller than a pointer are reserved, too. */
static void test_prefill_small(void)
{
	struct dry_heap_attr attr = { .name = "prefill-small", .limit = 4 << 20 };
	dry_heap *heap = dry_heap_create(&attr);
	uint32_t *objects[50];

	CHECK(heap);
	for (size_t size = 1; size <= 4; size++) {
		dry_cache *cache = make_cache(heap, "small", size, 4, DRY_CACHE_NO_MERGE);

		CHECK(cache);
		CHECK_EQ(dry_cache_prefill(cache, 50), 0);
		for (unsigned i = 0; i < 50; i++) {
			CHECK(objects[i] = dry_cache_alloc(cache));
			memset(objects[i], (int)i, size);
		}
		for (unsigned i = 0; i < 50; i++) {
			CHECK_EQ(*(unsigned char *)objects[i], i);
			dry_cache_free(cache, objects[i]);
		}
		CHECK_EQ(dry_heap_check(heap), 0);
		CHECK_EQ(dry_cache_destroy(cache), 0);
	}
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

/* A reserve that fails reserves nothing: what it took on the way is free for others. */
static void test_prefill_fails_whole(void)
{
	struct dry_heap_attr attr = { .name = "prefill-fail", .limit = 2 << 20 };
	dry_heap *heap = dry_heap_create(&attr);
	dry_cache *cache = make_cache(heap, "prefilled", 200, 0, DRY_CACHE_NO_MERGE);
	dry_cache *hog = make_cache(heap, "hog", 4096, 0, DRY_CACHE_NO_MERGE);
	size_t counts[3] = { 0 };
	void **objects = calloc(1024, sizeof(*objects));

	CHECK(heap && cache && hog && objects);
	for (int round = 0; round < 3; round++) { /* metadata that the first one took stays */
		while ((objects[counts[round]] = dry_cache_alloc(hog)))
			CHECK(++counts[round] < 1024);
		dry_cache_free_bulk(hog, counts[round], objects);
		dry_cache_shrink(hog);
		CHECK_EQ(dry_cache_prefill(cache, 1 << 20), -ENOMEM);
		dry_cache_shrink(cache);
		CHECK_EQ(stats_of(cache).slabs, 0);
	}
	CHECK_EQ(counts[1], counts[2]);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	free(objects);
}

static void test_shrink(dry_heap *heap)
{
	static void *objects[2000];
	const size_t n = test_fit(2000, 128);
	dry_cache *cache = make_cache(heap, "shrink", 128, 0, DRY_CACHE_NO_MERGE);
	struct dry_cache_stats before;
	size_t freed;

	CHECK(cache);
	CHECK_EQ(dry_cache_shrink(cache), 0);
	CHECK_EQ(dry_cache_alloc_bulk(cache, n, objects), n);
	dry_cache_free_bulk(cache, n - 1, objects);
	before = stats_of(cache);
	freed = dry_cache_shrink(cache);
	CHECK_EQ(freed, before.slabs - stats_of(cache).slabs);
	CHECK_EQ(stats_of(cache).slabs, 1); /* the one with the last object */
	CHECK_EQ(stats_of(cache).active_objects, 1);
	dry_cache_free(cache, objects[n - 1]);
	CHECK_EQ(dry_cache_shrink(cache), !test_is_sequential());
	CHECK_EQ(stats_of(cache).slabs, 0);
	CHECK_EQ(stats_of(cache).objects, 0);
	CHECK_EQ(stats_of(cache).cached_objects, 0);
	CHECK_EQ(dry_cache_check(cache), 0);
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

/* Destroying a cache in use is refused with one line, and the cache goes on working. */
static void test_destroy_busy(dry_heap *heap)
{
	static const size_t counts[] = { 1, 3, 777 };
	static void *objects[777];
	char text[4096], number[32];
	struct capture capture;

	for (int c = 0; c < 3; c++) {
		const size_t n = test_fit(counts[c], 64);
		dry_cache *cache = make_cache(heap, "busy-cache", 64, 0, DRY_CACHE_NO_MERGE);

		CHECK(cache);
		CHECK_EQ(dry_cache_alloc_bulk(cache, n, objects), n);
		for (size_t i = 0; i < n; i++)
			pattern_fill(objects[i], 64);
		capture_begin(&capture);
		errno = 1234;
		int result = dry_cache_destroy(cache);
		int error = errno;
		capture_end(&capture, text, sizeof(text));
		CHECK_EQ(result, -EBUSY);
		CHECK_EQ(error, 1234);
		CHECK_EQ(count_lines(text), 1);
		snprintf(number, sizeof(number), "%zu", n);
		CHECK(strstr(text, "drystone: ") == text);
		CHECK(strstr(text, "busy-cache") && strstr(text, number));
		for (size_t i = 0; i < n; i++)
			CHECK(pattern_holds(objects[i], 64));
		void *more = dry_cache_alloc(cache);
		CHECK(more);
		dry_cache_free(cache, more);
		CHECK_EQ(dry_cache_check(cache), 0);
		dry_cache_free_bulk(cache, n, objects);
		CHECK_EQ(dry_cache_destroy(cache), 0);
	}
}

/* The cache keeps its own copy of the name; an over-long one is cut to 63 bytes. */
static void test_names(dry_heap *heap)
{
	char name[100];
	dry_cache *cache;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	cache = make_cache(heap, name, 64, 0, DRY_CACHE_NO_MERGE);
	CHECK(cache);
	memset(name, 'x', 5);
	CHECK_EQ(strlen(stats_of(cache).name), 63);
	CHECK_EQ(strspn(stats_of(cache).name, "n"), 63);
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

static int count_cache(dry_cache *cache, void *arg)
{
	struct dry_cache_stats stats = stats_of(cache);

	if (!strncmp(stats.name, "each-", 5)) {
		CHECK_EQ(stats.name[5], 'a' + *(int *)arg); /* oldest first */
		if (++*(int *)arg == 4)
			return 77;
	}
	return 0;
}

static void test_for_each(dry_heap *heap)
{
	dry_cache *caches[5];
	int seen = 0;

	for (int i = 0; i < 5; i++) {
		char name[8] = { 'e', 'a', 'c', 'h', '-', (char)('a' + i), 0 };

		caches[i] = make_cache(heap, name, 64, 0, DRY_CACHE_NO_MERGE);
		CHECK(caches[i]);
	}
	CHECK_EQ(dry_heap_for_each_cache(heap, count_cache, &seen), 77);
	CHECK_EQ(seen, 4);
	CHECK_EQ(dry_cache_destroy(caches[2]), 0);
	CHECK_EQ(dry_cache_destroy(caches[3]), 0);
	CHECK_EQ(dry_cache_destroy(caches[4]), 0);
	seen = 0;
	CHECK_EQ(dry_heap_for_each_cache(heap, count_cache, &seen), 0);
	CHECK_EQ(seen, 2);
	CHECK_EQ(dry_cache_destroy(caches[0]), 0);
	CHECK_EQ(dry_cache_destroy(caches[1]), 0);
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };
	dry_heap *heap = dry_heap_create(NULL);

	CHECK(heap && dry_version());
	test_alloc_free(heap);
	test_zalloc(heap);
	test_bulk(heap);
	test_bulk_fails_whole();
	test_prefill();
	test_prefill_again();
	test_prefill_begun(512, 5000, 1);
	test_prefill_begun(5000, 500, 1);
	test_prefill_begun(5000, 500, 3);
	test_prefill_small();
	test_prefill_fails_whole();
	test_shrink(heap);
	test_destroy_busy(heap);
	test_names(heap);
	test_for_each(heap);
	for (size_t size = 1; size <= test_biggest(40000); size = size * 2 + rng_below(&rng, size)) {
		dry_cache *cache = make_cache(heap, "random", size, 0, DRY_CACHE_NO_MERGE);

		CHECK(cache);
		exercise_cache(heap, cache, test_scaled(20000), &rng);
		CHECK_EQ(dry_cache_destroy(cache), 0);
	}
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	return 0;
}
