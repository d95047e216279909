/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What an arena does not use goes to others where a limit counts it: what it has reserved ahead, then chunks that are wholly free.
 * Such a chunk is lost, as if others had mapped it; its place is remembered, and asked for first when the arena grows.
 */
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

	if (arena->free_dirty > keep && !dry_port_confined())
		give_chunks_locked(arena, (arena->free_dirty - keep) << arena->page_shift);
	if (keep < arena->free_dirty)
		keep = arena->free_dirty;
	arena->give_at = keep + dry_chunk_pages(arena);
}

/* ---- chunks with runs that are kept ---------------------------------------------- */

/* Pages of them; UINT32_MAX: something else lies there, too, or not all of the chunk is ours. */
static uint32_t kept_pages_locked(const struct dry_arena *arena, uint32_t chunk)
{
	uint32_t at = chunk << arena->max_order, end = at + dry_chunk_pages(arena), kept = 0;

	if (!arena->window || !dry_chunk_is_whole(arena, chunk))
		return UINT32_MAX;
	for (; at < end; at += arena->desc[at].count) {
		unsigned kind = dry_page_kind(&arena->desc[at]);

		if (kind != DRY_PAGE_FREE && kind != DRY_PAGE_KEPT)
			return UINT32_MAX;
		kept += kind == DRY_PAGE_KEPT ? arena->desc[at].count : 0;
	}
	return at == end ? kept : UINT32_MAX;
}

bool dry_arena_holds_kept_only(struct dry_arena *arena, uint32_t chunk)
{
	uint32_t kept;

	dry_lock_acquire(&arena->lock);
	kept = kept_pages_locked(arena, chunk);
	dry_lock_release(&arena->lock);
	return kept != UINT32_MAX && kept != 0;
}

bool dry_arena_give_up_kept(struct dry_arena *arena, uint32_t chunk, uint32_t first)
{
	uint32_t pages = 0, next;
	bool all;

	for (next = first; next != DRY_PAGE_NIL; next = arena->desc[next].next)
		pages += arena->desc[next].count;
	dry_lock_acquire(&arena->lock);
	all = pages != 0 && kept_pages_locked(arena, chunk) == pages;
	for (; all && first != DRY_PAGE_NIL; first = next) {
		struct dry_page *run = &arena->desc[first];

		next = run->next;
		dry_page_set_kind(run, DRY_PAGE_NONE);
		arena->used -= run->count;
		dry_buddy_put_locked(arena, first, run->count, true); /* with the others it is the whole chunk in the end */
	}
	if (all) {
		dry_chunk_retire_locked(arena, chunk);
		dry_chunk_give_up_locked(arena, chunk);
		dry_arena_recount_locked(arena);
	}
	dry_lock_release(&arena->lock);
	return all;
}
