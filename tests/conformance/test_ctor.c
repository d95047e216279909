/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Constructors: one run per object when its slab is made; state kept across free and alloc. */
#include <stdlib.h>

#include "../support/exercise.h"

#define MAGIC 0x5eed5eed12345678u

struct thing {
	uint64_t magic;
	uint64_t state; /* 0 as constructed */
};

static size_t constructed;

static void construct(void *object, void *arg)
{
	(void)arg;
	struct thing thing = { MAGIC, 0 };

	memcpy(object, &thing, sizeof(thing));
	constructed++;
}

static dry_cache *make(dry_heap *heap, size_t size, unsigned flags)
{
	struct dry_cache_attr attr = { .name = "ctor", .size = size, .flags = flags, .ctor = construct };

	return dry_cache_create(heap, &attr);
}

static void test_size(dry_heap *heap, size_t size, unsigned flags, struct rng *rng)
{
	void *things[700];
	const int n = (int)test_fit(700, size);
	size_t freed = 0;
	uint64_t serial = 1;
	dry_cache *cache = make(heap, size, flags);

	CHECK(cache);
	constructed = 0;
	for (int round = 0; round < 6; round++) {
		for (int i = 0; i < n; i++) {
			struct thing *thing = things[i] = dry_cache_alloc(cache);

			CHECK(thing && thing->magic == MAGIC);
			CHECK(thing->state < serial);
			if (round == 0)
				CHECK_EQ(thing->state, 0);
			pattern_fill((char *)thing + 16, size - 16);
		}
		for (int i = 0; i < n; i++) {
			struct thing *thing = things[i];

			CHECK(pattern_holds((char *)thing + 16, size - 16));
			CHECK_EQ(thing->magic, MAGIC);
			thing->state = serial++;
		}
		rng_shuffle(rng, things, (size_t)n);
		if (round & 1)
			dry_cache_free_bulk(cache, (size_t)n, things);
		else
			for (int i = 0; i < n; i++)
				dry_cache_free(cache, things[i]);
		if (round == 3)
			freed += dry_cache_shrink(cache);
		if (freed == 0)
			CHECK(constructed >= stats_of(cache).objects);
	}
	CHECK_EQ(stats_of(cache).active_objects, 0);
	CHECK_EQ(dry_cache_check(cache), 0);
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

/* With all objects held, the objects in the slabs and the runs of the constructor are the same number. */
static void test_once(dry_heap *heap)
{
	static void *things[5000];
	const int n = (int)test_fit(5000, 96);
	dry_cache *cache = make(heap, 96, 0);

	CHECK(cache);
	constructed = 0;
	for (int i = 0; i < n; i++)
		CHECK(things[i] = dry_cache_alloc(cache));
	CHECK_EQ(constructed, stats_of(cache).objects);
	for (int i = 0; i < 100000; i++) { /* handing to and fro constructs nothing */
		dry_cache_free(cache, things[i % n]);
		CHECK(things[i % n] = dry_cache_alloc(cache));
	}
	CHECK_EQ(constructed, stats_of(cache).objects);
	dry_cache_free_bulk(cache, (size_t)n, things);
	dry_cache_shrink(cache);
	CHECK_EQ(stats_of(cache).slabs, 0);
	constructed = 0;
	CHECK(things[0] = dry_cache_alloc(cache));
	CHECK_EQ(((struct thing *)things[0])->state, 0);
	CHECK_EQ(constructed, stats_of(cache).objects);
	dry_cache_free(cache, things[0]);
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

static size_t destroyed;

static void destroy(void *object, void *arg)
{
	(void)arg;
	(void)object;
	destroyed++;
	errno = EBADF;
}

/* errno is kept also where slabs go, and destructors set it. */
static void test_errno(dry_heap *heap)
{
	struct dry_cache_attr attr = { .name = "dtor", .size = 500, .dtor = destroy };
	const size_t n = test_fit(5000, 500);
	void **things = calloc(n, sizeof(*things));
	dry_cache *cache = dry_cache_create(heap, &attr);

	CHECK(cache && things);
	for (int bulk = 0; bulk < 2; bulk++) {
		for (size_t i = 0; i < n; i++)
			CHECK(things[i] = dry_cache_alloc(cache));
		destroyed = 0;
		errno = 1234;
		if (bulk)
			dry_cache_free_bulk(cache, n, things);
		for (size_t i = 0; !bulk && i < n; i++)
			dry_cache_free(cache, things[i]);
		CHECK(destroyed != 0);
		CHECK_EQ(errno, 1234);
	}
	CHECK_EQ(dry_cache_destroy(cache), 0);
	free(things);
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };
	dry_heap *heap = dry_heap_create(NULL);
	dry_cache *cache;

	CHECK(heap);
	for (size_t size = 16; size <= test_biggest(9000); size += size / 4 + 8)
		test_size(heap, size, 0, &rng);
	if (!test_is_sequential())
		test_once(heap);
	if (!test_is_tiny()) /* no destructors there */
		test_errno(heap);

	cache = make(heap, 64, 0);
	CHECK(cache);
	errno = 0;
	CHECK(!dry_cache_zalloc(cache));
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(stats_of(cache).active_objects, 0);
	CHECK_EQ(dry_cache_destroy(cache), 0);
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	return 0;
}
