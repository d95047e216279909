/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Callbacks that give memory back: every call that finds none asks them, for as long as they give.
 * DRY_TEST_NOT_TINY: no callbacks there.
 */
#include <drystone/process.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../support/check.h"

#define SPARE 300
#define PIECE 16384

static struct {
	dry_heap *heap;
	void *block[SPARE];
	size_t count, calls;
} spare;

static size_t give(void *arg, size_t bytes)
{
	size_t given = 0;

	CHECK(arg == &spare);
	for (spare.calls++; spare.count > 0 && given < bytes; given += PIECE)
		dry_free(spare.heap, spare.block[--spare.count]);
	return given;
}

enum call { ALLOC, NODE, BULK, PREFILL, SMALL, BIG, ALIGNED };

static bool ask(dry_cache *cache, enum call call, size_t n)
{
	void *objects[64];

	switch (call) {
	case ALLOC:
		return dry_cache_alloc(cache) != NULL;
	case NODE:
		return dry_cache_alloc_node(cache, 0) != NULL;
	case BULK:
		return dry_cache_alloc_bulk(cache, 64, objects) != 0;
	case PREFILL:
		return dry_cache_prefill(cache, n) == 0;
	case SMALL:
		return dry_alloc(spare.heap, 100) != NULL;
	case BIG:
		return dry_alloc(spare.heap, 40000) != NULL;
	default:
		return dry_alloc_aligned(spare.heap, 65536, 100) != NULL;
	}
}

/* A heap with a limit, half of it spare. */
static void test_heap(enum call call)
{
	struct dry_heap_attr attr = { .name = "small", .limit = (size_t)8 << 20 };
	size_t n = 64;

	spare.heap = dry_heap_create(&attr);
	dry_cache *keeper = dry_cache_create(spare.heap, &(struct dry_cache_attr){ .name = "keeper", .size = 64, .reclaim = give,
										   .arg = &spare });
	dry_cache *cache = dry_cache_create(spare.heap, &(struct dry_cache_attr){ .name = "cache", .size = 4096,
										  .flags = DRY_CACHE_NO_MERGE });
	CHECK(spare.heap && keeper && cache);
	for (spare.count = 0; spare.count < SPARE; spare.count++)
		CHECK(spare.block[spare.count] = dry_alloc(spare.heap, PIECE));
	for (spare.calls = 0; ask(cache, call, n); n += 64)
		;
	CHECK(spare.calls > 0);
	CHECK_EQ(spare.count, 0);
	CHECK_EQ(dry_heap_check(spare.heap), 0);
	CHECK_EQ(dry_heap_destroy(spare.heap), 0);
}

int main(void)
{
	for (enum call call = ALLOC; call < BIG; call++)
		test_heap(call);
	return 0;
}
