/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The equations of an arena, as page.h states them. */
#include "page/internal.h"

static const char *check_block(const struct dry_arena *arena, uint32_t index, unsigned order, unsigned dirty)
{
	const struct dry_page *page = &arena->desc[index];
	uint32_t committed = dry_arena_committed_locked(arena), other;
	const struct dry_page *buddy;

	if (page->kind != DRY_PAGE_FREE)
		return "page: a block on a free list is not free";
	if (page->order != order || page->count != UINT32_C(1) << order || (page->flags & DRY_PAGE_DIRTY) != dirty)
		return "page: a block on the wrong free list";
	if (((index + arena->skew) & (page->count - 1)) != 0 || index + page->count > committed)
		return "page: place of a free block";
	if (page->node != dry_node_of(arena, index))
		return "page: node of a free block";
	other = ((index + arena->skew) ^ page->count) - arena->skew;
	if (order == arena->max_order || other >= committed)
		return NULL;
	buddy = &arena->desc[other];
	if (buddy->kind == DRY_PAGE_FREE && buddy->order == order)
		return "page: two free buddies";
	return NULL;
}

static const char *check_list(struct dry_arena *arena, unsigned node, unsigned dirty, unsigned order, size_t *pages, size_t *clean)
{
	const struct dry_arena_lists *lists = dry_lists(arena, node);
	uint32_t index = lists->head[dirty][order], previous = DRY_PAGE_NIL;
	uint64_t age = arena->tick;
	const char *problem;

	if ((index != DRY_PAGE_NIL) != ((lists->nonempty[dirty] >> order & 1) != 0))
		return "page: mask of free lists";
	for (; index != DRY_PAGE_NIL; index = arena->desc[index].next) {
		const struct dry_page *page = &arena->desc[index];

		problem = check_block(arena, index, order, dirty);
		if (problem != NULL)
			return problem;
		if (page->prev != previous || page->node != node)
			return "page: links of a free list";
		if (page->block.age > age)
			return "page: age along a free list";
		age = page->block.age;
		if (page->block.clean > page->count || (page->block.clean == page->count) == (dirty != 0))
			return "page: clean pages of a block";
		previous = index;
		*pages += page->count;
		*clean += dirty ? page->block.clean : 0;
	}
	return lists->tail[dirty][order] == previous ? NULL : "page: tail of a free list";
}

static const char *check_lists(struct dry_arena *arena)
{
	size_t pages[2] = { (size_t)arena->retired << arena->max_order, 0 }, clean = 0;
	unsigned lists, dirty, order;
	const char *problem;

	for (lists = 0; lists < 2u * arena->nodes; lists++)
		for (order = 0; order <= DRY_CHUNK_MAX_ORDER; order++) {
			dirty = lists % 2;
			problem = check_list(arena, lists / 2, dirty, order, &pages[dirty], &clean);
			if (problem != NULL)
				return problem;
		}
	if (pages[0] != arena->free_clean)
		return "page: free_clean";
	if (clean != arena->dirty_clean)
		return "page: dirty_clean";
	if (pages[1] != arena->free_dirty)
		return "page: free_dirty";
	return NULL;
}

static bool map_is_clear(const struct dry_arena *arena, uint32_t index, uint32_t count)
{
	unsigned shift = arena->page_shift - DRY_GRANULE_SHIFT;
	size_t i = (size_t)index << shift, end = (size_t)(index + count) << shift;

	while (i < end && arena->map[i] == 0)
		i++;
	return i == end;
}

/* Walk over all pages by runs and blocks: they lie side by side without overlap. */
static const char *check_pages(const struct dry_arena *arena)
{
	uint32_t committed = dry_arena_committed_locked(arena), index, i;
	size_t used = 0, nowhere = 0, retired = 0, absent = 0;

	for (index = 0; index < committed;) {
		const struct dry_page *page = &arena->desc[index];

		if (arena->owns_memory && (index & (dry_chunk_pages(arena) - 1)) == 0 &&
		    dry_chunk_is_retired(arena, index >> arena->max_order)) {
			if (!map_is_clear(arena, index, dry_chunk_pages(arena)))
				return "page: map of a retired chunk";
			retired++;
			absent += dry_chunk_pages(arena);
			index += dry_chunk_pages(arena);
			continue;
		}
		if (page->kind == DRY_PAGE_NONE) {
			nowhere++;
			index++;
			continue;
		}
		if (page->count == 0 || page->count > committed - index)
			return "page: count of a run";
		for (i = 1; i < page->count; i++)
			if (page[i].kind != DRY_PAGE_NONE)
				return "page: a descriptor inside of a run";
		if (page->kind != DRY_PAGE_FREE)
			used += page->count;
		else if (!map_is_clear(arena, index, page->count))
			return "page: map of a free block";
		else
			absent += page->block.clean;
		index += page->count;
	}
	if (used != arena->used)
		return "page: used";
	if (nowhere != arena->limbo_pages + arena->lost)
		return "page: pages that belong to nothing";
	if (retired != arena->retired)
		return "page: retired";
	if (absent != dry_arena_absent_locked(arena))
		return "page: absent";
	return NULL;
}

const char *dry_arena_check(struct dry_arena *arena)
{
	const char *problem = NULL;

	dry_lock_acquire(&arena->lock);
	if (arena->used + arena->free_dirty + arena->free_clean + arena->limbo_pages + arena->lost !=
	    dry_arena_committed_locked(arena))
		problem = "page: used + free != committed";
	else if (arena->used + arena->charged > arena->limit_pages)
		problem = "page: limit";
	else if (arena->reserved < dry_arena_committed_locked(arena) || arena->reserved > arena->pages)
		problem = "page: reserved";
	if (problem == NULL)
		problem = check_lists(arena);
	if (problem == NULL)
		problem = check_pages(arena);
	dry_lock_release(&arena->lock);
	return problem;
}
