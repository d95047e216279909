/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The pieces of a heap for the map, as they are read. */
#include "reader.h"
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#define MAX_REGIONS ((size_t)1 << 16)
#define MAX_PIECES  ((size_t)1 << 23)

void map_region(struct reader *r, const char *what)
{
	struct map *map = &r->snapshot->map;
	struct region *region;

	if (!r->options->map)
		return;
	if (map->regions == MAX_REGIONS) {
		reader_damaged(r, "there is no end of heaps");
		return;
	}
	if (map->regions == map->region_room) {
		map->region_room = map->region_room != 0 ? map->region_room * 2 : 8;
		map->region = cli_realloc(map->region, map->region_room, sizeof(*map->region));
	}
	region = &map->region[map->regions++];
	*region = (struct region){ .what = what, .page_bytes = r->page_bytes, .first = map->pieces };
	memcpy(region->heap, r->heap_name, sizeof(region->heap));
}

void map_piece(struct reader *r, const struct piece *piece)
{
	struct map *map = &r->snapshot->map;
	struct piece *last = map->pieces != 0 ? &map->piece[map->pieces - 1] : NULL;

	if (!r->options->map || map->regions == 0)
		return;
	if (piece->kind == PIECE_GONE && map->pieces > map->region[map->regions - 1].first && last->kind == PIECE_GONE &&
	    last->start + last->pages * r->page_bytes == piece->start) {
		last->pages += piece->pages;
		return;
	}
	if (map->pieces == MAX_PIECES) {
		reader_damaged(r, "it has more pieces than a map can show");
		return;
	}
	if (map->pieces == map->piece_room) {
		map->piece_room = map->piece_room != 0 ? map->piece_room * 2 : 256;
		map->piece = cli_realloc(map->piece, map->piece_room, sizeof(*map->piece));
	}
	last = &map->piece[map->pieces++];
	*last = *piece;
	if (piece->kind == PIECE_SLAB && last->used > r->snapshot->rows[piece->row].v[FIG_PER_SLAB])
		last->used = r->snapshot->rows[piece->row].v[FIG_PER_SLAB];
	else if (piece->kind != PIECE_SLAB && last->used > piece->pages)
		last->used = piece->pages;
}

void map_sum(struct reader *r, const char *what, enum piece_kind kind, uint64_t bytes)
{
	uint64_t pages = (bytes + r->page_bytes - 1) / r->page_bytes;

	if (pages == 0)
		return;
	map_region(r, what);
	map_piece(r, &(struct piece){ .kind = kind, .pages = pages, .used = pages });
}

static int by_start(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void map_sort(struct reader *r)
{
	struct map *map = &r->snapshot->map;
	size_t first = map->regions != 0 ? map->region[map->regions - 1].first : 0;

	if (map->pieces > first)
		qsort(map->piece + first, map->pieces - first, sizeof(*map->piece), by_start);
}
