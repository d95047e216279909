/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "tiny/pages.h"

#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/fatal.h"

int dry_pool_init(struct dry_heap *heap, struct dry_pool *pool, char *memory, size_t size)
{
	const size_t page = (size_t)1 << heap->shift;
	size_t pages = size / (page + sizeof(*pool->map)), bytes;

	if (pages > DRY_TINY_MAX_PAGES)
		pages = DRY_TINY_MAX_PAGES;
	for (;; pages--) {
		if (pages == 0)
			return -DRY_EINVAL;
		bytes = pages << heap->shift;
		pool->base = memory + (-(uintptr_t)memory & (sizeof(*pool->map) - 1));
		pool->map = (uint16_t *)(void *)pool->base;
		pool->base = (char *)(pool->map + pages);
		pool->base += -(uintptr_t)pool->base & (page - 1);
		if ((size_t)(pool->base - memory) <= size && bytes <= size - (size_t)(pool->base - memory))
			break;
	}
	pool->bytes = bytes;
	memset(pool->map, DRY_MAP_NONE & 0xff, pages * sizeof(*pool->map));
	heap->pages_used += pages;
	dry_pages_free(heap, pool->base, pages);
	return 0;
}

struct dry_pool *dry_pool_of(struct dry_heap *heap, const void *address)
{
	struct dry_pool *pool = &heap->pool;

	while (pool != NULL && (uintptr_t)address - (uintptr_t)pool->base >= pool->bytes)
		pool = pool->next;
	return pool;
}

/* The map entry of an address inside of the heap. */
static uint16_t *entry_of(struct dry_heap *heap, const void *address)
{
	struct dry_pool *pool = dry_pool_of(heap, address);

	return &pool->map[((uintptr_t)address - (uintptr_t)pool->base) >> heap->shift];
}

static void mark(uint16_t *entry, size_t pages, unsigned value)
{
	entry[0] = entry[pages - 1] = (uint16_t)value;
}

static void run_insert(struct dry_heap *heap, void *at, size_t pages)
{
	struct dry_run *run = at, **bin = &heap->bins[dry_log2_floor(pages)];

	mark(entry_of(heap, at), pages, DRY_MAP_FREE + (unsigned)pages);
	run->prev = NULL;
	run->next = *bin;
	if (run->next != NULL)
		run->next->prev = run;
	*bin = run;
}

static void run_remove(struct dry_heap *heap, struct dry_run *run)
{
	uint16_t *entry = entry_of(heap, run);
	size_t pages = *entry - DRY_MAP_FREE;

	if (DRY_TINY_CHECK_LINKS &&
	    ((run->next != NULL && (dry_pool_of(heap, run->next) == NULL || run->next->prev != run)) ||
	     (run->prev != NULL && (dry_pool_of(heap, run->prev) == NULL || run->prev->next != run))))
		dry_fatal(DRY_FATAL_INTERNAL, run, NULL, "links of a free run");
	if (run->next != NULL)
		run->next->prev = run->prev;
	if (run->prev != NULL)
		run->prev->next = run->next;
	else
		heap->bins[dry_log2_floor(pages)] = run->next;
	mark(entry, pages, DRY_MAP_NONE);
}

/* Take [start, start + pages) out of a free run. */
static void run_take(struct dry_heap *heap, struct dry_run *run, char *start, size_t pages)
{
	size_t length = *entry_of(heap, run) - DRY_MAP_FREE;
	size_t front = (size_t)(start - (char *)run) >> heap->shift;

	run_remove(heap, run);
	if (front != 0)
		run_insert(heap, run, front);
	if (front + pages < length)
		run_insert(heap, start + (pages << heap->shift), length - front - pages);
	heap->pages_used += pages;
}

void *dry_pages_alloc(struct dry_heap *heap, size_t pages, size_t align)
{
	if (pages > DRY_TINY_MAX_PAGES)
		return NULL;
	for (unsigned bin = dry_log2_floor(pages); bin < DRY_TINY_BINS; bin++) {
		struct dry_run *run = heap->bins[bin];

		for (unsigned look = DRY_TINY_LOOK; run != NULL && look != 0; look--, run = run->next) {
			size_t skip = -(uintptr_t)run & (align - 1);

			if ((skip >> heap->shift) + pages > dry_map_free(*entry_of(heap, run)))
				continue;
			char *start = (char *)run + skip;
			run_take(heap, run, start, pages);
			*entry_of(heap, start) = (uint16_t)(DRY_MAP_BLOCK + pages);
			return start;
		}
	}
	return NULL;
}

bool dry_pages_extend(struct dry_heap *heap, void *run, size_t pages, size_t more)
{
	char *behind = (char *)run + (pages << heap->shift);

	if (dry_pool_of(heap, behind) != dry_pool_of(heap, run) || dry_map_free(*entry_of(heap, behind)) < more)
		return false;
	run_take(heap, (struct dry_run *)(void *)behind, behind, more);
	return true;
}

void dry_pages_free(struct dry_heap *heap, void *run, size_t pages)
{
	struct dry_pool *pool = dry_pool_of(heap, run);
	char *start = run;
	size_t page = (size_t)(start - pool->base) >> heap->shift, more;

	heap->pages_used -= pages;
	more = page != 0 ? dry_map_free(pool->map[page - 1]) : 0;
	if (more != 0) {
		start -= more << heap->shift;
		run_remove(heap, (struct dry_run *)(void *)start);
		page -= more;
		pages += more;
	}
	page += pages;
	more = page << heap->shift < pool->bytes ? dry_map_free(pool->map[page]) : 0;
	if (more != 0) {
		run_remove(heap, (struct dry_run *)(void *)(pool->base + (page << heap->shift)));
		pages += more;
	}
	run_insert(heap, start, pages);
}
