/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Double frees: the report names the object and its cache, at the latest when the object reaches its slab. */
#include <drystone/drystone.h>
#include <pthread.h>

#include "../support/death.h"
#include "../support/glibc.h"
#include "../support/pages.h"

#define N 3000

static void *objects[N];

static dry_cache *victim(size_t size, unsigned flags)
{
	struct dry_cache_attr attr = { .name = "victim", .size = size, .flags = flags | DRY_CACHE_NO_MERGE };
	dry_cache *cache = dry_cache_create(dry_heap_create(NULL), &attr);

	CHECK(cache);
	CHECK_EQ(dry_cache_alloc_bulk(cache, N, objects), N);
	death_at(objects[N / 2]);
	return cache;
}

/* Twice in a row: both are in the array, which the shrink empties. */
static void run_at_once(void)
{
	dry_cache *cache = victim(64, 0);

	dry_cache_free(cache, objects[N / 2]);
	dry_cache_free(cache, objects[N / 2]);
	dry_cache_shrink(cache);
}

/* The second free comes with so many others that the array overflows. */
static void run_overflow(void)
{
	dry_cache *cache = victim(64, 0);

	dry_cache_free(cache, objects[N / 2]);
	for (int i = N - 1; i >= 0; i--)
		dry_cache_free(cache, objects[i]);
	dry_cache_shrink(cache);
}

/* The object is in its slab already; half of the slab's others are still held. */
static void in_slab(size_t size, unsigned flags)
{
	dry_cache *cache = victim(size, flags);

	for (int i = 0; i < N; i += 2)
		dry_cache_free(cache, objects[i]);
	dry_cache_shrink(cache);
	dry_cache_free(cache, objects[N / 2]);
	dry_cache_shrink(cache);
}

static void run_in_slab(void)
{
	in_slab(64, 0);
}

static void run_in_slab_odd_size(void)
{
	in_slab(1000, 0);
}

static void run_bitmap(void)
{
	in_slab(test_any_type(), DRY_CACHE_BITMAP);
}

static void run_chain(void)
{
	in_slab(64, DRY_CACHE_CHAIN);
}

static void run_objfreelist(void)
{
	in_slab(test_any_type(), DRY_CACHE_OBJFREELIST);
}

static void run_normal(void)
{
	in_slab(96, DRY_CACHE_NORMAL);
}

static void run_off_slab(void)
{
	in_slab(128, DRY_CACHE_OFF_SLAB);
}

static void run_poison(void)
{
	in_slab(64, DRY_CACHE_POISON);
}

static void run_bulk(void)
{
	dry_cache *cache = victim(200, 0);

	dry_cache_free(cache, objects[N / 2]);
	dry_cache_free_bulk(cache, N, objects);
	dry_cache_shrink(cache);
}

static void *free_one(void *cache)
{
	dry_cache_free(cache, objects[N / 2]);
	return NULL;
}

static void run_two_threads(void)
{
	dry_cache *cache = victim(64, 0);
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, free_one, cache));
	CHECK(!pthread_join(thread, NULL));
	free_one(cache);
	for (int i = 0; i < N; i++)
		if (i != N / 2)
			dry_cache_free(cache, objects[i]);
	dry_cache_shrink(cache);
}

static void run_general(void)
{
	dry_heap *heap = dry_heap_create(NULL);

	for (int i = 0; i < N; i++)
		CHECK(objects[i] = dry_alloc(heap, 100));
	death_at(objects[10]);
	for (int i = 0; i < N; i += 2)
		dry_free(heap, objects[i]);
	dry_free(heap, objects[10]);
	dry_heap_trim(heap);
}

static void run_malloc(void)
{
	for (int i = 0; i < N; i++)
		CHECK(objects[i] = malloc(100));
	death_at(objects[10]);
	for (int i = 0; i < N; i += 2)
		free(objects[i]);
	OPAQUE(objects[10]);
	free(objects[10]);
	malloc_trim(0);
}

/* Blocks of whole pages: their pages are free again at once. */
static void big(size_t size)
{
	dry_heap *heap = dry_heap_create(NULL);
	void *block = dry_alloc(heap, size);

	CHECK(block);
	death_at(block);
	dry_free(heap, block);
	dry_free(heap, block);
}

static void run_page_run(void)
{
	big(300000); /* four pages are less, of the allocators for small machines, too */
}

static void run_extent(void)
{
	big(32 << 20);
}

#define NAMED "^drystone: double free: 0x[0-9a-f]+, cache victim"
/* The slab may have been given back between the two. */
#define NAMED_OR_GONE \
	"^drystone: (double free: 0x[0-9a-f]+, cache victim|invalid pointer: 0x[0-9a-f]+, cache victim: .*freed twice)"

static const struct death_case cases[] = {
	{ "at-once", NAMED, run_at_once },
	{ "overflow", NAMED_OR_GONE, run_overflow },
	{ "in-slab", NAMED, run_in_slab },
	{ "in-slab-odd-size", NAMED, run_in_slab_odd_size },
	{ "bitmap", NAMED, run_bitmap },
	{ "chain", NAMED, run_chain },
	{ "objfreelist", NAMED, run_objfreelist },
	{ "normal", NAMED, run_normal },
	{ "off-slab", NAMED, run_off_slab },
	{ "poison", NAMED, run_poison },
	{ "bulk", NAMED_OR_GONE, run_bulk },
	{ "two-threads", NAMED, run_two_threads },
	{ "general", "^drystone: double free: 0x[0-9a-f]+, cache [a-z0-9-]+", run_general },
	{ "malloc", "^drystone: double free: 0x[0-9a-f]+, cache [a-z0-9-]+", run_malloc },
	{ "page-run", "^drystone: (double free|invalid pointer): 0x[0-9a-f]+.*(twice|never)", run_page_run },
	{ "extent", "^drystone: (double free|invalid pointer): 0x[0-9a-f]+.*(twice|never)", run_extent },
};

int main(int argc, char **argv)
{
	return death_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
