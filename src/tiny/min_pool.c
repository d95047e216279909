/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The pool that a workload needs at most; the proof stands in drystone/tiny.h. */
#include "base/bits.h"
#include "base/memory.h"
#include "tiny/pages.h"
#include "tiny/reports.h"

enum { SHIFT_MOST = 16 }; /* log2 of the largest page */

/* Sums over all kinds, in pages; request: the largest g. */
struct need {
	struct dry_heap *heap;
	uint64_t used, runs, request;
};

static void need_request(struct need *need, size_t pages, size_t align)
{
	uint64_t least = pages + (align >> need->heap->pool.shift), request = 1;

	least -= align >> need->heap->pool.shift != 0;
	while (request < least)
		request *= 2;
	if (request > need->request)
		need->request = request;
}

static void need_class(struct need *need, size_t size, size_t align, void (*ctor)(void *, void *), size_t count)
{
	struct dry_class class;
	size_t least, room, grown;
	uint64_t slabs, page = (uint64_t)1 << need->heap->pool.shift;

	if (count == 0)
		return;
	need->heap->classes = NULL;
	dry_tiny_class_init(&class, need->heap, size, align, ctor);
	least = dry_tiny_slab_pages(&class, 1);
	room = dry_tiny_slab_room(&class, least);
	slabs = (count - 1) / room;
	grown = dry_tiny_slab_pages(&class, (count - 1) / 4 + 1);
	if (grown > dry_tiny_slab_most(&class))
		grown = dry_tiny_slab_most(&class);
	need->used += ((count - 1) * (uint64_t)class.slot + slabs * (class.first + page)) / page + 1 + grown;
	need->runs += slabs + 1;
	need_request(need, least, class.align);
}

static void need_blocks(struct need *need, size_t size, size_t align, size_t count)
{
	size_t page = (size_t)1 << need->heap->pool.shift, pages;

	size += size == 0;
	if (align > DRY_TINY_UNIT && align <= page && size <= page) {
		size = size > align ? size : align;
		size = size > 1 ? (size_t)2 << dry_log2_size(size - 1) : 1;
		align = 0;
	}
	/* a class may be up to a quarter larger, or a number of pages: both are counted */
	if (align <= DRY_TINY_UNIT && size < page * 4) {
		size_t slot = dry_tiny_class_size(size);

		if ((slot & (page - 1)) != 0) {
			need_class(need, slot, dry_is_pow2(slot) ? slot : DRY_TINY_UNIT, NULL, count);
			return;
		}
	}
	if (align <= DRY_TINY_UNIT && size <= 4096 && dry_is_pow2(size))
		align = size;
	pages = dry_pages_for(need->heap, size);
	need->used += (uint64_t)pages * count;
	need->runs += count;
	need_request(need, pages, align);
}

/*
 * No pool has room for these, or no cache can be made: what is left keeps all products and sums within 64 bits, as no sum grows
 * beyond what a pool has before the next kind is added.
 */
static bool hopeless(const struct dry_workload *kind)
{
	const uint64_t most = (uint64_t)DRY_TINY_MAX_PAGES << SHIFT_MOST;
	size_t align = kind->align;

	if ((align & (align - 1)) != 0)
		return true;
	if (!kind->blocks && (kind->size - 1 >= DRY_TINY_SIZE_MOST || align > DRY_TINY_ALIGN_MOST ||
			      (kind->flags & ~(DRY_CACHE_HWALIGN | DRY_CACHE_NO_MERGE)) != 0))
		return true;
	return kind->count != 0 && (kind->size > most || align > most || kind->count > most);
}

static void constructor(void *object, void *arg)
{
	(void)arg;
	(void)object;
}

static uint64_t pages_needed(struct dry_heap *heap, const struct dry_workload *kinds, size_t n)
{
	struct need need = { .heap = heap, .request = 1 };
	size_t caches = 0;

	for (size_t i = 0; i < n; i++) {
		size_t align = kinds[i].align;

		if (hopeless(&kinds[i]) || need.used > DRY_TINY_MAX_PAGES)
			return UINT32_MAX;
		if (kinds[i].blocks) {
			need_blocks(&need, kinds[i].size, align, kinds[i].count);
			continue;
		}
		if (align == 0)
			align = kinds[i].size % 16 == 0 ? 16 : 8;
		if ((kinds[i].flags & DRY_CACHE_HWALIGN) != 0 && align < 64)
			align = 64;
		need_class(&need, kinds[i].size, align, kinds[i].constructed ? constructor : NULL, kinds[i].count);
		/* its name: of any length, so in any class */
		need_blocks(&need, sizeof(struct dry_cache) + 64, 0, 1);
		caches++;
	}
	/* a class for each kind, one for each size of names, and one that is being compared with its likes */
	need_class(&need, sizeof(struct dry_class), sizeof(void *), NULL, n + (caches < 8 ? caches : 8) + 1);
	return need.used + (need.runs + 1) * (need.request - 1);
}

size_t dry_heap_min_pool(const struct dry_workload *kinds, size_t n)
{
	struct dry_heap heap;
	uint64_t least = 2048;

	memset(&heap, 0, sizeof(heap));
	for (heap.pool.shift = DRY_TINY_PAGE_SHIFT; heap.pool.shift <= SHIFT_MOST; heap.pool.shift++) {
		uint64_t pages = pages_needed(&heap, kinds, n), bytes = (pages + 1) << heap.pool.shift;

		/* with the map, the heap itself, and what it may be misaligned by */
		bytes += (pages + 2) * sizeof(uint16_t) + sizeof(heap) + dry_tiny_kept(heap.pool.shift) * sizeof(void *) + 64;
		/* a pool of less is laid out in the pages before, in which more were needed */
		if (bytes < least)
			bytes = least;
		least = (uint64_t)(DRY_TINY_MAX_PAGES + 1) << heap.pool.shift;
		if (bytes >> heap.pool.shift <= DRY_TINY_MAX_PAGES && bytes <= SIZE_MAX)
			return (size_t)bytes;
	}
	return 0;
}
