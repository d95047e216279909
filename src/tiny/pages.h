/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Runs of pages.
 *
 * The map has 16 bits for each page of a pool:
 *
 *	n < DRY_MAP_BLOCK   a page of a slab, n pages behind its first
 *	DRY_MAP_BLOCK + n   the first page of a big block of n pages
 *	DRY_MAP_FREE + n    the first and the last page of a free run of n pages
 *	DRY_MAP_NONE        inside of a block, a free run, or an object that is its slab's only one
 *
 * No two free runs are neighbours. A free run's first page holds its links; it is on the list of floor(log2(pages)).
 */
#ifndef DRY_TINY_PAGES_H
#define DRY_TINY_PAGES_H

#include "tiny/tiny.h"

enum { DRY_MAP_BLOCK = 512, DRY_MAP_FREE = 0x8000, DRY_MAP_NONE = 0xffff };

/* Pages of the free run that has this entry at its end, of the block at its start; 0: it is no such entry. */
static inline size_t dry_map_free(unsigned entry)
{
	return entry >= DRY_MAP_FREE && entry != DRY_MAP_NONE ? entry - DRY_MAP_FREE : 0;
}
static inline size_t dry_map_block(unsigned entry)
{
	return entry >= DRY_MAP_BLOCK && entry < DRY_MAP_FREE ? entry - DRY_MAP_BLOCK : 0;
}

struct dry_run {
	struct dry_run *next, *prev; /* prev NULL: first of its list */
};

/* Lays map and pages of a pool into memory; false if it is too small. Then, on the heap's list, it is opened. */
bool dry_pool_init(const struct dry_heap *heap, struct dry_pool *pool, char *memory, char *end);
void dry_pool_open(struct dry_heap *heap, struct dry_pool *pool);

static inline uint16_t *dry_map_entry(const struct dry_heap *heap, const struct dry_pool *pool, uintptr_t address)
{
	return (uint16_t *)(pool->map + (address >> heap->shift) * sizeof(uint16_t));
}
/* Of an address inside of the heap. */
uint16_t *dry_map_of(struct dry_heap *heap, const void *address);

/* NULL: not in the heap. */
struct dry_pool *dry_pool_of(struct dry_heap *heap, const void *address);

/* A run whose address is a multiple of align (a power of two); marked as a big block. NULL: there is none. */
void *dry_pages_alloc(struct dry_heap *heap, size_t pages, size_t align);

/* Its first entry, and those of a slab, are cleared here. */
void dry_pages_free(struct dry_heap *heap, void *run, size_t pages);

/* `more` pages behind the run, if they are free; not marked yet. */
bool dry_pages_extend(struct dry_heap *heap, void *run, size_t pages, size_t more);

static inline size_t dry_pages_for(const struct dry_heap *heap, size_t bytes)
{
	return (bytes >> heap->shift) + ((bytes & (((size_t)1 << heap->shift) - 1)) != 0);
}

#endif
