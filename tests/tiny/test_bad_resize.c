/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Blocks that are none are resized: they were freed, or begin in the middle of one. Reported whether the block would have stayed
 * where it is or not; of what is in use, whatever it holds, nothing is said.
 */
#include <drystone/tiny.h>

#include "../support/death.h"
#include "tiny/tiny.h"

static _Alignas(16) char pool[16384];

static dry_heap *heap_of(void)
{
	dry_heap *heap = dry_heap_create(&(struct dry_heap_attr){ .memory = pool, .memory_size = sizeof(pool) });

	CHECK(heap && dry_alloc(heap, 60));
	return heap;
}

static void resize(dry_heap *heap, char *block, size_t size)
{
	CHECK_EQ(dry_usable_size(heap, block), 0);
	death_at(block);
	(void)!dry_realloc(heap, block, size);
}

static void run_freed(void)
{
	dry_heap *heap = heap_of();
	char *block = dry_alloc(heap, 60);

	dry_free(heap, block);
	resize(heap, block, 50);
}

static void run_freed_moved(void)
{
	dry_heap *heap = heap_of();
	char *block = dry_alloc(heap, 60);

	dry_free(heap, block);
	resize(heap, block, 500);
}

static void run_middle(void)
{
	dry_heap *heap = heap_of();

	resize(heap, (char *)dry_alloc(heap, 60) + 8, 50);
}

static void run_never(void)
{
	dry_heap *heap = heap_of();
	char *block = dry_alloc(heap, 60);

	for (unsigned i = 0; i < 7; i++) /* all that were linked with it */
		CHECK(dry_alloc(heap, 60));
	block -= ((uintptr_t)block & 0xff) - 4; /* what keeps the slab */
	resize(heap, block, 50);
}

static void run_big(void)
{
	dry_heap *heap = heap_of();
	char *block = dry_alloc(heap, 3000);

	CHECK(block && dry_usable_size(heap, block) >= 3000);
	resize(heap, block + 256, 2500);
}

static const struct death_case cases[] = {
	{ "freed", "^drystone: double free: 0x[0-9a-f]+, cache kmalloc", run_freed },
	{ "freed-moved", "^drystone: double free: 0x[0-9a-f]+, cache kmalloc", run_freed_moved },
	{ "middle", "^drystone: pointer into the middle of an object: 0x[0-9a-f]+, cache kmalloc", run_middle },
	{ "never", "^drystone: invalid pointer: 0x[0-9a-f]+, cache kmalloc", run_never },
	{ "big", "^drystone: pointer into the middle of an object: 0x[0-9a-f]+: big block", run_big },
};

/* Each of some blocks holds what a free one does, while others are free. */
static void test_alike(void)
{
	dry_heap *heap = heap_of();
	struct dry_object *blocks[40];

	for (unsigned i = 0; i < 40; i++)
		CHECK(blocks[i] = dry_alloc(heap, 60));
	for (unsigned i = 1; i < 40; i += 2)
		dry_free(heap, blocks[i]);
	for (unsigned i = 0; i < 40; i += 2) {
		*blocks[i] = (struct dry_object){ i + 1 < 40 ? blocks[i + 1] : NULL, DRY_TINY_KEY + i + 1 };
		CHECK_EQ(dry_usable_size(heap, blocks[i]), 64);
		CHECK(dry_realloc(heap, blocks[i], 50) == blocks[i]);
	}
	for (unsigned i = 0; i < 40; i += 2)
		dry_free(heap, blocks[i]);
	CHECK_EQ(dry_heap_check(heap), 0);
}

int main(int argc, char **argv)
{
	test_alike();
	return death_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
