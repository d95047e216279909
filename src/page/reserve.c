/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Address space of arenas that own their memory (docs/design/address-space.md).
 *
 * In a window: a range that is free, and that nothing but its place keeps free. Each part begins at a place of its own there and
 * is reserved further as the arena grows, so that what is reserved is about what is used:
 *
 *   | pages ---->                 | <- chunks | desc -->    | map ->    |        | side --> |
 *
 * The array that is asked for later has a window of its own.
 * Whole, from the start: from a source of a user's, or where there is no window to be had.
 */
#include "base/annotate.h"
#include "base/bits.h"
#include "base/error.h"
#include "page/internal.h"

#define MAX_RESERVE ((size_t)UINT32_MAX / 2 << DRY_GRANULE_SHIFT)
#define TRIES       8  /* windows to look for one that is free where things begin */
#define APART_SHARE 64 /* of the pages: at most so much more than they need lies before each of two arrays */

static size_t side_bytes(const struct dry_arena *arena, size_t size)
{
	return dry_arena_side_bytes(arena, size >> arena->page_shift);
}

/* ---- arrays --------------------------------------------------------------- */

static void array_fini(const struct dry_arena *arena, struct dry_arena_array *array)
{
	if (array->reserved != 0 && arena->window)
		dry_port_release(array->start, array->reserved);
	else if (array->reserved != 0)
		dry_release_apart(array->start, array->reserved);
	array->start = NULL;
	array->reserved = array->committed = 0;
}

static void arrays_fini(struct dry_arena *arena)
{
	array_fini(arena, &arena->desc_array);
	array_fini(arena, &arena->map_array);
	array_fini(arena, &arena->chunk_array);
	array_fini(arena, &arena->side_array);
}

static bool array_init(struct dry_arena_array *array, size_t bytes, bool readable)
{
	size_t size = dry_round_up(bytes, dry_port_page_size());

	array->start = dry_reserve_apart(size, readable);
	array->reserved = array->start != NULL ? size : 0;
	return array->start != NULL;
}

/* Room for `bytes` in an array that lies in a window, whose pages before and after it nobody maps. */
static bool array_reserve(struct dry_arena_array *array, size_t bytes, enum dry_access access)
{
	size_t want = dry_round_up(bytes, dry_port_page_size());

	if (want <= array->reserved)
		return true;
	char *end = (char *)array->start + array->reserved;
	if (dry_port_reserve_at(end, want - array->reserved, access) != 0)
		return false;
	if (access == DRY_ACCESS_WRITE) {
		dry_commit_piecemeal((uintptr_t)array->start, end, want - array->reserved);
		array->committed = want;
	}
	array->reserved = want;
	return true;
}

/* Bytes of chunks in front of the descriptors: with the first of them they are one mapping. */
static bool chunks_reserve(struct dry_arena *arena, size_t chunks)
{
	struct dry_arena_array *array = &arena->chunk_array;
	size_t want = dry_round_up(chunks, dry_port_page_size()), more = want - array->reserved;
	char *start = (char *)arena->chunk_end - want;

	if (want <= array->reserved)
		return true;
	if (dry_port_reserve_at(start, more, DRY_ACCESS_WRITE) != 0)
		return false;
	*array = (struct dry_arena_array){ start, want, want };
	return true;
}

static bool array_init_at(struct dry_arena_array *array, char *at, size_t bytes, enum dry_access access)
{
	array->start = at + dry_port_page_size();
	return array_reserve(array, bytes, access);
}

bool dry_array_extend(struct dry_arena_array *array, size_t bytes)
{
	size_t want = dry_round_up(bytes, dry_port_page_size());

	if (want <= array->committed)
		return true;
	char *end = (char *)array->start + array->committed;
	if (dry_port_commit(end, want - array->committed) != 0)
		return false;
	dry_commit_piecemeal((uintptr_t)array->start, end, want - array->committed);
	array->committed = want;
	return true;
}

/* ---- beginning -------------------------------------------------------------- */

static void begin(struct dry_arena *arena, void *base, size_t size, size_t reserved)
{
	arena->base = (uintptr_t)base;
	arena->pages = (uint32_t)(size >> arena->page_shift);
	arena->reserved = (uint32_t)(reserved >> arena->page_shift);
	arena->granules = reserved >> DRY_GRANULE_SHIFT;
	arena->desc = arena->desc_array.start;
	arena->map = arena->map_array.start;
	arena->chunk_end = (uint8_t *)arena->chunk_array.start + arena->chunk_array.reserved;
}

/* Before the pages, and after them, a page that is never committed; the rest of a chunk at both ends goes back. */
static void *reserve_guarded(size_t size)
{
	char *base = dry_port_reserve(size + 2 * DRY_CHUNK_SIZE, DRY_CHUNK_SIZE, false);
	size_t guard = dry_port_page_size();

	if (base == NULL)
		return NULL;
	dry_port_release(base, DRY_CHUNK_SIZE - guard);
	base += DRY_CHUNK_SIZE;
	dry_port_release(base + size + guard, DRY_CHUNK_SIZE - guard);
	return base;
}

static void release_pages(const struct dry_arena *arena, char *start, size_t size)
{
	if (arena->guarded && !arena->window)
		dry_release_apart(start, size);
	else
		dry_source_release(&arena->source, start, size);
}

/* Pages and metadata for `size` bytes, a multiple of a chunk. All or nothing. */
static bool reserve_whole(struct dry_arena *arena, size_t size)
{
	void *base = arena->guarded ? reserve_guarded(size) : dry_source_reserve(&arena->source, size, DRY_CHUNK_SIZE);

	if (base == NULL)
		return false;
	if (!array_init(&arena->desc_array, dry_arena_desc_bytes(arena, size), false) ||
	    !array_init(&arena->map_array, dry_arena_map_bytes(size), true) ||
	    !array_init(&arena->chunk_array, size / DRY_CHUNK_SIZE, false)) {
		arrays_fini(arena);
		release_pages(arena, base, size);
		return false;
	}
	begin(arena, base, size, size);
	return true;
}

/* Up to a chunk, which is taken into use next, is committed with the reservation, if it may be. */
static int reserve_pages(struct dry_arena *arena, char *start, size_t size)
{
	int rc = size <= DRY_CHUNK_SIZE ? dry_port_reserve_at(start, size, DRY_ACCESS_WRITE) : -DRY_ENOMEM;

	arena->ready = rc == 0;
	return rc == -DRY_ENOMEM ? dry_port_reserve_at(start, size, DRY_ACCESS_NONE) : rc;
}

/* As random as the window's place, which who writes beyond a block does not know. */
static size_t random_pages(const char *window, unsigned number, size_t most)
{
	size_t page = dry_port_page_size();

	return (size_t)(dry_mix64((uintptr_t)window + number) % (most / page)) * page;
}

/* The last `first` bytes of a first chunk and its metadata in a window, at places that pages do not tell. All or nothing. */
static bool reserve_first(struct dry_arena *arena, char *window, const size_t span[4], size_t apart, size_t first)
{
	size_t whole = DRY_CHUNK_SIZE, page = dry_port_page_size(), desc = dry_round_up(dry_arena_desc_bytes(arena, whole), page);
	char *start = window + 2 * whole - first, *chunks = window + span[0] + random_pages(window, 1, apart) + span[1] - page;
	char *map = chunks + page + span[2] + random_pages(window, 2, apart);

	arena->window = true;
	if (reserve_pages(arena, start, first) != 0)
		return false;
	if (dry_port_reserve_at(chunks, page + desc, DRY_ACCESS_WRITE) == 0) {
		arena->chunk_array = (struct dry_arena_array){ chunks, page, page };
		arena->desc_array = (struct dry_arena_array){ chunks + page, desc, desc };
	}
	if (arena->desc_array.reserved == 0 ||
	    !array_init_at(&arena->map_array, map, dry_arena_map_bytes(whole), DRY_ACCESS_WRITE)) {
		arrays_fini(arena);
		dry_port_release(start, first);
		return false;
	}
	arena->missing = (uint32_t)((whole - first) >> arena->page_shift);
	return true;
}

static bool reserve_window(struct dry_arena *arena, size_t size, size_t first)
{
	size_t chunk = DRY_CHUNK_SIZE; /* each part: with a rest that nobody maps */
	size_t span[4] = { size + 2 * chunk, dry_round_up(size / chunk, chunk) + chunk,
			   dry_round_up(dry_arena_desc_bytes(arena, size), chunk) + chunk,
			   dry_round_up(dry_arena_map_bytes(size), chunk) + chunk };
	size_t apart = dry_round_up(size / APART_SHARE, chunk);

	/* A source does not know windows. Tools that keep books of ranges are told of one. */
	if (arena->source.reserve != NULL || dry_annotate != NULL)
		return false;
	for (unsigned i = 0; i < TRIES; i++) {
		char *window = dry_port_window(span[0] + span[1] + span[2] + span[3] + 2 * apart, chunk);

		if (window == NULL)
			break;
		if (reserve_first(arena, window, span, apart, first)) {
			begin(arena, window + chunk, size, chunk);
			return true;
		}
	}
	arena->window = arena->ready = false; /* what was committed has been taken back */
	return false;
}

/*
 * Reserved whole: a limit on address space (ulimit -v) is shared with extents, libraries and
 * stacks, so an arena takes 5/8 of what is left (dry_arena_give_up() returns
 * what it does not need). Without a known limit the system may still refuse:
 * then less, by halves.
 */
bool dry_reserve_begin(struct dry_arena *arena, size_t want, size_t first)
{
	size_t room, size = dry_round_down(want < MAX_RESERVE ? want : MAX_RESERVE, DRY_CHUNK_SIZE), less;

	for (less = size; less >= DRY_CHUNK_SIZE && less >= size / 64; less = dry_round_down(less / 2, DRY_CHUNK_SIZE))
		if (reserve_window(arena, less, first))
			return true;
	room = dry_port_address_room();
	if (room != SIZE_MAX && size > room / 8 * 5)
		size = dry_round_down(room / 8 * 5, DRY_CHUNK_SIZE);
	for (; size >= DRY_CHUNK_SIZE; size = dry_round_down(size / 2, DRY_CHUNK_SIZE))
		if (reserve_whole(arena, size))
			return true;
	return false;
}

/* ---- growing ------------------------------------------------------------------ */

bool dry_reserve_arrays_locked(struct dry_arena *arena, size_t end)
{
	return array_reserve(&arena->desc_array, dry_arena_desc_bytes(arena, end), DRY_ACCESS_WRITE) &&
	       array_reserve(&arena->map_array, dry_arena_map_bytes(end), DRY_ACCESS_WRITE) &&
	       chunks_reserve(arena, end / DRY_CHUNK_SIZE) &&
	       array_reserve(&arena->side_array, side_bytes(arena, end), DRY_ACCESS_NONE);
}

int dry_reserve_pages_locked(struct dry_arena *arena, size_t from, size_t end)
{
	int rc = reserve_pages(arena, (char *)arena->base + from, end - from);

	if (rc != 0)
		return rc;
	arena->reserved = (uint32_t)(end >> arena->page_shift);
	if (dry_arena_granules(arena) < end >> DRY_GRANULE_SHIFT) /* relaxed: see there */
		__atomic_store_n(&arena->granules, end >> DRY_GRANULE_SHIFT, __ATOMIC_RELAXED);
	return 0;
}

void dry_reserve_undo_locked(struct dry_arena *arena, uint32_t before, uint32_t from)
{
	dry_port_release(dry_arena_address(arena, from), (size_t)(arena->reserved - from) << arena->page_shift);
	arena->reserved = before;
	arena->ready = false;
}

/* Bytes of the side array in page/budget.h's count. */
static size_t side_counted(const struct dry_arena *arena)
{
	uint32_t idle = arena->lost + (uint32_t)arena->retired * dry_chunk_pages(arena);

	return dry_arena_side_bytes(arena, dry_arena_committed_locked(arena) - idle);
}

/* ---- beside ------------------------------------------------------------------- */

static bool side_reserve(struct dry_arena *arena)
{
	size_t whole = side_bytes(arena, (size_t)arena->pages << arena->page_shift);
	size_t bytes = side_bytes(arena, (size_t)arena->reserved << arena->page_shift);

	for (unsigned i = 0; arena->window && i < TRIES; i++) {
		char *at = dry_port_window(dry_round_up(whole, DRY_CHUNK_SIZE) + DRY_CHUNK_SIZE, DRY_CHUNK_SIZE);

		if (at == NULL)
			return false;
		if (array_init_at(&arena->side_array, at, bytes, DRY_ACCESS_NONE))
			return true;
	}
	return !arena->window && array_init(&arena->side_array, whole, false);
}

void *dry_arena_add_side(struct dry_arena *arena, unsigned width)
{
	struct dry_arena_array *array = &arena->side_array;

	dry_lock_acquire(&arena->lock);
	arena->side = (uint8_t)width;
	if (!side_reserve(arena) ||
	    !dry_array_extend(array, side_bytes(arena, (size_t)dry_arena_committed_locked(arena) << arena->page_shift))) {
		array_fini(arena, array);
		arena->side = 0;
	}
	dry_budget_count(side_counted(arena));
	dry_lock_release(&arena->lock);
	return array->start;
}

/* ---- the end ------------------------------------------------------------------ */

/* How many pages of a chunk are not reserved, its first ones. */
static uint32_t missing_of(const struct dry_arena *arena, uint32_t chunk, uint32_t committed)
{
	if (chunk >= committed)
		return chunk == committed ? arena->missing : 0;
	if (dry_chunk_is_lost(arena, chunk))
		return dry_chunk_pages(arena);
	return dry_chunk_is_short(arena, chunk) ? arena->desc[chunk << arena->max_order].count : 0;
}

/* The first page of the next chunk of which something is missing. */
static uint32_t end_of(const struct dry_arena *arena, uint32_t chunk, uint32_t committed, uint32_t end)
{
	for (chunk++; chunk < end && missing_of(arena, chunk, committed) == 0; chunk++)
		;
	return chunk << arena->max_order;
}

void dry_reserve_end(struct dry_arena *arena)
{
	uint32_t committed = dry_arena_committed_locked(arena) >> arena->max_order;
	uint32_t end = arena->owns_memory ? arena->reserved >> arena->max_order : 0;

	for (uint32_t chunk = 0, to; chunk < end; chunk = to >> arena->max_order) {
		uint32_t from = (chunk << arena->max_order) + missing_of(arena, chunk, committed);

		to = end_of(arena, chunk, committed, end);
		if (from < to)
			release_pages(arena, dry_arena_address(arena, from), (size_t)(to - from) << arena->page_shift);
	}
	dry_budget_give(side_counted(arena));
	arrays_fini(arena);
}
