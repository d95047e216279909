/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Giving memory back. Dirty blocks are taken off their lists, oldest first, in
 * batches small enough that an allocation that needs them waits but a moment;
 * then purged without the lock; then put back clean. One thread purges at a time.
 */
#include "page/internal.h"
#include "port/probe.h"

/* Move dirty blocks no younger than `newest` to limbo, until there are `most` pages; pages moved. */
static size_t collect(struct dry_arena *arena, uint64_t newest, size_t most)
{
	unsigned which = (arena->max_order + 1u) * arena->nodes, order;
	size_t unit = dry_source_unit(&arena->source) >> arena->page_shift; /* 0: part of a page */
	unsigned least = unit != 0 ? dry_log2_floor(unit) : 0;
	uint32_t index;

	/* by order, biggest first, down to what can be purged; of one order by node */
	while (which-- > least * arena->nodes) {
		order = which / arena->nodes;
		while (arena->limbo_count < DRY_ARENA_LIMBO && arena->limbo_pages < most) {
			index = dry_lists(arena, which % arena->nodes)->tail[1][order];
			if (index == DRY_PAGE_NIL || arena->desc[index].block.age > newest)
				break;
			dry_buddy_unlink_locked(arena, index);
			arena->limbo[arena->limbo_count++] = (struct dry_arena_block){ index, order };
			arena->limbo_pages += UINT32_C(1) << order;
		}
	}
	return arena->limbo_pages;
}

static void settle(struct dry_arena *arena)
{
	uint32_t i, chunk, first;
	const struct dry_page *page;

	for (i = 0; i < arena->limbo_count; i++) {
		dry_buddy_put_locked(arena, arena->limbo[i].index, UINT32_C(1) << arena->limbo[i].order, false);
		chunk = arena->limbo[i].index >> arena->max_order;
		first = chunk << arena->max_order;
		page = &arena->desc[first];
		if (dry_page_kind(page) == DRY_PAGE_FREE && page->order == arena->max_order &&
		    (page->flags & DRY_PAGE_DIRTY) == 0) {
			dry_chunk_retire_locked(arena, chunk);
			/* Purged, it would still count; confined: no system call more than without. */
			if (arena->window && dry_port_is_scarce() && !dry_port_confined())
				dry_chunk_give_up_locked(arena, chunk);
		}
	}
	arena->limbo_count = 0;
	arena->purged += arena->limbo_pages;
	arena->limbo_pages = 0;
	dry_arena_recount_locked(arena);
}

/* Of a block that belongs to nobody else, and of whole pages of the array beside it. */
static void purge(const struct dry_arena *arena, struct dry_arena_block block)
{
	size_t bytes = ((size_t)1 << block.order) << arena->page_shift, side = bytes / 16 * arena->side;
	char *start = dry_arena_address(arena, block.index);

	DRY_PROBE_2(drystone, purge, (uintptr_t)start, (uint64_t)bytes);
	dry_source_purge(&arena->source, start, bytes);
	if (side >= dry_port_page_size()) /* as a block is aligned to its size, so is its part of the array */
		dry_port_purge((char *)arena->side_array.start + (size_t)block.index * (side >> block.order), side);
}

/* Purge blocks no younger than `newest`, until none is left or `most` pages are done. Lock held. */
static size_t purge_locked(struct dry_arena *arena, uint64_t newest, size_t most)
{
	size_t done = 0, batch;
	uint32_t i;

	while (done < most) {
		while (dry_arena_settles_locked(arena))
			;
		batch = collect(arena, newest, most - done);
		if (batch == 0)
			break;
		dry_lock_release(&arena->lock);
		/*
		 * Limbo belongs to this thread until settle(); others only read its counts. In a child of a fork in a handler that
		 * comes in between, it is empty (dry_arena_after_fork()).
		 */
		for (i = 0; i < __atomic_load_n(&arena->limbo_count, __ATOMIC_RELAXED); i++)
			purge(arena, arena->limbo[i]);
		dry_lock_acquire(&arena->lock);
		settle(arena);
		done += batch;
	}
	return done;
}

size_t dry_arena_decay(struct dry_arena *arena, unsigned age)
{
	size_t done = 0;

	if (!arena->owns_memory)
		return 0;
	dry_lock_acquire(&arena->lock);
	arena->tick++;
	arena->no_ahead = arena->no_huge = false;
	if (arena->tick >= age)
		done = purge_locked(arena, arena->tick - age, arena->free_dirty);
	dry_lock_release(&arena->lock);
	return done;
}

size_t dry_arena_balance(struct dry_arena *arena, size_t pages, size_t keep)
{
	size_t done = 0;

	if (!arena->owns_memory)
		return 0;
	dry_lock_acquire(&arena->lock);
	keep += arena->used / 4;
	if (arena->free_dirty > keep) {
		if (pages > arena->free_dirty - keep)
			pages = arena->free_dirty - keep;
		done = purge_locked(arena, arena->tick, pages);
	}
	dry_lock_release(&arena->lock);
	return done;
}

size_t dry_arena_purge_all_locked(struct dry_arena *arena)
{
	return arena->owns_memory ? purge_locked(arena, arena->tick, arena->free_dirty + arena->limbo_pages) : 0;
}

size_t dry_arena_purge_all(struct dry_arena *arena)
{
	size_t done;

	dry_lock_acquire(&arena->lock);
	done = dry_arena_purge_all_locked(arena);
	dry_lock_release(&arena->lock);
	return done;
}
