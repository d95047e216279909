/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Big blocks: the rows of page runs, extents and guarded blocks by size, and the tables of the latter two. */
#include "reader.h"
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SLOTS ((uint64_t)1 << 26)
#define MAX_KEPT  65536
#define MAX_ENTRY 256
#define MAX_GUARDS ((uint64_t)1 << 24)
#define MAX_GUARD 1024
#define PIECE     ((size_t)1 << 18)

/* Four classes a doubling: the smallest that holds `bytes`. */
static uint64_t class_of(uint64_t bytes)
{
	unsigned shift;

	if (bytes <= 4096)
		return 4096;
	shift = 61 - (unsigned)__builtin_clzll(bytes - 1); /* a quarter of the power of two below */
	return ((bytes - 1) >> shift) + 1 < UINT64_MAX >> shift ? (((bytes - 1) >> shift) + 1) << shift : UINT64_MAX;
}

static void name_class(char *name, size_t size, const char *kind, uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	unsigned unit = 0;

	bytes /= 1024;
	while (bytes >= 1024 && bytes % 1024 == 0 && units[unit + 1] != '\0') {
		bytes /= 1024;
		unit++;
	}
	snprintf(name, size, "%s-%llu%c", kind, (unsigned long long)bytes, units[unit]);
}

void add_big_block(struct reader *r, enum row_kind kind, uint64_t bytes, uint64_t resident)
{
	static const struct {
		const char *name;
		enum total bytes, blocks;
	} what[ROW_KINDS] = { [ROW_RUNS] = { "run", SUM_LIVE_RUNS, SUM_BIG_BLOCKS },
			      [ROW_EXTENTS] = { "extent", SUM_LIVE_EXTENTS, SUM_BIG_BLOCKS },
			      [ROW_GUARDED] = { "guarded", SUM_GUARDED, SUM_GUARDED_BLOCKS } };
	struct snapshot *s = r->snapshot;
	uint64_t class = class_of(bytes);
	struct row *row = NULL;

	for (size_t i = s->count; i-- > r->first_row && s->rows[i].kind >= ROW_RUNS && row == NULL;)
		if (s->rows[i].kind == kind && s->rows[i].id == class)
			row = &s->rows[i];
	if (row == NULL) {
		row = reader_row(r, kind);
		if (row == NULL)
			return;
		row->id = class;
		name_class(row->name, sizeof(row->name), what[kind].name, class);
	}
	row->v[FIG_BYTES] += bytes;
	row->v[FIG_LIVE] += bytes;
	row->v[FIG_RESIDENT] += resident;
	row->v[FIG_ACTIVE]++;
	row->v[FIG_SIZE] = row->v[FIG_BYTES] / row->v[FIG_ACTIVE];
	sum_add(s, what[kind].bytes, bytes);
	sum_add(s, what[kind].blocks, 1);
}

/* Visit an array of `count` entries that lies at `at`, in pieces. */
static void for_entries(struct reader *r, uint64_t at, uint64_t count, uint32_t size, const struct dry_inspect_field *address,
			const struct dry_inspect_field *bytes, uint64_t mask, void (*visit)(struct reader *, uint64_t, uint64_t))
{
	uint64_t per_piece;
	unsigned char *piece;

	if (count == 0 || r->damage != NULL)
		return;
	if (size == 0 || size > MAX_ENTRY) {
		reader_damaged(r, "the layout makes no sense");
		return;
	}
	per_piece = PIECE / size;
	piece = cli_realloc(NULL, 1, PIECE);
	for (uint64_t done = 0; done < count && r->damage == NULL; done += per_piece) {
		uint64_t n = count - done < per_piece ? count - done : per_piece;

		if (!reader_bulk(r, at + done * size, piece, n * size))
			break;
		for (uint64_t i = 0; i < n && r->damage == NULL; i++) {
			uint64_t where = reader_field_of(r, piece + i * size, size, address);
			uint64_t length = reader_field_of(r, piece + i * size, size, bytes) & mask;

			if (where != 0 && length != 0 && length < (uint64_t)1 << 56)
				visit(r, where, length);
		}
	}
	free(piece);
}

static uint64_t resident(struct reader *r, uint64_t address, uint64_t bytes)
{
	uint64_t there = reader_resident(r, address, bytes, NULL);

	sum_add(r->snapshot, SUM_RESIDENT_OURS, there);
	return there;
}

static void map_extent(struct reader *r, enum piece_kind kind, uint64_t address, uint64_t bytes, uint64_t there)
{
	uint64_t pages = (bytes + r->page_bytes - 1) / r->page_bytes;

	map_piece(r, &(struct piece){ .kind = kind, .start = address, .pages = pages,
				      .used = r->pagemap >= 0 ? there / r->page_bytes : pages });
}

static void add_live(struct reader *r, uint64_t address, uint64_t bytes)
{
	uint64_t there = resident(r, address, bytes);

	add_big_block(r, ROW_EXTENTS, bytes, there);
	map_extent(r, PIECE_EXTENT, address, bytes, there);
}

static void add_kept(struct reader *r, uint64_t address, uint64_t bytes)
{
	map_extent(r, PIECE_KEPT, address, bytes, resident(r, address, bytes));
	sum_add(r->snapshot, SUM_EXTENTS_KEPT, bytes);
	sum_add(r->snapshot, SUM_TRIM, bytes);
}

void read_extents(struct reader *r, uint64_t heap)
{
	const struct dry_inspect *layout = r->layout;
	uint64_t table = READ(r, heap, extents_table), slots = READ(r, heap, extents_slots);
	uint64_t kept = READ(r, heap, extents_kept_count);
	uint64_t mask = layout->extent_bits < 64 ? ((uint64_t)1 << layout->extent_bits) - 1 : UINT64_MAX;

	if (slots > MAX_SLOTS || kept > MAX_KEPT) {
		reader_damaged(r, "the extents make no sense");
		return;
	}
	if (slots != 0) {
		sum_add(r->snapshot, SUM_METADATA, slots * layout->extent_size);
		resident(r, table, slots * layout->extent_size);
	}
	map_region(r, "extents");
	for_entries(r, table, slots, layout->extent_size, &layout->extent_address, &layout->extent_bytes,
		    mask, add_live);
	for_entries(r, READ(r, heap, extents_kept), kept, layout->kept_size, &layout->kept_address, &layout->kept_bytes,
		    UINT64_MAX, add_kept);
	map_sort(r);
}

static void add_guard(struct reader *r, const unsigned char *entry, uint64_t base)
{
	const struct dry_inspect *layout = r->layout;
	uint64_t page = reader_field_of(r, entry, layout->guard_size, &layout->guard_page) * r->page_bytes;
	uint64_t bytes = reader_field_of(r, entry, layout->guard_size, &layout->guard_pages) * r->page_bytes;

	if (bytes != 0 && reader_field_of(r, entry, layout->guard_size, &layout->guard_state) == layout->guard_live)
		add_big_block(r, ROW_GUARDED, bytes, resident(r, base + page, bytes));
}

void read_guarded(struct reader *r)
{
	const struct dry_inspect *layout = r->layout;
	uint64_t guards = (uintptr_t)layout->guards, base, table, count, per_piece;
	unsigned char *piece;

	if (guards == 0 || !r->default_heap || r->damage != NULL)
		return;
	base = READ(r, guards, guards_base);
	table = READ(r, guards, guards_table);
	count = READ(r, guards, guards_fresh);
	if (base == 0 || r->damage != NULL)
		return;
	if (layout->guard_size == 0 || layout->guard_size > MAX_GUARD || count > MAX_GUARDS) {
		reader_damaged(r, "the guarded blocks make no sense");
		return;
	}
	add_metadata(r, table, READ(r, guards, guards_table_bytes));
	add_metadata(r, READ(r, guards, guards_owner), READ(r, guards, guards_bytes) / r->page_bytes * sizeof(uint32_t));
	per_piece = PIECE / layout->guard_size;
	piece = cli_realloc(NULL, 1, PIECE);
	for (uint64_t done = 0; done < count && r->damage == NULL; done += per_piece) {
		uint64_t n = count - done < per_piece ? count - done : per_piece;

		if (!reader_bulk(r, table + done * layout->guard_size, piece, n * layout->guard_size))
			break;
		for (uint64_t i = 0; i < n && r->damage == NULL; i++)
			add_guard(r, piece + i * layout->guard_size, base);
	}
	free(piece);
}
