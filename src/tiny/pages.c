/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "tiny/pages.h"

#include <string.h>

#include "base/bits.h"
#include "base/fatal.h"

bool dry_pool_init(const struct dry_heap *heap, struct dry_pool *pool, char *memory, char *end)
{
	const size_t page = (size_t)1 << heap->shift;
	size_t pages = (size_t)(end - memory) / (page + sizeof(uint16_t)), room;

	if (pages > DRY_TINY_MAX_PAGES)
		pages = DRY_TINY_MAX_PAGES;
	memory += (uintptr_t)memory & 1;
	pool->base = ((uintptr_t)memory + pages * sizeof(uint16_t) + page - 1) & -(uintptr_t)page;
	room = (uintptr_t)end - pool->base;
	if (pool->base > (uintptr_t)end || room < page)
		return false;
	if (pages > room >> heap->shift)
		pages = room >> heap->shift;
	pool->next = NULL;
	pool->bytes = pages << heap->shift;
	pool->map = (uintptr_t)memory - (pool->base >> heap->shift) * sizeof(uint16_t);
	return true;
}

void dry_pool_open(struct dry_heap *heap, struct dry_pool *pool)
{
	size_t pages = pool->bytes >> heap->shift;

	memset(dry_map_entry(heap, pool, pool->base), DRY_MAP_NONE & 0xff, pages * sizeof(uint16_t));
	heap->pages_used += (uint32_t)pages;
	dry_pages_free(heap, (void *)pool->base, pages);
}

struct dry_pool *dry_pool_of(struct dry_heap *heap, const void *address)
{
	struct dry_pool *pool = &heap->pool;

	while (pool != NULL && (uintptr_t)address - pool->base >= pool->bytes)
		pool = pool->next;
	return pool;
}

uint16_t *dry_map_of(struct dry_heap *heap, const void *address)
{
	return dry_map_entry(heap, dry_pool_of(heap, address), (uintptr_t)address);
}

static void run_insert(struct dry_heap *heap, struct dry_run *run, size_t pages)
{
	struct dry_run **bin = &heap->bins[dry_log2_size(pages)];
	uint16_t *entry = dry_map_of(heap, run);

	entry[0] = entry[pages - 1] = (uint16_t)(DRY_MAP_FREE + pages);
	run->prev = NULL;
	run->next = *bin;
	if (run->next != NULL)
		run->next->prev = run;
	*bin = run;
}

/* Takes a run off its list, and its entries out of the map; its length. */
static size_t run_remove(struct dry_heap *heap, struct dry_run *run)
{
	uint16_t *entry = dry_map_of(heap, run);
	size_t pages = entry[0] - (size_t)DRY_MAP_FREE;

	if (DRY_TINY_CHECK_LINKS &&
	    ((run->next != NULL && (dry_pool_of(heap, run->next) == NULL || run->next->prev != run)) ||
	     (run->prev != NULL && (dry_pool_of(heap, run->prev) == NULL || run->prev->next != run))))
		dry_fatal(DRY_FATAL_INTERNAL, run, NULL, "links of a free run");
	if (run->next != NULL)
		run->next->prev = run->prev;
	if (run->prev != NULL)
		run->prev->next = run->next;
	else
		heap->bins[dry_log2_size(pages)] = run->next;
	entry[0] = entry[pages - 1] = DRY_MAP_NONE;
	return pages;
}

/* The run [front of some pages | pages | rest]: the middle is taken. */
static void run_take(struct dry_heap *heap, struct dry_run *run, size_t front, size_t pages)
{
	size_t rest = run_remove(heap, run) - front - pages;

	heap->pages_used += (uint32_t)pages;
	if (front != 0)
		run_insert(heap, run, front);
	if (rest != 0)
		run_insert(heap, (struct dry_run *)(void *)((char *)run + ((front + pages) << heap->shift)), rest);
}

void *dry_pages_alloc(struct dry_heap *heap, size_t pages, size_t align)
{
	if (pages > DRY_TINY_MAX_PAGES)
		return NULL;
	for (unsigned bin = dry_log2_size(pages); bin < DRY_TINY_BINS; bin++) {
		struct dry_run *run = heap->bins[bin];

		for (unsigned look = DRY_TINY_LOOK; run != NULL && look != 0; look--, run = run->next) {
			size_t skip = -(uintptr_t)run & (align - 1), front = skip >> heap->shift;

			if (front + pages > dry_map_free(*dry_map_of(heap, run)))
				continue;
			run_take(heap, run, front, pages);
			run = (struct dry_run *)(void *)((char *)run + skip);
			*dry_map_of(heap, run) = (uint16_t)(DRY_MAP_BLOCK + pages);
			return run;
		}
	}
	return NULL;
}

bool dry_pages_extend(struct dry_heap *heap, void *run, size_t pages, size_t more)
{
	char *behind = (char *)run + (pages << heap->shift);

	if (dry_pool_of(heap, behind) != dry_pool_of(heap, run) || dry_map_free(*dry_map_of(heap, behind)) < more)
		return false;
	run_take(heap, (struct dry_run *)(void *)behind, 0, more);
	return true;
}

void dry_pages_free(struct dry_heap *heap, void *start, size_t pages)
{
	struct dry_pool *pool = dry_pool_of(heap, start);
	uintptr_t run = (uintptr_t)start, end = run + (pages << heap->shift);
	size_t more;

	heap->pages_used -= (uint32_t)pages;
	if (end - pool->base < pool->bytes && dry_map_free(*dry_map_entry(heap, pool, end)) != 0)
		pages += run_remove(heap, (struct dry_run *)end);
	if (run != pool->base && (more = dry_map_free(dry_map_entry(heap, pool, run)[-1])) != 0) {
		run -= more << heap->shift;
		pages += run_remove(heap, (struct dry_run *)run);
	}
	run_insert(heap, (struct dry_run *)run, pages);
}
