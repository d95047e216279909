/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Objects freed into a cache that is not theirs, and calls on a cache that is gone. */
#include <drystone/drystone.h>

#include "../support/death.h"

static dry_cache *make(dry_heap *heap, const char *name, size_t size)
{
	struct dry_cache_attr attr = { .name = name, .size = size, .flags = DRY_CACHE_NO_MERGE };
	dry_cache *cache = dry_cache_create(heap, &attr);

	CHECK(cache);
	return cache;
}

static void free_wrong(dry_heap *heap, void *object)
{
	dry_cache *cache = make(heap, "taker", 64);

	dry_cache_free(cache, dry_cache_alloc(cache));
	death_at(object);
	dry_cache_free(cache, object);
	dry_cache_shrink(cache);
}

static void run_same_size(void)
{
	dry_heap *heap = dry_heap_create(NULL);

	free_wrong(heap, dry_cache_alloc(make(heap, "owner", 64)));
}

static void run_other_size(void)
{
	dry_heap *heap = dry_heap_create(NULL);

	free_wrong(heap, dry_cache_alloc(make(heap, "owner", 1000)));
}

static void run_default_heap(void)
{
	free_wrong(NULL, dry_cache_alloc(make(NULL, "owner", 64)));
}

static void run_bulk(void)
{
	dry_heap *heap = dry_heap_create(NULL);
	dry_cache *owner = make(heap, "owner", 64), *taker = make(heap, "taker", 64);
	void *objects[500];

	CHECK_EQ(dry_cache_alloc_bulk(taker, 500, objects), 500);
	CHECK(objects[250] = dry_cache_alloc(owner));
	death_at(objects[250]);
	dry_cache_free_bulk(taker, 500, objects);
	dry_cache_shrink(taker);
}

static void run_general_block(void)
{
	free_wrong(NULL, dry_alloc(NULL, 64));
}

/* A block that is no slab's at all. */
static void run_big_block(void)
{
	free_wrong(NULL, dry_alloc(NULL, 200000));
}

static dry_cache *destroyed(void **object)
{
	dry_heap *heap = dry_heap_create(NULL);
	dry_cache *cache = make(heap, "gone", 64);

	CHECK(*object = dry_cache_alloc(cache));
	dry_cache_free(cache, *object);
	CHECK_EQ(dry_cache_destroy(cache), 0);
	return cache;
}

static void run_free_destroyed(void)
{
	void *object;
	dry_cache *cache = destroyed(&object);

	death_at(object);
	dry_cache_free(cache, object);
}

static void run_alloc_destroyed(void)
{
	void *object;
	dry_cache *cache = destroyed(&object);

	death_at(cache);
	object = dry_cache_alloc(cache);
}

static void run_destroy_twice(void)
{
	void *object;
	dry_cache *cache = destroyed(&object);

	death_at(cache);
	dry_cache_destroy(cache);
}

#define WRONG "^drystone: object of another cache: 0x[0-9a-f]+, cache taker: .*owner"
#define DEAD  "^drystone: cache already destroyed: 0x[0-9a-f]+"

static const struct death_case cases[] = {
	{ "same-size", WRONG, run_same_size },
	{ "other-size", WRONG, run_other_size },
	{ "default-heap", WRONG, run_default_heap },
	{ "bulk", WRONG, run_bulk },
	{ "general-block", "^drystone: (object of another cache|invalid pointer): 0x[0-9a-f]+, cache taker", run_general_block },
	{ "big-block", "^drystone: (object of another cache|invalid pointer): 0x[0-9a-f]+, cache taker", run_big_block },
	{ "free-destroyed", DEAD, run_free_destroyed },
	{ "alloc-destroyed", DEAD, run_alloc_destroyed },
	{ "destroy-twice", DEAD, run_destroy_twice },
};

int main(int argc, char **argv)
{
	return death_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
