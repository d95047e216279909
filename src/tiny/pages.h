/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Runs of pages.
 *
 * The map has 16 bits for each page of a pool, and one entry more at either end, DRY_MAP_NONE:
 *
 *	n < DRY_MAP_BLOCK   a page of a slab, n pages behind its first
 *	DRY_MAP_BLOCK + n   the first page of a big block of n pages
 *	DRY_MAP_NONE - n    the first and the last page of a free run of n pages
 *	DRY_MAP_NONE        inside of a block or a free run, or dry_map_marks() pages behind a slab's first and further
 *
 * From DRY_MAP_FREE on, an entry is one of the last two. No two free runs are neighbours. A free run's first page holds
 * its link; it is on the list of floor(log2(pages)).
 */
#ifndef DRY_TINY_PAGES_H
#define DRY_TINY_PAGES_H

#include "tiny/tiny.h"

enum { DRY_MAP_BLOCK = 512, DRY_MAP_FREE = 0x8000, DRY_MAP_NONE = 0xffff };

/* Pages of the free run that has this entry at its end, of the block at its start; 0: it is no such entry. */
static inline size_t dry_map_free(unsigned entry)
{
	return entry >= DRY_MAP_FREE ? DRY_MAP_NONE - entry : 0;
}
static inline size_t dry_map_block(unsigned entry)
{
	return entry >= DRY_MAP_BLOCK && entry < DRY_MAP_FREE ? entry - DRY_MAP_BLOCK : 0;
}

/* Objects begin in numbered pages: of two that are smaller than a page, the second may begin in the second page of a slab. */
_Static_assert(DRY_TINY_SLAB_PAGES >= 2 && DRY_TINY_SLAB_PAGES <= DRY_MAP_BLOCK &&
	       (DRY_TINY_SLAB_PAGES & (DRY_TINY_SLAB_PAGES - 1)) == 0, "pages of a slab that the map can number");

/* So many of a slab's pages have its number: DRY_TINY_SLAB_PAGES at least, and up to where the first object begins. */
static inline size_t dry_map_marks(const struct dry_class *class)
{
	return ((class->first >> class->heap->pool.shift) | (DRY_TINY_SLAB_PAGES - 1)) + 1;
}

/* Lays a pool's map and pages into memory, its descriptor being there or the heap's first. Its end; NULL: it is too small. */
char *dry_pool_add(struct dry_heap *heap, char *memory, char *end);

static inline uint16_t *dry_map_entry(const struct dry_pool *pool, const void *address)
{
	return (uint16_t *)(pool->map + ((uintptr_t)address >> pool->shift) * sizeof(uint16_t));
}

/* NULL: not in the heap. */
uint16_t *dry_map_of(const struct dry_heap *heap, const void *address);

/* The first page of the slab that holds an address; NULL: none does. */
void *dry_map_slab(const struct dry_heap *heap, const void *address);

/* A run whose address is a multiple of align (a power of two); marked as a big block. NULL: there is none. */
void *dry_pages_alloc(struct dry_heap *heap, size_t pages, size_t align);

/* Its first entry, and those of a slab, are cleared here. */
void dry_pages_free(struct dry_heap *heap, void *run, size_t pages);

/* `more` pages behind the run, if they are free; not marked yet. */
bool dry_pages_extend(struct dry_heap *heap, void *run, size_t pages, size_t more);

/* bytes > 0 */
static inline size_t dry_pages_for(const struct dry_heap *heap, size_t bytes)
{
	return ((bytes - 1) >> heap->pool.shift) + 1;
}

#endif
