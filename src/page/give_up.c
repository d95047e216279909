/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What an arena does not use goes to others where a limit counts it: what it has reserved ahead, then chunks that are wholly free.
 * Such a chunk is lost, as if others had mapped it; its place is remembered, and asked for first when the arena grows.
 */
#include "base/error.h"
#include "page/internal.h"

/* Up to `size` bytes from the end of the reservation, which no page was taken from; those of a whole reservation all or none. */
static size_t give_reserved_locked(struct dry_arena *arena, size_t size)
{
	uint32_t count = (uint32_t)(dry_round_up(size, DRY_CHUNK_SIZE) >> arena->page_shift);
	uint32_t unused = arena->reserved - dry_arena_committed_locked(arena);

	if (arena->window && count > unused)
		count = unused;
	if (arena->missing != 0) /* there is the rest of one chunk, for the next page */
		count = 0;
	if (count > unused || count == 0)
		return 0;
	arena->reserved -= count;
	arena->ready = false;
	if (!arena->window)
		arena->pages = arena->reserved;
	dry_source_release(&arena->source, dry_arena_address(arena, arena->reserved), (size_t)count << arena->page_shift);
	return (size_t)count << arena->page_shift;
}

/* Whether nothing lies in it, and all of it is ours. */
static bool is_free(const struct dry_arena *arena, uint32_t chunk)
{
	const struct dry_page *page = &arena->desc[chunk << arena->max_order];

	return dry_chunk_is_retired(arena, chunk) || (dry_chunk_is_whole(arena, chunk) && dry_page_kind(page) == DRY_PAGE_FREE &&
						      page->order == arena->max_order);
}

void dry_chunk_give_up_locked(struct dry_arena *arena, uint32_t chunk)
{
	arena->retired--;
	arena->free_clean -= dry_chunk_pages(arena);
	*dry_chunk(arena, chunk) = DRY_CHUNK_GONE;
	arena->lost += dry_chunk_pages(arena);
	arena->gone++;
	dry_port_release(dry_arena_address(arena, chunk << arena->max_order), DRY_CHUNK_SIZE);
}

/* The last ones first: the first are those that are taken again first. */
static size_t give_chunks_locked(struct dry_arena *arena, size_t size)
{
	uint32_t chunk = dry_arena_committed_locked(arena) >> arena->max_order;
	size_t given = 0;

	while (given < size && chunk-- != 0) {
		if (!is_free(arena, chunk))
			continue;
		if (!dry_chunk_is_retired(arena, chunk))
			dry_chunk_retire_locked(arena, chunk);
		dry_chunk_give_up_locked(arena, chunk);
		given += DRY_CHUNK_SIZE;
	}
	dry_arena_recount_locked(arena);
	return given;
}

bool dry_arena_give_up(struct dry_arena *arena, size_t size)
{
	bool settled = false;
	size_t given;

	if (!arena->owns_memory || size > (size_t)arena->pages << arena->page_shift)
		return false;
	dry_lock_acquire(&arena->lock);
	given = give_reserved_locked(arena, size);
	if (arena->window && given < size)
		given += give_chunks_locked(arena, size - given);
	while (given == 0 && dry_arena_settles_locked(arena)) /* who purges gives up what it has of chunks */
		settled = true;
	dry_lock_release(&arena->lock);
	return given != 0 || settled;
}

/* Looked at again when as much as a chunk more is free, so that scattered free pages do not cost a look each. */
void dry_arena_give_excess_locked(struct dry_arena *arena)
{
	size_t keep = arena->used / 2 + 2 * (size_t)dry_chunk_pages(arena);

	if (arena->free_dirty > keep && !dry_port_restricted())
		give_chunks_locked(arena, (arena->free_dirty - keep) << arena->page_shift);
	if (keep < arena->free_dirty)
		keep = arena->free_dirty;
	arena->give_at = keep + dry_chunk_pages(arena);
}
