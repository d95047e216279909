/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What no slab of the default heap has an answer to: behind it and where it was, big blocks, other heaps, constructed objects. And
 * blocks that are made smaller.
 */
#include <drystone/drystone.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "bugs.h"

#define PAGE 4096

static volatile unsigned sink;

void read_next_page(void)
{
	char *block = get(64);

	sink = *(volatile unsigned char *)(block - (size_t)block % PAGE + PAGE);
	settle(64);
}

void read_given_back(void)
{
	static char *blocks[40 * N];
	char *first;

	for (int i = 0; i < 40 * N; i++)
		blocks[i] = get(64);
	first = blocks[0];
	for (int i = 0; i < 40 * N; i++)
		give(blocks[i]);
	settle(64);
	sink = *(volatile unsigned char *)first;
}

void overflow_after_shrink(void)
{
	char *block = realloc(get(100), 70);

	CHECK(block);
	OPAQUE(block);
	block[70] = 0x41;
	give(block);
	settle(100);
}

void overflow_before_shrink(void)
{
	char *block = get(100);

	OPAQUE(block);
	block[100] = 0x41;
	give(realloc(block, 90));
	settle(100);
}

/* ---- blocks in no slab ------------------------------------------------------------------------------------- */

void free_sized(void *block, size_t size);

void overflow_big(void)
{
	char *block = get((size_t)1 << 20);

	block[(size_t)1 << 20] = 0x41;
	give(block);
}

/* As C++ compilers have it for delete. */
static void free_sized_twice(size_t size)
{
	char *block = get(size);

	free_sized(block, size);
	OPAQUE(block);
	free_sized(block, size);
}

void sized_free_twice(void)
{
	free_sized_twice(64);
}

void sized_free_twice_big(void)
{
	free_sized_twice((size_t)3 << 20);
}

void sized_free_twice_zero(void)
{
	free_sized_twice(0);
}

void double_free_unmapped(void)
{
	char *block = get((size_t)60 << 20);

	give(block);
	malloc_trim(0);
	give(block);
}

/* It is small, and its alignment is what no slab has. */
void overflow_far_aligned(void)
{
	char *block = aligned_alloc(65536, 100);

	CHECK(block);
	OPAQUE(block);
	block[100] = 0x41;
	give(block);
}

void write_to_nothing(void)
{
	*(volatile char *)get(0) = 0x41;
}

void sized_free_big(void)
{
	char *block = get(3000000);

	free_sized(block, 30000);
}

/* ---- objects of caches -------------------------------------------------------------------------------------- */

static void *objects[N];

static void construct(void *object, void *arg)
{
	(void)arg;
	memset(object, 0x20, 40);
}

static dry_cache *constructed(dry_heap *heap)
{
	struct dry_cache_attr attr = { .name = "victim", .size = 40, .ctor = construct };
	dry_cache *cache = dry_cache_create(heap, &attr);

	CHECK(cache);
	CHECK_EQ(dry_cache_alloc_bulk(cache, N, objects), N);
	return cache;
}

void constructed_write_after_free(void)
{
	dry_cache *cache = constructed(NULL);

	dry_cache_free(cache, objects[9]);
	OPAQUE(objects[9]);
	((char *)objects[9])[30] = 0x41;
	for (int i = 0; i < 20 * N; i++)
		CHECK(dry_cache_alloc(cache));
	CHECK(dry_cache_shrink(cache) == 0);
}

static void freed_apart(dry_cache *cache)
{
	dry_cache_free(cache, objects[9]);
	dry_cache_free(cache, objects[10]);
	dry_cache_free(cache, objects[9]);
}

void typed_freed_apart(void)
{
	freed_apart(constructed(NULL));
}

void own_heap_typed_freed_apart(void)
{
	dry_heap *heap = dry_heap_create(NULL);

	CHECK(heap);
	freed_apart(constructed(heap));
}

/* ---- a heap of the program's own -------------------------------------------------------------------------- */

static char *own_block(dry_heap **heap)
{
	struct dry_heap_attr attr = { .name = "own" };
	char *block = NULL;

	CHECK(*heap = dry_heap_create(&attr));
	for (int i = 0; i < N; i++)
		CHECK(block = dry_alloc(*heap, 40));
	OPAQUE(block);
	return block;
}

void own_heap_double_free(void)
{
	dry_heap *heap;
	char *block = own_block(&heap);

	dry_free(heap, block);
	OPAQUE(block);
	dry_free(heap, block);
}

void own_heap_overflow(void)
{
	dry_heap *heap;
	char *block = own_block(&heap);

	block[40] = 0x41;
	dry_free(heap, block);
	CHECK(dry_heap_destroy(heap) == 0);
}

void own_heap_write_after_free(void)
{
	dry_heap *heap;
	char *block = own_block(&heap);

	dry_free(heap, block);
	OPAQUE(block);
	block[8] = 0x41;
	for (int i = 0; i < 100 * N; i++)
		CHECK(dry_alloc(heap, 40));
}

void own_heap_interior(void)
{
	dry_heap *heap;
	char *block = own_block(&heap);

	dry_free(heap, block + 8);
}

/* Of sizes that have their own alignment; one of `objects`. */
static char *own_natural(dry_heap *heap, size_t size)
{
	for (int i = 0; i < N; i++)
		CHECK((objects[i] = dry_alloc(heap, size)) && (uintptr_t)objects[i] % size == 0);
	OPAQUE(objects[N / 2]);
	return objects[N / 2];
}

void own_heap_natural_right_1(void)
{
	dry_heap *heap = dry_heap_create(NULL);
	char *block = own_natural(heap, 1024);

	block[1024] = 0x41;
	dry_free(heap, block);
	CHECK(dry_heap_destroy(heap) == 0);
}

void own_heap_natural_after_free(void)
{
	dry_heap *heap = dry_heap_create(NULL);
	char *block = own_natural(heap, 4096);

	dry_free(heap, block);
	OPAQUE(block);
	block[4090] = 0x41;
	for (int i = 0; i < 100 * N; i++)
		dry_free(heap, dry_alloc(heap, 4096));
}

/* ---- typed objects that leave much of their slots --------------------------------------------------------- */

static dry_cache *aligned(size_t size, size_t align, char **object)
{
	struct dry_cache_attr attr = { .name = "victim", .size = size, .align = align, .flags = DRY_CACHE_NO_MERGE };
	dry_cache *cache = dry_cache_create(NULL, &attr);

	CHECK(cache && (*object = dry_cache_alloc(cache)));
	OPAQUE(*object);
	return cache;
}

static void aligned_right_1(size_t size, size_t align)
{
	char *object;
	dry_cache *cache = aligned(size, align, &object);

	object[size] = 0x41;
	dry_cache_free(cache, object);
	CHECK(dry_cache_destroy(cache) == 0);
}

void typed_page_right_1(void)
{
	aligned_right_1(4096, 4096);
}

void typed_pages_right_1(void)
{
	aligned_right_1(5000, 16384);
}

void typed_page_after_free(void)
{
	char *object;
	dry_cache *cache = aligned(4096, 4096, &object);

	dry_cache_free(cache, object);
	OPAQUE(object);
	object[20] = 0x41;
	CHECK(dry_cache_destroy(cache) == 0);
}

#define KEPT 4000

static int compare(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)*(char *const *)a, y = (uintptr_t)*(char *const *)b;

	return (x > y) - (x < y);
}

/* A byte is written before a block that is never freed, behind a free one or (first) before the first one of its slab. */
static void kept(bool first)
{
	static char *block[KEPT];
	ptrdiff_t step = PTRDIFF_MAX;
	size_t at = KEPT / 2;

	for (size_t i = 0; i < KEPT; i++)
		memset(block[i] = get(100), 1, 100);
	qsort(block, KEPT, sizeof(block[0]), compare);
	for (size_t i = 1; i < KEPT; i++)
		step = block[i] - block[i - 1] < step ? block[i] - block[i - 1] : step;
	while (at < KEPT - 1 && (block[at] - block[at - 1] == step) == first)
		at++;
	for (size_t i = 0; i < KEPT; i++)
		if (i + 1 == at || i + 20 < at || i > at + 20)
			give(block[i]);
	OPAQUE(block[at]);
	block[at][-1] = 0x41;
}

void kept_left(void)
{
	kept(false);
}

void kept_left_first(void)
{
	kept(true);
}
