/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A heap of its own. secure:1: its blocks of all sizes have nothing that another one left, nor what realloc() gives them, without
 * that memory which is new is touched; those with much alignment have exact sizes, and wait when they are freed. Of big objects few
 * wait. As it is, only that nothing is lost.
 *
 * DRY_TEST_CONF: secure=secure:1
 */
#include <stdbool.h>
#include <stdlib.h>

#include "../support/exercise.h"
#include "../support/pages.h"
#include "../support/statm.h"

#define SECRETS 8
#define MIB     ((size_t)1 << 20)

static bool secure;

static void is_zero(const char *block, size_t from, size_t to)
{
	for (; secure && from < to; from++)
		CHECK(block[from] == 0);
}

static void grows(dry_heap *heap, size_t size, size_t more)
{
	char *block[SECRETS];

	for (int i = 0; i < SECRETS; i++) {
		CHECK((block[i] = dry_alloc(heap, 2 * size)) != NULL);
		memset(block[i], 'S', 2 * size);
	}
	for (int i = 0; i < SECRETS; i++)
		dry_free(heap, block[i]);
	CHECK((block[0] = dry_alloc(heap, size)) != NULL);
	is_zero(block[0], 0, size);
	memset(block[0], 'a', size);
	CHECK((block[0] = dry_realloc(heap, block[0], more)) != NULL);
	CHECK(block[0][0] == 'a' && block[0][size - 1] == 'a');
	is_zero(block[0], size, more);
	dry_free(heap, block[0]);
}

/* Aligned as slots are not whose objects end in a canary. */
static void is_aligned(dry_heap *heap, size_t align, size_t size)
{
	char *block = align == size ? dry_alloc(heap, size) : dry_alloc_aligned(heap, align, size), *next, *last;

	CHECK(block != NULL && (uintptr_t)block % align == 0);
	CHECK(dry_usable_size(heap, block) >= size && (!secure || dry_usable_size(heap, block) == size));
	memset(block, 'a', size);
	CHECK((block = dry_realloc(heap, block, size)) != NULL && block[size - 1] == 'a');
	CHECK((block = dry_realloc(heap, block, size - 7)) != NULL && block[size - 8] == 'a');
	dry_free(heap, block);
	CHECK((next = dry_alloc_aligned(heap, align, size)) != NULL && (last = dry_alloc_aligned(heap, align, size)) != NULL);
	CHECK(!secure || (next != block && last != block));
	dry_free(heap, next);
	dry_free(heap, last);
}

/* Slabs with much to spare begin their objects elsewhere each: always behind the canary that is before the first one. */
static void begins_behind(dry_heap *heap, size_t size, size_t align)
{
	dry_cache *cache = make_cache(heap, "coloured", size, align, DRY_CACHE_NO_MERGE);
	struct dry_cache_stats stats = stats_of(cache);
	char *objects[20];

	for (int i = 0; i < 20; i++) {
		CHECK((objects[i] = dry_cache_alloc(cache)) != NULL && (uintptr_t)objects[i] % align == 0);
		CHECK(!secure || (uintptr_t)objects[i] % (stats.pages_per_slab * test_page_size()) != 0);
		objects[i][0] = objects[i][size - 1] = 'a';
	}
	for (int i = 0; i < 20; i++)
		dry_cache_free(cache, objects[i]);
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

static void few_wait(dry_heap *heap, size_t size, size_t most)
{
	dry_cache *cache = make_cache(heap, "big", size, 0, DRY_CACHE_NO_MERGE);
	char *object;

	CHECK(cache != NULL);
	for (int i = 0; i < 100; i++) {
		CHECK((object = dry_cache_alloc(cache)) != NULL);
		object[0] = 'a';
		dry_cache_free(cache, object);
	}
	CHECK(!secure || stats_of(cache).objects <= most);
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

static void grows_untouched(dry_heap *heap)
{
	char *block = dry_alloc(heap, 64 * MIB);
	size_t before = test_resident();

	CHECK(block != NULL);
	block[0] = 'a';
	CHECK((block = dry_realloc(heap, block, 256 * MIB)) != NULL && block[0] == 'a');
	CHECK(test_resident() < before + 100 * MIB); /* what it had may have been copied */
	CHECK(block[64 * MIB] == 0 && block[256 * MIB - 1] == 0);
	dry_free(heap, block);
}

int main(void)
{
	static const size_t sizes[] = { 20, 1000, 9000, 40000, 100000, 400000, 3000000 };
	const char *options = getenv("DRYSTONE_CONF");
	dry_heap *heap = dry_heap_create(NULL);

	secure = options != NULL && strstr(options, "secure:1") != NULL;
	CHECK(heap != NULL);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		grows(heap, sizes[i], sizes[i] + sizes[i] / 40);
		grows(heap, sizes[i], sizes[i] + sizes[i] * 3 / 4);
	}
	for (size_t align = 64; align <= 4096; align *= 2) {
		is_aligned(heap, align, align);
		is_aligned(heap, align, align - 7);
		is_aligned(heap, align, 3 * align + 1);
		is_aligned(heap, align, 20000 + align);
	}
	begins_behind(heap, 2200000, 4096);
	few_wait(heap, 2 * MIB, 10);
	few_wait(heap, 200000, 30);
	if (secure)
		grows_untouched(heap);
	CHECK_EQ(dry_heap_check(heap), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	return 0;
}
