/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The pages of a heap: what its page descriptors say, read in big pieces, and which of them are resident.
 * A heap of 10^6 slabs has as many descriptors as pages, 64 bytes each.
 */
#include "reader.h"
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PAGES ((uint64_t)1 << 28)
#define MAX_AREA  ((uint64_t)1 << 24)
#define PIECE     ((size_t)1 << 20) /* bytes of descriptors read at once */

struct arena {
	uint64_t base, committed, desc;
	uint64_t *bits;    /* resident pages of the system; NULL: not known */
	uint64_t per_page; /* pages of the system in one of the heap */
	size_t *by_id;     /* rows of the heap's caches, by address */
	size_t ids;
	size_t last;       /* row that was found last */
};

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static struct row *sorting; /* rows of the qsort under way */

static int by_row_id(const void *a, const void *b)
{
	return by_value(&sorting[*(const size_t *)a].id, &sorting[*(const size_t *)b].id);
}

static void sort_rows(struct reader *r, struct arena *arena)
{
	struct snapshot *s = r->snapshot;

	arena->by_id = cli_realloc(NULL, s->count - r->first_row + 1, sizeof(*arena->by_id));
	for (size_t i = r->first_row; i < s->count; i++)
		if (s->rows[i].kind == ROW_CACHE)
			arena->by_id[arena->ids++] = i;
	sorting = s->rows;
	qsort(arena->by_id, arena->ids, sizeof(*arena->by_id), by_row_id);
}

/* The row of a cache; NULL: none was listed when its list was read. */
static struct row *row_of(const struct reader *r, struct arena *arena, uint64_t cache)
{
	struct row *rows = r->snapshot->rows;
	size_t low = 0, high = arena->ids;

	if (arena->last < arena->ids && rows[arena->by_id[arena->last]].id == cache)
		return &rows[arena->by_id[arena->last]];
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t id = rows[arena->by_id[middle]].id;

		if (id == cache) {
			arena->last = middle;
			return &rows[arena->by_id[middle]];
		}
		if (id < cache)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Whether metadata begins there that the heap tells of: in heaps over given memory, of a kind of its own (page/page.h, KEPT). */
static bool is_own(const struct reader *r, uint64_t address)
{
	return bsearch(&address, r->own, r->own_count, sizeof(*r->own), by_value) != NULL;
}

static void add_run(struct reader *r, struct arena *arena, uint64_t index, uint64_t count, const unsigned char *page)
{
	const struct dry_inspect *layout = r->layout;
	uint64_t kind = reader_field_of(r, page, layout->page_size, &layout->page_kind);
	uint64_t address = arena->base + index * r->page_bytes, resident = 0;
	struct piece piece = { .kind = PIECE_FREE, .start = address, .pages = count, .used = count };
	struct row *row;

	if (arena->bits != NULL) {
		resident = bits_in(arena->bits, index * arena->per_page, count * arena->per_page) *
			   (r->page_bytes / arena->per_page);
		piece.used = resident / r->page_bytes;
	}
	if (kind == layout->page_slab) {
		row = row_of(r, arena, reader_field_of(r, page, layout->page_size, &layout->page_cache));
		piece.kind = row != NULL ? PIECE_SLAB : PIECE_GONE; /* its cache is just being made, or was */
		if (row != NULL) {
			row->v[FIG_RESIDENT] += resident;
			piece.row = (uint32_t)(row - r->snapshot->rows);
			piece.used = reader_field_of(r, page, layout->page_size, &layout->page_active);
		}
	} else if (is_own(r, address)) {
		piece.kind = PIECE_META;
	} else if (kind == layout->page_run) {
		piece.kind = PIECE_RUN;
		add_big_block(r, ROW_RUNS, count * r->page_bytes, resident);
	}
	map_piece(r, &piece);
}

/* The runs that begin in a piece of the descriptors. Returns the index of the first descriptor after them. */
static uint64_t add_piece(struct reader *r, struct arena *arena, const unsigned char *piece, uint64_t index, uint64_t end)
{
	const struct dry_inspect *layout = r->layout;
	uint64_t first = index;

	while (index < end && r->damage == NULL) {
		const unsigned char *page = piece + (index - first) * layout->page_size;
		uint64_t kind = reader_field_of(r, page, layout->page_size, &layout->page_kind), count = 0;

		if (kind == layout->page_run || kind == layout->page_slab || kind == layout->page_free ||
		    (kind != 0 && is_own(r, arena->base + index * r->page_bytes)))
			count = reader_field_of(r, page, layout->page_size, &layout->page_count);
		if (count == 0 || count > arena->committed - index) { /* nobody's, or it is being written */
			count = 1;
			map_piece(r, &(struct piece){ .start = arena->base + index * r->page_bytes, .pages = 1 });
		} else if (kind != layout->page_free || r->options->map) {
			add_run(r, arena, index, count, page);
		}
		index += count;
	}
	return index;
}

static void read_descriptors(struct reader *r, struct arena *arena)
{
	const struct dry_inspect *layout = r->layout;
	uint64_t per_piece = PIECE / layout->page_size;
	unsigned char *piece = cli_realloc(NULL, 1, PIECE);

	for (uint64_t index = 0; index < arena->committed && r->damage == NULL;) {
		uint64_t end = index + per_piece < arena->committed ? index + per_piece : arena->committed;

		if (reader_bulk(r, arena->desc + index * layout->page_size, piece, (end - index) * layout->page_size))
			index = add_piece(r, arena, piece, index, end);
	}
	free(piece);
}

void add_metadata(struct reader *r, uint64_t address, uint64_t bytes)
{
	if (address == 0 || bytes > MAX_PAGES * r->layout->page_size)
		return;
	sum_add(r->snapshot, SUM_METADATA, bytes);
	sum_add(r->snapshot, SUM_RESIDENT_OURS, reader_resident(r, address, bytes, NULL));
}

static void add_arrays_beside(struct reader *r, uint64_t arena)
{
	add_metadata(r, READ(r, arena, arena_desc), READ(r, arena, arena_desc_bytes));
	add_metadata(r, READ(r, arena, arena_map), READ(r, arena, arena_map_bytes));
	add_metadata(r, READ(r, arena, arena_chunks), READ(r, arena, arena_chunks_bytes));
	add_metadata(r, READ(r, arena, arena_side), READ(r, arena, arena_side_bytes));
}

static void read_arena(struct reader *r, uint64_t at)
{
	struct snapshot *s = r->snapshot;
	uint64_t system = (uint64_t)sysconf(_SC_PAGESIZE);
	struct arena arena = { .base = READ(r, at, arena_base), .committed = READ(r, at, arena_committed),
			       .desc = READ(r, at, arena_desc),
			       .per_page = r->page_bytes > system ? r->page_bytes / system : 1 };
	uint64_t pages = READ(r, at, arena_pages), dirty = READ(r, at, arena_free_dirty) + READ(r, at, arena_limbo);

	if (arena.base == 0 || r->damage != NULL)
		return;
	if (arena.committed > pages || pages > (uint64_t)1 << 32 || arena.committed > MAX_PAGES || dirty > arena.committed) {
		reader_damaged(r, "an arena makes no sense");
		return;
	}
	sum_add(s, SUM_RESERVED, pages * r->page_bytes);
	sum_add(s, SUM_FREE_DIRTY, dirty * r->page_bytes);
	sum_add(s, SUM_PURGED, READ(r, at, arena_purged) * r->page_bytes);
	sum_add(s, SUM_FREE_CLEAN, READ(r, at, arena_free_clean) * r->page_bytes);
	sum_add(s, SUM_TRIM, dirty * r->page_bytes);
	add_arrays_beside(r, at);
	if (r->pagemap >= 0 && r->page_bytes >= system) {
		arena.bits = calloc(arena.committed * arena.per_page / 64 + 1, sizeof(*arena.bits));
		if (arena.bits != NULL)
			sum_add(s, SUM_RESIDENT_OURS,
				reader_resident(r, arena.base, arena.committed * r->page_bytes, arena.bits));
	}
	sort_rows(r, &arena);
	map_region(r, "pages");
	read_descriptors(r, &arena);
	free(arena.by_id);
	free(arena.bits);
}

void read_arenas(struct reader *r, uint64_t heap)
{
	const struct dry_inspect *layout = r->layout;

	if (layout->heap_arenas.size == 0)
		return;
	if (layout->arena_size == 0 || layout->page_size < 16 || layout->page_size > 4096) {
		reader_damaged(r, "the layout makes no sense");
		return;
	}
	qsort(r->own, r->own_count, sizeof(*r->own), by_value);
	for (uint64_t at = 0; at + layout->arena_size <= layout->heap_arenas.size && r->damage == NULL; at += layout->arena_size)
		read_arena(r, heap + layout->heap_arenas.offset + at);
}

/* Metadata in an arena of its own, and in mappings: of these only the areas of slots are big enough. */
void read_metadata(struct reader *r, uint64_t heap)
{
	const struct dry_inspect *layout = r->layout;
	uint64_t at = heap + layout->heap_meta_arena.offset, pages = READ(r, heap, heap_meta_pages), base, committed, dirty;
	uint64_t area_size = READ(r, heap, heap_area_size);

	if (layout->heap_meta_arena.size == 0 || r->damage != NULL)
		return;
	base = READ(r, at, arena_base);
	committed = READ(r, at, arena_committed) * r->page_bytes;
	dirty = READ(r, at, arena_free_dirty) + READ(r, at, arena_limbo);
	if (pages > MAX_PAGES || dirty > MAX_PAGES || committed > MAX_PAGES * r->page_bytes || area_size > MAX_AREA) {
		reader_damaged(r, "metadata makes no sense");
		return;
	}
	sum_add(r->snapshot, SUM_METADATA, pages * r->page_bytes);
	if (base == 0)
		return;
	sum_add(r->snapshot, SUM_FREE_DIRTY, dirty * r->page_bytes);
	sum_add(r->snapshot, SUM_TRIM, dirty * r->page_bytes);
	add_arrays_beside(r, at);
	sum_add(r->snapshot, SUM_RESIDENT_OURS, reader_resident(r, base, committed, NULL));
	for (uint64_t s = 0; s < r->slots; s++)
		if (r->area[s] != 0 && r->area[s] - base >= committed)
			sum_add(r->snapshot, SUM_RESIDENT_OURS, reader_resident(r, r->area[s], area_size, NULL));
}
