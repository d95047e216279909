/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Chunks: taking the next one of the reservation into use, and retiring and
 * reviving those that are wholly free. Only for arenas that own their memory,
 * so a page's index is its position.
 */
#include "base/compiler.h"
#include "base/error.h"
#include "page/internal.h"

/*
 * Of a reservation in a window. What is reserved counts against limits, of locked memory above all (8 MiB on Debian), so one
 * whose first chunk is short grows at its front, by as much as there is and by FRONT at most, then by whole ones; a bigger one by
 * an eighth of what there is.
 */
#define FRONT      ((size_t)1 << 20)
#define FRONT_MIN  ((size_t)64 << 10)
#define MEDIUM     ((size_t)16 << 20)
#define LEAST_STEP ((size_t)16 << 20)
#define MOST_STEP  ((size_t)64 << 20)

/* For a chunk. */
static size_t side_bytes(const struct dry_arena *arena)
{
	return dry_arena_side_bytes(arena, dry_chunk_pages(arena));
}

/* again: it is committed. */
static bool commit(const struct dry_arena *arena, uint32_t first, uint32_t count, unsigned node, bool again)
{
	void *start = dry_arena_address(arena, first);
	size_t size = (size_t)count << arena->page_shift;

	if (!dry_source_commit(&arena->source, start, size, node, arena->nodes > 1, again))
		return false;
	if (arena->source.reserve == NULL)
		dry_commit_piecemeal(arena->base, start, size);
	return true;
}

/* A chunk without memory behind it becomes the node's, but for its first `missing` pages; again: it is committed. */
static bool place(const struct dry_arena *arena, uint32_t chunk, uint32_t missing, unsigned node, bool again)
{
	uint32_t first = chunk << arena->max_order;

	if (!commit(arena, first + missing, dry_chunk_pages(arena) - missing, node, again || arena->ready))
		return false;
	*dry_chunk(arena, chunk) = (uint8_t)(node | (missing != 0 ? DRY_CHUNK_SHORT : 0));
	if (missing != 0)
		dry_page_set_count(&arena->desc[first], missing);
	return true;
}

void dry_chunk_revive_locked(struct dry_arena *arena, uint32_t chunk)
{
	*dry_chunk(arena, chunk) &= (uint8_t)~DRY_CHUNK_RETIRED;
	arena->retired--;
	arena->free_clean -= dry_chunk_pages(arena);
	dry_budget_count(side_bytes(arena));
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
	if (chunk == chunks && !place(arena, chunk = found, 0, node, true))
		return false;
	dry_chunk_revive_locked(arena, chunk);
	return true;
}

static bool arrays_extend(struct dry_arena *arena, size_t chunks)
{
	return (arena->window || dry_array_extend(&arena->chunk_array, arena->chunk_array.reserved)) &&
	       dry_array_extend(&arena->desc_array, chunks * dry_arena_desc_bytes(arena, DRY_CHUNK_SIZE)) &&
	       dry_array_extend(&arena->map_array, chunks * dry_arena_map_bytes(DRY_CHUNK_SIZE)) &&
	       dry_array_extend(&arena->side_array, chunks * side_bytes(arena));
}

DRY_FAST int reserve(struct dry_arena *arena, size_t from, size_t end)
{
	return dry_reserve_arrays_locked(arena, end) ? dry_reserve_pages_locked(arena, from, end) : -DRY_ENOMEM;
}

/* Others have mapped memory where the reservation ends: it goes on behind that, and what lies between is lost. */
static DRY_SLOW bool pass_over(struct dry_arena *arena, size_t left)
{
	uint32_t lost = arena->reserved, chunk;
	size_t have = (size_t)lost << arena->page_shift, past;
	int rc = -DRY_EBUSY;

	for (past = DRY_CHUNK_SIZE; rc == -DRY_EBUSY && past < left; past *= 2)
		rc = reserve(arena, have + past, have + past + DRY_CHUNK_SIZE);
	if (rc != 0)
		return false;
	uint32_t next = arena->reserved - dry_chunk_pages(arena);
	if (!arrays_extend(arena, (size_t)next >> arena->max_order)) {
		dry_reserve_undo_locked(arena, lost, next);
		return false;
	}
	for (chunk = lost >> arena->max_order; chunk < next >> arena->max_order; chunk++)
		*dry_chunk(arena, chunk) = DRY_CHUNK_LOST;
	arena->lost += next - lost;
	/* release: as below */
	atomic_store_explicit(&arena->committed, next, memory_order_release);
	return true;
}

/* The last pages of a chunk, `part` bytes, where a limit has no room for more, or no more is wanted yet. */
static DRY_SLOW bool reserve_short(struct dry_arena *arena, size_t have, size_t part, unsigned order)
{
	size_t need = (size_t)1 << (order + arena->page_shift), least = need > DRY_CHUNK_LEAST ? need : DRY_CHUNK_LEAST;

	for (; part >= least; part /= 2)
		if (reserve(arena, have + DRY_CHUNK_SIZE - part, have + DRY_CHUNK_SIZE) == 0) {
			arena->missing = (uint32_t)((DRY_CHUNK_SIZE - part) >> arena->page_shift);
			return true;
		}
	return false;
}

/* One chunk more at least, in a window. */
static bool reserve_more(struct dry_arena *arena, unsigned order)
{
	size_t have = (size_t)arena->reserved << arena->page_shift, step = have / 8;
	size_t left = ((size_t)arena->pages << arena->page_shift) - have;
	int rc = -DRY_ENOMEM;

	if (!arena->window)
		return false;
	if (have < MEDIUM)
		step = DRY_CHUNK_SIZE;
	else
		step = step < LEAST_STEP ? LEAST_STEP : step > MOST_STEP ? MOST_STEP : dry_round_down(step, DRY_CHUNK_SIZE);
	for (step = step < left ? step : left; step != 0 && rc != 0; step = dry_round_down(step / 2, DRY_CHUNK_SIZE))
		rc = reserve(arena, have, have + step);
	return rc == 0 || (rc == -DRY_EBUSY && pass_over(arena, left)) ||
	       ((rc == -DRY_EAGAIN || rc == -DRY_ENOMEM) && left != 0 && reserve_short(arena, have, DRY_CHUNK_SIZE / 2, order));
}

bool dry_arena_extend_locked(struct dry_arena *arena, unsigned order, unsigned node)
{
	uint32_t committed, missing;
	size_t chunks;

	if (!arena->owns_memory || (arena->reserved == dry_arena_committed_locked(arena) && !reserve_more(arena, order)))
		return false;
	committed = dry_arena_committed_locked(arena);
	missing = arena->missing;
	chunks = ((size_t)committed >> arena->max_order) + 1;
	if (!arrays_extend(arena, chunks) || !place(arena, committed >> arena->max_order, missing, node, false))
		return false;
	if (missing != 0)
		arena->front = committed >> arena->max_order;
	arena->missing = 0;
	arena->give_at = 0;
	arena->ready = false;
	arena->lost += missing;
	/* not asked for: as the other arrays, it follows the pages */
	dry_budget_count(dry_arena_side_bytes(arena, dry_chunk_pages(arena) - missing));
	/* release: pairs with the acquire in dry_arena_run_of() */
	atomic_store_explicit(&arena->committed, committed + dry_chunk_pages(arena), memory_order_release);
	dry_buddy_put_apart_locked(arena, committed + missing, dry_chunk_pages(arena) - missing, 1, 1);
	return true;
}

/*
 * Pages in front of those that a short chunk has, 2^order at least, side by side: they have descriptors already, so where a limit
 * leaves little room this takes least of it.
 */
static DRY_SLOW bool grow_front(struct dry_arena *arena, unsigned order)
{
	uint32_t need = UINT32_C(1) << order, least = (uint32_t)(FRONT_MIN >> arena->page_shift), from = 0;
	uint32_t first = arena->front << arena->max_order, missing = arena->desc[first].count;
	uint32_t part = (uint32_t)(FRONT >> arena->page_shift);
	int rc = -DRY_ENOMEM;

	while (part > dry_chunk_pages(arena) - missing && part / 2 >= need)
		part /= 2;
	for (; rc != 0 && part >= need && part >= least; part /= 2) {
		if (part > missing)
			continue;
		from = dry_round_down(missing - part, need);
		rc = dry_port_reserve_at(dry_arena_address(arena, first + from), (size_t)(missing - from) << arena->page_shift,
					 DRY_ACCESS_WRITE);
		if (rc == -DRY_EBUSY) /* what is there is others' */
			arena->front = DRY_PAGE_NIL;
		if (rc == -DRY_EBUSY)
			return false;
	}
	if (rc != 0)
		return false;
	missing -= from;
	commit(arena, first + from, missing, *dry_chunk(arena, arena->front) & DRY_CHUNK_NODE, true);
	arena->lost -= missing;
	dry_budget_count(dry_arena_side_bytes(arena, missing));
	dry_page_set_count(&arena->desc[first], from);
	if (from == 0) {
		*dry_chunk(arena, arena->front) &= (uint8_t)~DRY_CHUNK_SHORT;
		arena->front = DRY_PAGE_NIL;
	}
	dry_buddy_put_locked(arena, first + from, missing, false);
	return true;
}

int dry_chunk_regain_locked(struct dry_arena *arena, uint32_t chunk, unsigned node)
{
	void *start = dry_arena_address(arena, chunk << arena->max_order);
	int rc = dry_port_reserve_at(start, DRY_CHUNK_SIZE, DRY_ACCESS_WRITE);

	if (rc != 0 && rc != -DRY_EBUSY)
		return rc;
	arena->gone--;
	*dry_chunk(arena, chunk) = (uint8_t)(rc == 0 ? node : DRY_CHUNK_LOST); /* EBUSY: it is others' now, for good */
	if (rc != 0)
		return rc;
	commit(arena, chunk << arena->max_order, dry_chunk_pages(arena), node, true);
	arena->lost -= dry_chunk_pages(arena);
	arena->give_at = 0;
	dry_budget_count(side_bytes(arena));
	dry_buddy_put_apart_locked(arena, chunk << arena->max_order, dry_chunk_pages(arena), 1, 1);
	return 0;
}

/* A chunk that was given up, if it is to be had again. */
static DRY_SLOW bool regain(struct dry_arena *arena, unsigned node)
{
	uint32_t chunks = dry_arena_committed_locked(arena) >> arena->max_order;
	int rc = -DRY_EBUSY;

	for (uint32_t chunk = 0; arena->gone != 0 && rc == -DRY_EBUSY && chunk < chunks; chunk++)
		if (dry_chunk_is_gone(arena, chunk))
			rc = dry_chunk_regain_locked(arena, chunk, node);
	return rc == 0;
}

static bool front_is_of(const struct dry_arena *arena, unsigned node)
{
	return arena->front != DRY_PAGE_NIL && (*dry_chunk(arena, arena->front) & DRY_CHUNK_NODE) == node;
}

/* The last call has no frame below it (docs/design/stack.md). */
bool dry_arena_grow_locked(struct dry_arena *arena, unsigned order, unsigned node)
{
	if ((arena->retired != 0 && revive(arena, node)) || (front_is_of(arena, node) && grow_front(arena, order)) ||
	    (arena->gone != 0 && regain(arena, node)))
		return true;
	return dry_arena_extend_locked(arena, order, node);
}

bool dry_arena_grow_other_locked(struct dry_arena *arena, unsigned order, unsigned node)
{
	return arena->front != DRY_PAGE_NIL && !front_is_of(arena, node) && grow_front(arena, order);
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
	*dry_chunk(arena, chunk) = (*dry_chunk(arena, chunk) & DRY_CHUNK_NODE) | DRY_CHUNK_RETIRED;
	arena->retired++;
	if (chunk < arena->retired_hint)
		arena->retired_hint = chunk;
	array_purge(arena, &arena->desc_array, chunk, dry_arena_desc_bytes(arena, DRY_CHUNK_SIZE));
	array_purge(arena, &arena->map_array, chunk, dry_arena_map_bytes(DRY_CHUNK_SIZE));
	if (arena->side != 0)
		array_purge(arena, &arena->side_array, chunk, side_bytes(arena));
	dry_budget_give(side_bytes(arena));
}

static void commit_again(const struct dry_arena *arena, uint32_t from, uint32_t end)
{
	if (from < end)
		(void)dry_port_commit(dry_arena_address(arena, from), (size_t)(end - from) << arena->page_shift);
}

void dry_arena_commit_again(struct dry_arena *arena)
{
	dry_lock_acquire(&arena->lock);
	uint32_t committed = dry_arena_committed_locked(arena), pages = dry_chunk_pages(arena);
	for (uint32_t first = 0; first < committed; first += pages) {
		uint32_t chunk = first >> arena->max_order;
		uint32_t missing = dry_chunk_is_short(arena, chunk) ? arena->desc[first].count : 0;
		if (!dry_chunk_is_lost(arena, chunk) && !dry_chunk_is_retired(arena, chunk))
			commit_again(arena, first + missing, first + pages);
	}
	if (arena->window) /* reserved pages can be used */
		commit_again(arena, committed + arena->missing, arena->reserved);
	dry_lock_release(&arena->lock);
}
