/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The buddy allocator over the pages of an arena. Blocks are split from the
 * low end, so that the first pages of a chunk are the ones that stay warm.
 *
 * "Position" below is the page index plus the skew: the number of the page
 * counted from a chunk boundary, by which blocks are aligned.
 */
#include "page/internal.h"

/* ---- free lists --------------------------------------------------------- */

static void push(struct dry_arena *arena, uint32_t index, unsigned order, uint32_t clean)
{
	struct dry_page *page = &arena->desc[index];
	bool dirty = clean != UINT32_C(1) << order;
	unsigned node = dry_node_of(arena, index);
	struct dry_arena_lists *lists = dry_lists(arena, node);
	uint32_t head = lists->head[dirty][order];

	dry_page_set_kind(page, DRY_PAGE_FREE);
	page->order = (uint8_t)order;
	page->node = (uint8_t)node;
	page->flags = dirty ? DRY_PAGE_DIRTY : 0;
	dry_page_set_count(page, UINT32_C(1) << order);
	page->next = head;
	page->prev = DRY_PAGE_NIL;
	page->block.age = arena->tick;
	page->block.clean = clean;
	if (head != DRY_PAGE_NIL) {
		arena->desc[head].prev = index;
	} else {
		lists->tail[dirty][order] = index;
		lists->nonempty[dirty] |= UINT32_C(1) << order;
	}
	lists->head[dirty][order] = index;
	arena->dirty_clean += dirty ? clean : 0;
	*(dirty ? &arena->free_dirty : &arena->free_clean) += page->count;
}

void dry_buddy_unlink_locked(struct dry_arena *arena, uint32_t index)
{
	struct dry_page *page = &arena->desc[index];
	struct dry_arena_lists *lists = dry_lists(arena, page->node);
	unsigned dirty = page->flags & DRY_PAGE_DIRTY, order = page->order;

	if (page->prev != DRY_PAGE_NIL)
		arena->desc[page->prev].next = page->next;
	else
		lists->head[dirty][order] = page->next;
	if (page->next != DRY_PAGE_NIL)
		arena->desc[page->next].prev = page->prev;
	else
		lists->tail[dirty][order] = page->prev;
	if (lists->head[dirty][order] == DRY_PAGE_NIL)
		lists->nonempty[dirty] &= ~(UINT32_C(1) << order);
	arena->dirty_clean -= dirty ? page->block.clean : 0;
	*(dirty ? &arena->free_dirty : &arena->free_clean) -= page->count;
	dry_page_set_kind(page, DRY_PAGE_NONE);
}

/* ---- putting back ------------------------------------------------------- */

/* Largest order of a block that begins at `index` and lies within `count` pages. */
static unsigned fitting_order(const struct dry_arena *arena, uint32_t index, uint32_t count)
{
	unsigned order = dry_log2_floor(count);
	uint32_t position = index + arena->skew;

	if (position != 0 && dry_ctz32(position) < order)
		order = dry_ctz32(position);
	return order < arena->max_order ? order : arena->max_order;
}

static void put_block(struct dry_arena *arena, uint32_t index, unsigned order, bool dirty)
{
	uint32_t clean = dirty ? 0 : UINT32_C(1) << order;
	uint32_t committed = dry_arena_committed_locked(arena);

	for (; order < arena->max_order; order++) {
		/* Before the first page of a user's memory this wraps, and is above `committed`. */
		uint32_t other = ((index + arena->skew) ^ UINT32_C(1) << order) - arena->skew;
		const struct dry_page *buddy;

		if (other >= committed)
			break;
		buddy = &arena->desc[other];
		if (dry_page_kind(buddy) != DRY_PAGE_FREE || buddy->order != order)
			break;
		clean += buddy->block.clean;
		dry_buddy_unlink_locked(arena, other);
		if (other < index)
			index = other;
	}
	push(arena, index, order, clean);
}

void dry_buddy_put_locked(struct dry_arena *arena, uint32_t index, uint32_t count, bool dirty)
{
	while (count != 0) {
		unsigned order = fitting_order(arena, index, count);

		put_block(arena, index, order, dirty);
		index += UINT32_C(1) << order;
		count -= UINT32_C(1) << order;
	}
}

/* What of `clean` pages among `total` is to be expected among `count` of them. */
static uint32_t share_of(uint32_t clean, uint32_t count, uint32_t total)
{
	return (uint32_t)((uint64_t)clean * count / total);
}

void dry_buddy_put_apart_locked(struct dry_arena *arena, uint32_t index, uint32_t count, uint32_t clean, uint32_t total)
{
	while (count != 0) {
		unsigned order = fitting_order(arena, index, count);

		push(arena, index, order, share_of(clean, UINT32_C(1) << order, total));
		index += UINT32_C(1) << order;
		count -= UINT32_C(1) << order;
	}
}

/* ---- taking ------------------------------------------------------------ */

uint32_t dry_buddy_absent_locked(const struct dry_arena *arena, uint32_t index, uint32_t count)
{
	uint32_t done, part, absent = 0;

	for (done = 0; done < count; done += part) {
		const struct dry_page *block = &arena->desc[index + done];

		part = block->count < count - done ? block->count : count - done;
		absent += share_of(block->block.clean, part, block->count);
	}
	return absent;
}

bool dry_buddy_afford_locked(struct dry_arena *arena, uint32_t index, uint32_t count)
{
	if (dry_arena_is_counted(arena)) {
		uint32_t more = dry_buddy_absent_locked(arena, index, count);

		if (DRY_UNLIKELY(!dry_budget_take((size_t)more << arena->page_shift)))
			return false;
		arena->counted += more;
	}
	return true;
}

void dry_buddy_take_locked(struct dry_arena *arena, uint32_t index, uint32_t count)
{
	uint32_t done, part, size, share, clean = 0;
	uint8_t flags = 0;

	for (done = 0; done < count; done += part) {
		const struct dry_page *block = &arena->desc[index + done];

		size = block->count;
		share = block->block.clean;
		part = size < count - done ? size : count - done;
		flags |= block->flags;
		clean += share_of(share, part, size);
		dry_buddy_unlink_locked(arena, index + done);
		/* The buddies of these pieces hold pages of the run: nothing to merge. */
		dry_buddy_put_apart_locked(arena, index + count, size - part, share, size);
	}
	arena->desc[index].flags = flags;
	arena->used += count;
	dry_arena_recount_locked(arena);
	if (clean != 0) /* relaxed: a hint */
		atomic_fetch_add_explicit(&arena->fresh, clean, memory_order_relaxed);
}
