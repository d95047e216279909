/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A map as data of a page. The pieces of a region are a string of numbers, in base64: each number 7 bits a byte, the lowest
 * first, the top bit set in all bytes but the last.
 *
 *   0 N                 the last piece N times more, each behind the other
 *   1 PAGE              the next piece begins at this page of the address space, not behind the last one
 *   2 USED              the last piece once more, but for what is used
 *   3+KIND PAGES USED   a piece; KIND PIECE_SLAB and above: a slab of cache KIND - PIECE_SLAB
 *
 * 10^6 slabs, each unlike the one before, take 4 to 6 MB.
 */
#define _GNU_SOURCE
#include "map.h"
#include "cli.h"
#include "page.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- numbers in base64 --------------------------------------------------------------------------------- */

struct encoder {
	FILE *out;
	uint32_t bits;
	unsigned bytes; /* in bits: 0 to 2 */
};

static void put_group(const struct encoder *e, unsigned characters)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (unsigned i = 0; i < 4; i++)
		putc(i < characters ? digits[e->bits >> (18 - 6 * i) & 63] : '=', e->out);
}

static void put_byte(struct encoder *e, unsigned byte)
{
	e->bits |= (uint32_t)byte << (16 - 8 * e->bytes);
	if (++e->bytes < 3)
		return;
	put_group(e, 4);
	e->bits = e->bytes = 0;
}

static void put_number(struct encoder *e, uint64_t value)
{
	for (; value > 127; value >>= 7)
		put_byte(e, (unsigned)(value & 127) | 128);
	put_byte(e, (unsigned)value);
}

static void put_end(struct encoder *e)
{
	if (e->bytes != 0)
		put_group(e, e->bytes + 1);
	e->bits = e->bytes = 0;
}

/* ---- caches --------------------------------------------------------------------------------------------- */

/* A cache of the page, for all snapshots. */
struct known {
	size_t index;
	struct row row; /* as it was seen last */
};

static int by_cache(const void *a, const void *b)
{
	const struct known *x = a, *y = b;
	int result = strcmp(x->row.name, y->row.name);

	if (result == 0)
		result = strcmp(x->row.heap, y->row.heap);
	return result != 0 ? result : x->row.id < y->row.id ? -1 : x->row.id > y->row.id;
}

static size_t index_of(struct map_page *page, const struct row *row)
{
	struct known *mine = cli_realloc(NULL, 1, sizeof(*mine)), **found;

	*mine = (struct known){ .index = page->caches, .row = *row };
	found = tsearch(mine, &page->known, by_cache);
	if (found == NULL) {
		cli_error("out of memory");
		exit(CLI_FAILED);
	}
	if (*found == mine) {
		page->caches++;
		return mine->index;
	}
	free(mine);
	return (*found)->index;
}

/* ---- the page -------------------------------------------------------------------------------------------- */

/* The kind as the page knows it: with the cache, where it is a slab. */
static uint64_t kind_of(const struct piece *piece, const size_t *index)
{
	return (uint64_t)piece->kind + (piece->kind == PIECE_SLAB ? index[piece->row] : 0);
}

/* How many pieces from `piece` on are as it is and lie behind each other, with it. */
static size_t alike(const struct piece *piece, const struct piece *end, uint64_t page_bytes)
{
	const struct piece *next = piece;

	while (++next < end)
		if (next->kind != piece->kind || next->row != piece->row || next->pages != piece->pages ||
		    next->used != piece->used || next->start != next[-1].start + next[-1].pages * page_bytes)
			break;
	return (size_t)(next - piece);
}

static void put_pieces(FILE *out, const struct region *region, const struct piece *piece, const struct piece *end,
		       const size_t *index)
{
	struct encoder e = { .out = out };
	uint64_t behind = UINT64_MAX;

	for (const struct piece *last = NULL; piece < end; last = piece - 1) {
		size_t count = alike(piece, end, region->page_bytes);

		if (piece->start != behind) {
			put_number(&e, 1);
			put_number(&e, piece->start / region->page_bytes);
		}
		if (last != NULL && last->kind == piece->kind && last->row == piece->row && last->pages == piece->pages) {
			put_number(&e, 2);
		} else {
			put_number(&e, 3 + kind_of(piece, index));
			put_number(&e, piece->pages);
		}
		put_number(&e, piece->used);
		if (count > 1) {
			put_number(&e, 0);
			put_number(&e, count - 1);
		}
		piece += count;
		behind = piece[-1].start + piece[-1].pages * region->page_bytes;
	}
	put_end(&e);
}

static void put_regions(FILE *out, const struct map *map, const size_t *index)
{
	fputs("regions: [", out);
	for (size_t i = 0; i < map->regions; i++) {
		const struct region *region = &map->region[i];
		size_t end = i + 1 < map->regions ? region[1].first : map->pieces;

		if (end == region->first)
			continue;
		fputs("\n{heap: ", out);
		page_text(out, region->heap);
		fprintf(out, ", what: \"%s\", page: %" PRIu64 ", count: %zu, data: \"", region->what, region->page_bytes,
			end - region->first);
		put_pieces(out, region, map->piece + region->first, map->piece + end, index);
		fputs("\"},", out);
	}
	fputs("]},\n", out);
}

void map_page_begin(struct map_page *page, FILE *out, const struct snapshot *first)
{
	char date[64];
	time_t now = time(NULL);

	*page = (struct map_page){ .out = out, .first_when = first->when };
	page->rest = page_begin(page_map, out);
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S %z", localtime(&now));
	fputs("const program = ", out);
	page_text(out, first->program);
	fprintf(out, ", pid = %d, date = \"%s\";\nconst snapshots = [\n", first->pid, date);
}

void map_page_add(struct map_page *page, const struct snapshot *s)
{
	static const enum total totals[] = { SUM_RSS,   SUM_ALLOCATED, SUM_WASTE,    SUM_RETAINED,
					     SUM_METADATA, SUM_UNTOUCHED, SUM_OTHERS };
	size_t *index = cli_realloc(NULL, s->count + 1, sizeof(*index));

	fprintf(page->out, "{program: ");
	page_text(page->out, s->program);
	fprintf(page->out, ", pid: %d, seconds: %.3f, resident: %s, totals: [", s->pid, s->of_core ? 0 : s->when - page->first_when,
		s->has_resident ? "true" : "false");
	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++)
		if (s->has[totals[i]])
			fprintf(page->out, "[\"%s\", %" PRIu64 "], ", total_info[totals[i]].text, s->sum[totals[i]]);
	fputs("],\nobjects: [", page->out); /* of caches: index, objects that the program holds, that are in arrays */
	for (size_t i = 0; i < s->count; i++) {
		const struct row *row = &s->rows[i];

		if (row->kind != ROW_CACHE)
			continue;
		index[i] = index_of(page, row);
		fprintf(page->out, "[%zu,%" PRIu64 ",%" PRIu64 "],", index[i], row->v[FIG_ACTIVE],
			row->v[FIG_ARRAYS] + row->v[FIG_SHARED] + row->v[FIG_ALIEN] + row->v[FIG_KEPT]);
	}
	fputs("],\n", page->out);
	put_regions(page->out, &s->map, index);
	page->snapshots++;
	free(index);
}

static struct known **in_order; /* of the walk under way */

static void visit(const void *node, VISIT which, int depth)
{
	struct known *known = *(struct known *const *)node;

	(void)depth;
	if (which == postorder || which == leaf)
		in_order[known->index] = known;
}

void map_page_end(struct map_page *page)
{
	in_order = cli_realloc(NULL, page->caches + 1, sizeof(*in_order));
	twalk(page->known, visit);
	fputs("];\nconst caches = [\n", page->out);
	for (size_t i = 0; i < page->caches; i++) {
		const struct row *row = &in_order[i]->row;
		char name[2 * ROW_NAME + 32];

		row_full_name(row, name, sizeof(name));
		fputs("{name: ", page->out);
		page_text(page->out, name);
		fprintf(page->out, ", size: %" PRIu64 ", perSlab: %" PRIu64 "},\n", row->v[FIG_SIZE], row->v[FIG_PER_SLAB]);
	}
	fputs("];\n", page->out);
	fputs(page->rest, page->out);
	tdestroy(page->known, free);
	free(in_order);
	page->known = NULL;
}
