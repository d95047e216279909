/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Runs: handed out, given back, found from a pointer; and the map beside the pages. */
#include "base/annotate.h"
#include "base/compiler.h"
#include "page/huge.h"
#include "page/internal.h"

#define MANY_SLABS 16 /* of a cache: one more is a sixteenth */

/* ---- the map ------------------------------------------------------------ */

static void fill_map(struct dry_arena *arena, uint32_t index, uint32_t count, uint16_t value)
{
	unsigned shift = arena->page_shift - DRY_GRANULE_SHIFT;
	uint16_t *entry = arena->map + ((size_t)index << shift);
	uint16_t *end = entry + ((size_t)count << shift);

	while (entry < end)
		*entry++ = value;
}

/* All entries of a run are equal, so the first tells whether there is anything to clear. */
static void clear_map(struct dry_arena *arena, uint32_t index, uint32_t count)
{
	if (arena->map[(size_t)index << (arena->page_shift - DRY_GRANULE_SHIFT)] != 0)
		fill_map(arena, index, count, 0);
}

void dry_arena_set_map(struct dry_arena *arena, const struct dry_page *page, uint16_t value)
{
	fill_map(arena, dry_arena_index_of(arena, page), page->count, value);
}

/* ---- runs --------------------------------------------------------------- */

/* The best free block of a node of at least `order`: dirty before clean, then small before big. */
static uint32_t find_block(struct dry_arena *arena, unsigned order, unsigned node)
{
	const struct dry_arena_lists *lists = dry_lists(arena, node);
	uint32_t orders;

	orders = lists->nonempty[1] >> order;
	if (orders != 0)
		return lists->head[1][order + dry_ctz32(orders)];
	orders = lists->nonempty[0] >> order;
	if (orders != 0)
		return lists->head[0][order + dry_ctz32(orders)];
	return DRY_PAGE_NIL;
}

/*
 * The node has no block free: get one more chunk for it, else look at the other nodes. While another thread
 * purges, pages may be in limbo; only when there are none is it an end.
 */
static DRY_SLOW uint32_t find_more(struct dry_arena *arena, unsigned order, unsigned node)
{
	uint32_t index;

	while ((index = find_block(arena, order, node)) == DRY_PAGE_NIL) {
		if (dry_arena_grow_locked(arena, order, node) || dry_arena_grow_other_locked(arena, order, node))
			continue;
		for (unsigned other = 0; other < arena->nodes && index == DRY_PAGE_NIL; other++)
			index = find_block(arena, order, other);
		if (index != DRY_PAGE_NIL || !dry_arena_settles_locked(arena))
			break;
	}
	return index;
}

static DRY_SLOW uint32_t find_wide(struct dry_arena *arena, uint32_t count, uint32_t align_pages, unsigned node)
{
	uint32_t index;

	do
		index = dry_wide_find_locked(arena, count, align_pages, node);
	while (index == DRY_PAGE_NIL && dry_arena_settles_locked(arena));
	return index;
}

DRY_FAST uint32_t find_free(struct dry_arena *arena, uint32_t count, uint32_t align_pages, unsigned node)
{
	unsigned home = node < arena->nodes ? node : 0, order = dry_log2_ceil(count);
	unsigned block = align_pages > UINT32_C(1) << order ? dry_log2_ceil(align_pages) : order;
	uint32_t index = DRY_LIKELY(block <= arena->max_order) ? find_block(arena, block, home) : DRY_PAGE_NIL;

	if (DRY_UNLIKELY(index == DRY_PAGE_NIL) && count <= dry_arena_room_locked(arena)) {
		index = block <= arena->max_order ? find_more(arena, block, home) : DRY_PAGE_NIL;
		if (index == DRY_PAGE_NIL && (block > arena->max_order || !arena->owns_memory))
			index = find_wide(arena, count, align_pages, home);
	}
	return index;
}

/* Looked at last, because the lock may have been dropped. */
DRY_FAST bool may_take(struct dry_arena *arena, uint32_t index, uint32_t count)
{
	return count <= dry_arena_room_locked(arena) && dry_buddy_afford_locked(arena, index, count);
}

/* What is free here may be all that it takes to stay within the process's limit. */
static DRY_SLOW uint32_t purge_and_find(struct dry_arena *arena, uint32_t count, uint32_t align_pages, unsigned node)
{
	uint32_t index = DRY_PAGE_NIL;
	size_t purged = 1;

	while (purged != 0 && count <= dry_arena_room_locked(arena)) {
		purged = dry_arena_purge_all_locked(arena); /* 0: another thread may have purged what there was */
		index = find_free(arena, count, align_pages, node);
		if (index == DRY_PAGE_NIL || may_take(arena, index, count))
			return index;
	}
	return DRY_PAGE_NIL;
}

/* A block, or several side by side, become a run. */
static struct dry_page *hand_out_locked(struct dry_arena *arena, uint32_t index, uint32_t count, unsigned node)
{
	struct dry_page *page = &arena->desc[index];

	dry_buddy_take_locked(arena, index, count);
	page->order = (uint8_t)dry_log2_ceil(count);
	if (!arena->owns_memory)
		page->node = (uint8_t)node;
	dry_page_set_count(page, count);
	dry_page_set_kind(page, DRY_PAGE_RUN);
	return page;
}

static struct dry_page *annotated(const struct dry_arena *arena, struct dry_page *page)
{
	if (DRY_UNLIKELY(dry_annotate != NULL) && page != NULL)
		dry_annotate->opened(dry_arena_start(arena, page), (size_t)page->count << arena->page_shift);
	return page;
}

/*
 * Of a block that a slab is to be taken of: how many pages get memory at once; 0: none before they are touched. What is beyond
 * the slab is dirty then, and so the next to be taken (docs/design/memory-return.md). Runs are blocks of which a program may touch
 * little.
 *   huge   once the heap has as much, in a child of a fork of its own: one fault instead of 512; not for big slabs, which might
 *          not find room in the rest, nor for a cache's first, which may stay the only one, of one object
 *   ahead  while a cache grows, whose slabs are going to be used: eight faults take 1.6 times as long as eight pages at once
 */
static uint32_t ahead_locked(const struct dry_arena *arena, uint32_t index, uint32_t count, size_t slabs)
{
	const struct dry_page *block = &arena->desc[index];

	if (block->flags & DRY_PAGE_DIRTY)
		return 0;
	if (slabs != 0 && !arena->no_huge && count <= arena->huge / 16 && block->count >= arena->huge &&
	    arena->used + arena->free_dirty >= arena->huge + arena->inherited)
		return arena->huge;
	if (slabs < MANY_SLABS || arena->ahead == 0 || arena->no_ahead)
		return 0;
	return count < arena->ahead && block->count >= arena->ahead ? arena->ahead : count;
}

/*
 * What is taken ahead counts as used until it has memory, which takes milliseconds, and nobody waits for it: near a limit others
 * would be refused what is free a moment later.
 */
static bool is_far_from_limits_locked(const struct dry_arena *arena, uint32_t ahead)
{
	size_t several = (size_t)ahead * 16;

	return several <= dry_arena_room_locked(arena) && dry_budget_has_room(several << arena->page_shift);
}

static DRY_NOINLINE struct dry_page *populate(struct dry_arena *arena, struct dry_page *page, uint32_t count, bool huge)
{
	void *start = dry_arena_start(arena, page);
	size_t bytes = (size_t)page->count << arena->page_shift;
	bool done = huge ? dry_huge_is_affordable() && dry_port_populate_huge(start, bytes) : dry_port_populate(start, bytes);

	dry_arena_trim_run(arena, page, count);
	if (!done) {
		dry_lock_acquire(&arena->lock);
		*(huge ? &arena->no_huge : &arena->no_ahead) = true;
		dry_lock_release(&arena->lock);
	}
	return annotated(arena, page);
}

/* slabs: so many the cache has. */
DRY_FAST struct dry_page *alloc(struct dry_arena *arena, uint32_t count, uint32_t align_pages, unsigned node, bool slab,
				size_t slabs)
{
	struct dry_page *page = NULL;
	uint32_t index, ahead = 0, huge;

	dry_lock_acquire(&arena->lock);
	index = find_free(arena, count, align_pages, node);
	huge = arena->huge;
	if (slab && DRY_LIKELY(index != DRY_PAGE_NIL))
		ahead = ahead_locked(arena, index, count, slabs);
	if (ahead > count && !is_far_from_limits_locked(arena, ahead))
		ahead = 0;
	/* the child of a vfork() asks for nothing: its parent is not refused it */
	if (ahead != 0 && DRY_UNLIKELY(dry_port_confined() || !may_take(arena, index, ahead)))
		ahead = 0;
	if (ahead == 0 && index != DRY_PAGE_NIL && DRY_UNLIKELY(!may_take(arena, index, count)))
		index = purge_and_find(arena, count, align_pages, node);
	if (DRY_LIKELY(index != DRY_PAGE_NIL))
		page = hand_out_locked(arena, index, ahead != 0 ? ahead : count, node);
	dry_lock_release(&arena->lock);
	if (page != NULL && ahead != 0)
		return populate(arena, page, count, ahead == huge);
	return annotated(arena, page);
}

struct dry_page *dry_arena_alloc(struct dry_arena *arena, uint32_t count, uint32_t align_pages, unsigned node)
{
	return count != 0 ? alloc(arena, count, align_pages, node, false, 0) : NULL;
}

struct dry_page *dry_arena_alloc_slab(struct dry_arena *arena, unsigned order, unsigned node, size_t slabs)
{
	return alloc(arena, UINT32_C(1) << order, UINT32_C(1) << order, node, true, slabs);
}

bool dry_arena_charge(struct dry_arena *arena, ptrdiff_t pages)
{
	bool fits;

	dry_lock_acquire(&arena->lock);
	fits = pages <= 0 || (size_t)pages <= dry_arena_room_locked(arena);
	if (fits)
		arena->charged += (size_t)pages;
	dry_lock_release(&arena->lock);
	return fits;
}

/* Before the pages are anybody else's. */
static void annotate_free(const struct dry_arena *arena, uint32_t index, uint32_t count)
{
	if (DRY_UNLIKELY(dry_annotate != NULL))
		dry_annotate->closed(dry_arena_address(arena, index), (size_t)count << arena->page_shift);
}

void dry_arena_keep(struct dry_arena *arena, struct dry_page *page)
{
	clear_map(arena, dry_arena_index_of(arena, page), page->count);
	dry_page_set_kind(page, DRY_PAGE_KEPT);
}

void dry_arena_free(struct dry_arena *arena, struct dry_page *page)
{
	uint32_t index = dry_arena_index_of(arena, page), count = page->count;

	clear_map(arena, index, count);
	annotate_free(arena, index, count);
	dry_lock_acquire(&arena->lock);
	dry_page_set_kind(page, DRY_PAGE_NONE);
	arena->used -= count;
	dry_buddy_put_locked(arena, index, count, true);
	if (DRY_UNLIKELY(arena->free_dirty > arena->give_at) && arena->window && dry_port_is_tight())
		dry_arena_give_excess_locked(arena);
	dry_lock_release(&arena->lock);
}

void dry_arena_trim_run(struct dry_arena *arena, struct dry_page *page, uint32_t count)
{
	uint32_t index = dry_arena_index_of(arena, page), excess;

	if (count == 0 || count >= page->count)
		return;
	excess = page->count - count;
	clear_map(arena, index + count, excess);
	annotate_free(arena, index + count, excess);
	dry_lock_acquire(&arena->lock);
	dry_page_set_count(page, count);
	page->order = (uint8_t)dry_log2_ceil(count);
	arena->used -= excess;
	dry_buddy_put_locked(arena, index + count, excess, true);
	dry_lock_release(&arena->lock);
}

/*
 * The first page of the run or block around a page lies at the page's position
 * rounded down to some power of two, and every nearer such position is inside
 * of it, hence NONE; or, for a run of several chunks, at the start of a chunk before
 * it. So the first descriptor found that is not NONE decides.
 */
struct dry_page *dry_arena_run_of(const struct dry_arena *arena, const void *ptr)
{
	uint32_t index, start = 0;
	unsigned order;

	if (!dry_arena_contains(arena, ptr))
		return NULL;
	index = dry_arena_index(arena, ptr);
	/* acquire: pairs with the release in dry_arena_grow_locked() */
	if (index >= atomic_load_explicit(&arena->committed, memory_order_acquire))
		return NULL;
	for (order = 0;; order++) {
		struct dry_page *page;

		start = order <= arena->max_order ? dry_arena_block_start(arena, index, order) : start - dry_chunk_pages(arena);
		if (start > index)
			break; /* before the first page */
		page = &arena->desc[start];
		unsigned kind = dry_page_kind(page);
		if (kind == DRY_PAGE_NONE)
			continue;
		if (kind == DRY_PAGE_FREE || kind == DRY_PAGE_KEPT || index - start >= dry_page_count(page))
			break;
		return page;
	}
	return NULL;
}
