/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Pointers that were never given out, or point into the middle of an object or block. */
#include <drystone/drystone.h>

#include "../support/death.h"
#include "../support/glibc.h"

static char global[4096];

static dry_cache *victim(size_t size)
{
	struct dry_cache_attr attr = { .name = "victim", .size = size, .flags = DRY_CACHE_NO_MERGE };
	dry_cache *cache = dry_cache_create(dry_heap_create(NULL), &attr);

	CHECK(cache);
	return cache;
}

static void free_to_cache(void *pointer)
{
	dry_cache *cache = victim(64);

	dry_cache_free(cache, dry_cache_alloc(cache)); /* so that there is room in the array */
	death_at(pointer);
	dry_cache_free(cache, pointer);
	dry_cache_shrink(cache); /* if the fast path took it, the slow one must see it */
}

static void free_to_heap(void *pointer)
{
	dry_heap *heap = dry_heap_create(NULL);

	dry_free(heap, dry_alloc(heap, 64));
	death_at(pointer);
	dry_free(heap, pointer);
	dry_heap_trim(heap);
}

static void free_to_malloc(void *pointer)
{
	death_at(pointer);
	OPAQUE(pointer);
	free(pointer);
	malloc_trim(0);
}

static void run_cache_stack(void)
{
	char stack[64] = { 0 };

	free_to_cache(stack);
}

static void run_cache_global(void)
{
	free_to_cache(global + 64);
}

static void run_cache_wild(void)
{
	free_to_cache((void *)(uintptr_t)0x123456789000u);
}

static void run_cache_other_heap(void)
{
	free_to_cache(dry_alloc(dry_heap_create(NULL), 64));
}

static void run_heap_stack(void)
{
	char stack[64] = { 0 };

	free_to_heap(stack);
}

static void run_heap_global(void)
{
	free_to_heap(global);
}

static void run_heap_wild(void)
{
	free_to_heap((void *)(uintptr_t)0x7ffffffff000u);
}

static void run_heap_noncanonical(void)
{
	free_to_heap((void *)(uintptr_t)0xdeadbeefdeadbee0u);
}

static void run_heap_low(void)
{
	free_to_heap((void *)(uintptr_t)16);
}

static void run_malloc_stack(void)
{
	char stack[64] = { 0 };

	free_to_malloc(stack);
}

static void run_malloc_global(void)
{
	free_to_malloc(global + 16);
}

static void run_malloc_wild(void)
{
	free_to_malloc((void *)(uintptr_t)0xfffffffffffffff0u);
}

static void run_realloc_global(void)
{
	void *pointer = global + 32;

	death_at(pointer);
	OPAQUE(pointer);
	pointer = realloc(pointer, 100);
	OPAQUE(pointer);
}

/* The middle of an object, free or not, in a slab that stays. */
static void interior(size_t size, size_t offset)
{
	dry_cache *cache = victim(size);
	char *objects[100];

	for (int i = 0; i < 100; i++)
		CHECK(objects[i] = dry_cache_alloc(cache));
	death_at(objects[50] + offset);
	dry_cache_free(cache, objects[50] + offset);
	dry_cache_shrink(cache);
}

static void run_interior_8(void)
{
	interior(64, 8);
}

static void run_interior_1(void)
{
	interior(64, 1);
}

static void run_interior_odd_size(void)
{
	interior(1000, 500);
}

static void run_interior_general(void)
{
	dry_heap *heap = dry_heap_create(NULL);
	char *block = dry_alloc(heap, 1000);

	CHECK(block);
	death_at(block + 16);
	dry_free(heap, block + 16);
	dry_heap_trim(heap);
}

static void run_interior_malloc(void)
{
	char *block = malloc(300);

	CHECK(block);
	free_to_malloc(block + 100);
}

static void run_interior_run(void)
{
	dry_heap *heap = dry_heap_create(NULL);
	char *block = dry_alloc(heap, 300000);

	CHECK(block);
	death_at(block + 8192);
	dry_free(heap, block + 8192);
}

static void run_interior_extent(void)
{
	dry_heap *heap = dry_heap_create(NULL);
	char *block = dry_alloc(heap, 64 << 20);

	CHECK(block);
	death_at(block + (1 << 20));
	dry_free(heap, block + (1 << 20));
}

#define INVALID	       "^drystone: invalid pointer: 0x[0-9a-f]+"
#define INVALID_CACHE  "^drystone: invalid pointer: 0x[0-9a-f]+, cache victim"
#define INTERIOR       "^drystone: pointer into the middle of an object: 0x[0-9a-f]+"
#define INTERIOR_CACHE "^drystone: pointer into the middle of an object: 0x[0-9a-f]+, cache victim"

static const struct death_case cases[] = {
	{ "cache-stack", INVALID_CACHE, run_cache_stack },
	{ "cache-global", INVALID_CACHE, run_cache_global },
	{ "cache-wild", INVALID_CACHE, run_cache_wild },
	{ "cache-other-heap", INVALID_CACHE, run_cache_other_heap },
	{ "heap-stack", INVALID, run_heap_stack },
	{ "heap-global", INVALID, run_heap_global },
	{ "heap-wild", INVALID, run_heap_wild },
	{ "heap-noncanonical", INVALID, run_heap_noncanonical },
	{ "heap-low", INVALID, run_heap_low },
	{ "malloc-stack", INVALID, run_malloc_stack },
	{ "malloc-global", INVALID, run_malloc_global },
	{ "malloc-wild", INVALID, run_malloc_wild },
	{ "realloc-global", INVALID, run_realloc_global },
	{ "interior-8", INTERIOR_CACHE, run_interior_8 },
	{ "interior-1", INTERIOR_CACHE, run_interior_1 },
	{ "interior-odd-size", INTERIOR_CACHE, run_interior_odd_size },
	{ "interior-general", INTERIOR, run_interior_general },
	{ "interior-malloc", INTERIOR, run_interior_malloc },
	{ "interior-run", INTERIOR, run_interior_run },
	{ "interior-extent", INTERIOR, run_interior_extent },
};

int main(int argc, char **argv)
{
	return death_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
