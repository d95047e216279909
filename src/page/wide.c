/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Runs of more than a chunk, or aligned to more, for heaps that have nothing but their arena. They begin where a chunk
 * does, and take free chunks side by side: whole ones, and the first pages of the last. Over memory of a user smaller ones, too,
 * where no block holds them: they begin where a block of theirs would. And runs that grow where they are.
 */
#include "base/annotate.h"
#include "page/internal.h"

/* Retired, or given up. */
static bool is_idle(const struct dry_arena *arena, uint32_t chunk)
{
	return dry_chunk_is_retired(arena, chunk) || dry_chunk_is_gone(arena, chunk);
}

/* Free pages from `index` on, as far as one look tells: a block, an idle chunk, or what was never grown. 0: in use. */
static uint32_t free_at(const struct dry_arena *arena, uint32_t index)
{
	const struct dry_page *page = &arena->desc[index];

	if (index >= dry_arena_committed_locked(arena))
		return index - dry_arena_committed_locked(arena) < arena->missing ? 0 : arena->pages - index;
	if (arena->owns_memory && index % dry_chunk_pages(arena) == 0 && is_idle(arena, index >> arena->max_order))
		return dry_chunk_pages(arena);
	return dry_page_kind(page) == DRY_PAGE_FREE ? page->count : 0;
}

/* Free pages from `index` on; no more than needed to have `count` are looked at. */
static uint32_t free_from(const struct dry_arena *arena, uint32_t index, uint32_t count)
{
	uint32_t found = 0, more;

	while (found < count && index + found < arena->pages && (more = free_at(arena, index + found)) != 0)
		found += more;
	return found;
}

/* Make a free block of an idle chunk, and leave another as it is. false: no memory, or not there. */
static bool wake(struct dry_arena *arena, uint32_t chunk, unsigned node)
{
	if (dry_chunk_is_retired(arena, chunk))
		dry_chunk_revive_locked(arena, chunk);
	return !dry_chunk_is_gone(arena, chunk) || dry_chunk_regain_locked(arena, chunk, node) == 0;
}

/* Make free blocks of pages that free_from() has found. false: no memory, or not there. */
static bool make_blocks(struct dry_arena *arena, uint32_t index, uint32_t count, unsigned node)
{
	uint32_t chunk = dry_chunk_pages(arena), at;

	while (dry_arena_committed_locked(arena) < index + count)
		if (!dry_arena_extend_locked(arena, arena->max_order, node))
			return false;
	for (at = dry_round_up(index, chunk); arena->owns_memory && at < index + count; at += chunk)
		if (!wake(arena, at >> arena->max_order, node))
			return false;
	return free_from(arena, index, count) >= count;
}

uint32_t dry_wide_find_locked(struct dry_arena *arena, uint32_t count, uint32_t align_pages, unsigned node)
{
	/* what dry_arena_run_of() relies on */
	unsigned order = dry_log2_ceil(count);
	uint32_t step = UINT32_C(1) << (order < arena->max_order ? order : arena->max_order);
	uint32_t index = -arena->skew & (step - 1), found;
	uintptr_t mask = ((uintptr_t)align_pages << arena->page_shift) - 1;

	for (; index < arena->pages && count <= arena->pages - index; index += (found / step + 1) * step) {
		found = 0;
		if (((uintptr_t)dry_arena_address(arena, index) & mask) != 0)
			continue;
		found = free_from(arena, index, count);
		if (found >= count && make_blocks(arena, index, count, node))
			return index;
		/* It goes on behind what was seen to be others', and is as it was where there is no memory. */
		if (found >= count && (found = free_from(arena, index, count)) >= count)
			return DRY_PAGE_NIL;
	}
	return DRY_PAGE_NIL;
}

bool dry_arena_extend_run(struct dry_arena *arena, struct dry_page *page, uint32_t count)
{
	uint32_t index = dry_arena_index_of(arena, page), more = count - page->count, end = index + page->count;
	unsigned order = dry_log2_ceil(count);
	bool done = false;

	/* what dry_arena_run_of() relies on */
	if (dry_arena_block_start(arena, index, order < arena->max_order ? order : arena->max_order) != index)
		return false;
	dry_lock_acquire(&arena->lock);
	if (more <= dry_arena_room_locked(arena) && free_from(arena, end, more) >= more &&
	    make_blocks(arena, end, more, page->node) && dry_buddy_afford_locked(arena, end, more)) {
		dry_buddy_take_locked(arena, end, more);
		page->order = (uint8_t)order;
		dry_page_set_count(page, count);
		done = true;
	}
	dry_lock_release(&arena->lock);
	if (DRY_UNLIKELY(dry_annotate != NULL) && done)
		dry_annotate->opened(dry_arena_address(arena, end), (size_t)more << arena->page_shift);
	return done;
}
