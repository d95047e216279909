/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Objects of more pages than the map numbers: a pointer into any of them is one into the middle of an object, wherever a heap's
 * free memory lies.
 */
#include <drystone/tiny.h>

#include "../support/death.h"
#include "tiny/tiny.h"

enum { SIZE = (DRY_TINY_SLAB_PAGES + 40) << DRY_TINY_PAGE_SHIFT };

static _Alignas(16) char pool[SIZE * 3];

/* Behind the object are free pages. */
static void free_at(size_t offset)
{
	dry_heap *heap = dry_heap_create(&(struct dry_heap_attr){ .memory = pool, .memory_size = sizeof(pool) });
	dry_cache *cache = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "big", .size = SIZE });
	char *object = cache != NULL ? dry_cache_alloc(cache) : NULL;

	CHECK(object);
	death_at(object + offset);
	dry_cache_free(cache, object + offset);
}

static void run_near(void)
{
	free_at(1000);
}

static void run_far(void)
{
	free_at(SIZE - 1000);
}

static void run_page(void)
{
	free_at(SIZE - 1024);
}

static void run_behind(void)
{
	free_at(SIZE + 1024);
}

#define MIDDLE "^drystone: pointer into the middle of an object: 0x[0-9a-f]+, cache big$"

static const struct death_case cases[] = {
	{ "near", MIDDLE, run_near },
	{ "far", MIDDLE, run_far },
	{ "page", MIDDLE, run_page },
	{ "behind", "^drystone: invalid pointer: 0x[0-9a-f]+, cache big: never given out", run_behind },
};

int main(int argc, char **argv)
{
	return death_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
