/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "tiny/pages.h"

#include "base/bits.h"
#include "base/memory.h"

static void run_insert(struct dry_heap *heap, char *run, size_t pages)
{
	uint16_t *entry = dry_map_of(heap, run);

	heap->pages_free += (uint32_t)pages;
	entry[0] = entry[pages - 1] = (uint16_t)(DRY_MAP_NONE - pages);
	dry_link_insert((struct dry_link *)(void *)run, &heap->bins[dry_log2_size(pages)]);
}

/* A link of a free run leads to another one, to the head of a list, or nowhere. */
static bool leads(const struct dry_heap *heap, const struct dry_link *to)
{
	return to == NULL || (uintptr_t)to - (uintptr_t)heap->bins < sizeof(heap->bins) || dry_map_of(heap, to) != NULL;
}

/* Takes a run off its list, and its entries out of the map; its length. */
static DRY_NOINLINE size_t run_remove(struct dry_heap *heap, char *run, uint16_t *entry)
{
	struct dry_link *link = (struct dry_link *)(void *)run;
	size_t pages = (size_t)DRY_MAP_NONE - entry[0];

	if (DRY_TINY_CHECK_LINKS && (!leads(heap, link->next) || !leads(heap, link->prev) || link->prev->next != link ||
				     (link->next != NULL && link->next->prev != link)))
		dry_tiny_bad_link(NULL, run);
	dry_link_remove(link);
	heap->pages_free -= (uint32_t)pages;
	entry[0] = entry[pages - 1] = DRY_MAP_NONE;
	return pages;
}

/* The run [front of some pages | pages | rest]: the middle is taken. */
static char *run_take(struct dry_heap *heap, char *run, size_t front, size_t pages)
{
	size_t rest = run_remove(heap, run, dry_map_of(heap, run)) - front - pages;
	char *start = run + (front << heap->pool.shift);

	if (front != 0)
		run_insert(heap, run, front);
	if (rest != 0)
		run_insert(heap, start + (pages << heap->pool.shift), rest);
	return start;
}

void *dry_pages_alloc(struct dry_heap *heap, size_t pages, size_t align)
{
	if (pages > DRY_TINY_MAX_PAGES)
		return NULL;
	for (struct dry_link **bin = &heap->bins[dry_log2_size(pages)]; bin < heap->bins + DRY_TINY_BINS; bin++) {
		struct dry_link *run = *bin;

		for (unsigned look = DRY_TINY_LOOK; run != NULL && look != 0; look--, run = run->next) {
			size_t front = (-(uintptr_t)run & (align - 1)) >> heap->pool.shift;
			uint16_t *entry = dry_map_of(heap, run);
			char *start;

			if (front + pages > (size_t)DRY_MAP_NONE - *entry)
				continue;
			start = run_take(heap, (char *)run, front, pages);
			entry[front] = (uint16_t)(DRY_MAP_BLOCK + pages);
			return start;
		}
	}
	return NULL;
}

bool dry_pages_extend(struct dry_heap *heap, void *run, size_t pages, size_t more)
{
	if (dry_map_free(dry_map_of(heap, run)[pages]) < more)
		return false;
	run_take(heap, (char *)run + (pages << heap->pool.shift), 0, more);
	return true;
}

void dry_pages_free(struct dry_heap *heap, void *start, size_t pages)
{
	uint16_t *entry = dry_map_of(heap, start);
	char *run = start;
	size_t before;

	*entry = DRY_MAP_NONE;
	if (dry_map_free(entry[pages]) != 0)
		pages += run_remove(heap, run + (pages << heap->pool.shift), entry + pages);
	before = dry_map_free(entry[-1]);
	if (before != 0) {
		run -= before << heap->pool.shift;
		pages += run_remove(heap, run, entry - before);
	}
	run_insert(heap, run, pages);
}

char *dry_pool_add(struct dry_heap *heap, char *memory, char *end)
{
	const size_t page = (size_t)1 << heap->pool.shift;
	struct dry_pool *pool = &heap->pool;
	size_t pages;
	uint16_t *map;
	char *base;

	memory += -(uintptr_t)memory & (DRY_TINY_UNIT - 1);
	if (heap->pool.pools != 0) {
		pool = (struct dry_pool *)(void *)memory;
		memory += sizeof(*pool);
	}
	if (end - memory < (ptrdiff_t)page)
		return NULL;
	pages = (size_t)(end - memory) / (page + sizeof(*map));
	if (pages > DRY_TINY_MAX_PAGES)
		pages = DRY_TINY_MAX_PAGES;
	map = (uint16_t *)(void *)memory + 1;
	base = (char *)(((uintptr_t)(map + pages + 1) + page - 1) & -(uintptr_t)page);
	if (end - base < (ptrdiff_t)page)
		return NULL;
	if (pages > (size_t)(end - base) >> heap->pool.shift)
		pages = (size_t)(end - base) >> heap->pool.shift;
	memset(memory, DRY_MAP_NONE & 0xff, (pages + 2) * sizeof(*map));
	if (heap->pool.pools++ != 0) {
		pool->next = heap->pool.next;
		heap->pool.next = pool;
	}
	pool->shift = heap->pool.shift;
	pool->base = (uintptr_t)base;
	pool->bytes = pages << heap->pool.shift;
	pool->map = (uintptr_t)map - (pool->base >> heap->pool.shift) * sizeof(*map);
	run_insert(heap, base, pages);
	return base + pool->bytes;
}
