/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Constructors, destructors and their argument, in balance; callbacks for memory; zeroed bulk calls; objects of a node.
 * DRY_TEST_NOT_TINY: neither destructors nor callbacks there, which is EINVAL
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/exercise.h"
#include "../support/pages.h"

#define N 1500

struct life {
	size_t made, unmade;
};

static void construct(void *object, void *arg)
{
	((struct life *)arg)->made++;
	memset(object, 0x5a, 8);
}

static void destruct(void *object, void *arg)
{
	((struct life *)arg)->unmade++;
	CHECK(*(unsigned char *)object == 0x5a); /* as constructed */
}

/* As many destructed as constructed, none twice; nothing while a slab lives. */
static void test_balance(dry_heap *heap, unsigned flags)
{
	static void *objects[N];
	struct life life = { 0, 0 };
	struct dry_cache_attr attr = { .name = "life", .size = test_any_type() + 8, .flags = flags, .ctor = construct,
				       .dtor = destruct, .arg = &life };
	dry_cache *cache = dry_cache_create(heap, &attr);

	CHECK(cache);
	for (int round = 0; round < 3; round++) {
		size_t unmade = life.unmade;

		for (size_t i = 0; i < N; i++)
			CHECK(objects[i] = dry_cache_alloc(cache));
		CHECK_EQ(life.unmade, unmade);
		CHECK(life.made - life.unmade >= N);
		for (size_t i = 0; i < N; i++)
			dry_cache_free(cache, objects[i]);
		dry_cache_shrink(cache);
		CHECK_EQ(life.made, life.unmade);
	}
	CHECK_EQ(dry_cache_destroy(cache), 0);
	CHECK_EQ(life.made, life.unmade);
	CHECK(life.made >= 3 * N);
}

/* A heap that is destroyed is given back as it is: who wants destructors destroys the caches before. */
static void test_heap_gone(void)
{
	dry_heap *heap = dry_heap_create(NULL);
	struct life life = { 0, 0 };
	struct dry_cache_attr attr = { .name = "gone", .size = 200, .ctor = construct, .dtor = destruct, .arg = &life };
	dry_cache *cache = dry_cache_create(heap, &attr);
	void *freed = dry_cache_alloc(cache), *kept = dry_cache_alloc(cache);

	CHECK(freed && kept);
	dry_cache_free(cache, freed);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	CHECK(life.made >= 2 && life.unmade == 0);
}

/* ---- callbacks ---- */

static struct {
	dry_cache *cache;
	void *spare[N];
	size_t count, calls;
} reserve;

static size_t give_back(void *arg, size_t bytes)
{
	size_t given = 0;

	CHECK(arg == &reserve);
	reserve.calls++;
	while (given < bytes && reserve.count > 0) {
		dry_cache_free(reserve.cache, reserve.spare[--reserve.count]);
		given += 1024;
	}
	void *inner = dry_cache_alloc(reserve.cache); /* it may; it is not called within itself */
	dry_cache_free(reserve.cache, inner);
	return given;
}

/* A heap with a limit: once it is full, what the callback frees is given out again, then it is at an end. */
static void test_reclaim(void)
{
	dry_heap *heap = dry_heap_create(&(struct dry_heap_attr){ .name = "small", .limit = (size_t)4 << 20 });
	struct dry_cache_attr attr = { .name = "spare", .size = 1024, .reclaim = give_back, .arg = &reserve };
	dry_cache *cache = dry_cache_create(heap, &attr);
	dry_cache *other = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "other", .size = 4000 });
	size_t got = 0;

	CHECK(heap && cache && other);
	reserve.cache = cache;
	for (reserve.count = 0; reserve.count < N; reserve.count++)
		CHECK(reserve.spare[reserve.count] = dry_cache_alloc(cache));
	while (dry_cache_alloc(other) != NULL)
		got++;
	CHECK_EQ(errno, ENOMEM);
	CHECK(reserve.calls > 1 && reserve.count == 0);
	CHECK(got * 4096 > (size_t)3 << 20); /* all of the limit but what the heap itself takes */
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

/* ---- the rest ---- */

static void test_zalloc_bulk(dry_heap *heap)
{
	static void *objects[N];
	struct life life = { 0, 0 };
	dry_cache *cache = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "bulk", .size = 200 });
	dry_cache *built = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "built", .size = 200, .ctor = construct,
									    .arg = &life });

	for (int round = 0; round < 2; round++) {
		CHECK_EQ(dry_cache_zalloc_bulk(cache, N, objects), N);
		for (size_t i = 0; i < N; i++) {
			CHECK(all_bytes(objects[i], 200, 0));
			memset(objects[i], 0xff, 200);
		}
		dry_cache_free_bulk(cache, N, objects);
	}
	errno = 0;
	CHECK_EQ(dry_cache_zalloc_bulk(built, 4, objects), 0);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(dry_cache_destroy(built), 0);
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

static void test_node(void)
{
	dry_heap *heap = dry_heap_create(&(struct dry_heap_attr){ .nodes = 4 });
	dry_cache *cache = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "node", .size = 512 });
	struct dry_cache_stats stats;
	void *object[4];

	for (unsigned node = 0; node < 4; node++)
		CHECK(object[node] = dry_cache_alloc_node(cache, node));
	CHECK_EQ(dry_cache_stats(cache, &stats), 0);
	CHECK_EQ(stats.slabs, 4); /* one on each */
	for (unsigned node = 0; node < 4; node++)
		dry_cache_free(cache, object[node]);
	CHECK_EQ(dry_cache_destroy(cache), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

static bool ending;

static void destruct_early(void *object, void *unused)
{
	(void)object, (void)unused;
	if (ending) /* what it needs is perhaps destructed by now */
		_exit(1);
}

static void end(void)
{
	ending = true;
}

/* Once exit() has run the program's own handlers no destructor is called, though what arrays have is looked at. */
static void test_end(void)
{
	static void *objects[20000];
	pid_t child = fork();
	int status = 1;

	if (child == 0) {
		struct dry_cache_attr attr = { .name = "end", .size = 64, .dtor = destruct_early };
		dry_cache *cache = dry_cache_create(NULL, &attr);

		for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
			CHECK(objects[i] = dry_cache_alloc(cache));
		dry_cache_free_bulk(cache, sizeof(objects) / sizeof(objects[0]), objects);
		CHECK(!atexit(end));
		exit(0);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

int main(void)
{
	static const unsigned flags[] = { 0, DRY_CACHE_BITMAP, DRY_CACHE_NORMAL, DRY_CACHE_OFF_SLAB, DRY_CACHE_RED_ZONE,
					  DRY_CACHE_STORE_USER | DRY_CACHE_QUARANTINE };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		test_balance(NULL, flags[i]);
	test_heap_gone();
	test_reclaim();
	test_zalloc_bulk(NULL);
	test_node();
	test_end();
	return 0;
}
