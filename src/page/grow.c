/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Chunks: taking the next one of the reservation into use, and retiring and
 * reviving those that are wholly free. Only for arenas that own their memory,
 * so a page's index is its position.
 */
#include "page/internal.h"

/* Bytes per chunk of two arrays; the third has one. */
static size_t desc_bytes(const struct dry_arena *arena)
{
	return sizeof(struct dry_page) << arena->max_order;
}
static size_t map_bytes(void)
{
	return sizeof(uint16_t) * (DRY_CHUNK_SIZE >> DRY_GRANULE_SHIFT);
}

/* Commit the first `bytes` of an array. What is committed stays so if a later step fails. */
static bool array_extend(struct dry_arena_array *array, size_t bytes)
{
	size_t want = dry_round_up(bytes, dry_port_page_size());

	if (want <= array->committed)
		return true;
	if (dry_port_commit((char *)array->start + array->committed, want - array->committed) != 0)
		return false;
	array->committed = want;
	return true;
}

/* A chunk without memory behind it becomes the node's; again: it was another's. */
static bool place(const struct dry_arena *arena, uint32_t chunk, unsigned node, bool again)
{
	if (!dry_source_commit(&arena->source, dry_arena_address(arena, chunk << arena->max_order), DRY_CHUNK_SIZE, node,
			       arena->nodes > 1, again))
		return false;
	*dry_chunk(arena, chunk) = (uint8_t)node;
	return true;
}

void dry_chunk_revive_locked(struct dry_arena *arena, uint32_t chunk)
{
	*dry_chunk(arena, chunk) &= (uint8_t)~DRY_CHUNK_RETIRED;
	arena->retired--;
	arena->free_clean -= dry_chunk_pages(arena);
	arena->absent -= dry_chunk_pages(arena);
	dry_buddy_put_apart_locked(arena, chunk << arena->max_order, dry_chunk_pages(arena), 1, 1);
}

/* The first retired chunk of the node, else the first of any. */
static bool revive(struct dry_arena *arena, unsigned node)
{
	uint32_t chunks = dry_arena_committed_locked(arena) >> arena->max_order, chunk, found = chunks;

	for (chunk = arena->retired_hint; chunk < chunks; chunk++) {
		if (!dry_chunk_is_retired(arena, chunk))
			continue;
		if (found == chunks) /* there is none below */
			arena->retired_hint = found = chunk;
		if (*dry_chunk(arena, chunk) == (DRY_CHUNK_RETIRED | node))
			break;
	}
	if (chunk == chunks && !place(arena, chunk = found, node, true))
		return false;
	dry_chunk_revive_locked(arena, chunk);
	return true;
}

bool dry_arena_extend_locked(struct dry_arena *arena, unsigned node)
{
	uint32_t committed = dry_arena_committed_locked(arena);
	size_t chunks = ((size_t)committed >> arena->max_order) + 1;

	if (!arena->owns_memory || arena->pages - committed < dry_chunk_pages(arena) ||
	    !array_extend(&arena->desc_array, chunks * desc_bytes(arena)) ||
	    !array_extend(&arena->map_array, chunks * map_bytes()) ||
	    !array_extend(&arena->chunk_array, chunks) ||
	    !place(arena, committed >> arena->max_order, node, false))
		return false;
	/* release: pairs with the acquire in dry_arena_run_of() */
	atomic_store_explicit(&arena->committed, committed + dry_chunk_pages(arena), memory_order_release);
	dry_buddy_put_apart_locked(arena, committed, dry_chunk_pages(arena), 1, 1);
	return true;
}

bool dry_arena_grow_locked(struct dry_arena *arena, unsigned node)
{
	return (arena->retired != 0 && revive(arena, node)) || dry_arena_extend_locked(arena, node);
}

/* No chunk from `first` to `last` has metadata that is still needed. */
static bool all_idle(const struct dry_arena *arena, size_t first, size_t last)
{
	size_t grown = dry_arena_committed_locked(arena) >> arena->max_order;

	for (; first <= last && first < grown; first++)
		if (!dry_chunk_is_retired(arena, (uint32_t)first))
			return false;
	return true;
}

/* Purge a retired chunk's part of an array. A page shared with others goes when all are idle. */
static void array_purge(const struct dry_arena *arena, const struct dry_arena_array *array, size_t chunk, size_t bytes)
{
	size_t unit = dry_port_page_size();
	size_t start = chunk * bytes, end = start + bytes;
	size_t low = dry_round_down(start, unit), high = dry_round_up(end, unit);
	bool before = low == start || all_idle(arena, low / bytes, chunk);
	bool after = high == end || all_idle(arena, chunk, (high - 1) / bytes);

	if (!before)
		low += unit;
	if (!after)
		high -= unit;
	if (low < high)
		dry_port_purge((char *)array->start + low, high - low);
}

void dry_chunk_retire_locked(struct dry_arena *arena, uint32_t chunk)
{
	dry_buddy_unlink_locked(arena, chunk << arena->max_order);
	arena->free_clean += dry_chunk_pages(arena);
	arena->absent += dry_chunk_pages(arena);
	*dry_chunk(arena, chunk) = (*dry_chunk(arena, chunk) & DRY_CHUNK_NODE) | DRY_CHUNK_RETIRED;
	arena->retired++;
	if (chunk < arena->retired_hint)
		arena->retired_hint = chunk;
	array_purge(arena, &arena->desc_array, chunk, desc_bytes(arena));
	array_purge(arena, &arena->map_array, chunk, map_bytes());
}

bool dry_arena_give_up(struct dry_arena *arena, size_t size)
{
	uint32_t count, unused;

	if (!arena->owns_memory || size > (size_t)arena->pages << arena->page_shift)
		return false;
	dry_lock_acquire(&arena->lock);
	count = (uint32_t)(dry_round_up(size, DRY_CHUNK_SIZE) >> arena->page_shift);
	unused = arena->pages - dry_arena_committed_locked(arena);
	if (count <= unused) {
		arena->pages -= count;
		dry_source_release(&arena->source, dry_arena_address(arena, arena->pages),
				   (size_t)count << arena->page_shift);
	}
	dry_lock_release(&arena->lock);
	return count <= unused;
}
