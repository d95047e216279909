/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Reads that no object's slab has an answer to, behind it and where it was; errors in a heap of the program's own. */
#include <drystone/drystone.h>
#include <malloc.h>

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
