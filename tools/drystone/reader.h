/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the files that read a heap share: one attempt to read everything. The process goes on meanwhile, and may be damaged: every
 * loop is bounded, every value checked before it is used as a count or address.
 */
#ifndef DRYSTONE_READER_H
#define DRYSTONE_READER_H

#include "walk.h"

#define MAX_STRUCT 65536 /* bytes between a struct's start and a field in it */

struct reader {
	const struct target *target;
	const struct dry_inspect *layout;
	const struct walk_options *options;
	struct snapshot *snapshot;
	const char *damage; /* NULL, or the first thing that made no sense */
	int pagemap;        /* which pages are resident; -1: not known */
	uint64_t looked_at; /* pages so far */
	uint64_t bulk;      /* bytes that reader_bulk() read so far */
	/* of the heap at hand */
	char heap_name[ROW_NAME];
	bool default_heap;
	uint64_t page_bytes; /* of its pages */
	uint64_t nodes, slots;
	uint64_t *area;      /* [slots] */
	uint64_t *addresses; /* [slots], then as many values */
	size_t first_row;    /* its rows begin here */
	uint64_t *own;       /* addresses of what drystone has for itself in page runs; sorted for read_arenas() */
	size_t own_count, own_room;
};

#define READ(r, base, field) reader_field(r, base, &(r)->layout->field)

void reader_damaged(struct reader *r, const char *what);
/* An integer or pointer of the struct at base. A field that the library lacks is 0. */
uint64_t reader_field(struct reader *r, uint64_t base, const struct dry_inspect_field *field);
/* The same of a copy of the struct, `size` bytes. */
uint64_t reader_field_of(struct reader *r, const unsigned char *bytes, size_t size, const struct dry_inspect_field *field);
/* A piece of a big array; false: it is not mapped, or more was read than any heap has. */
bool reader_bulk(struct reader *r, uint64_t address, void *buffer, size_t size);
/* A row about the heap at hand; NULL: there are more than any process has. */
struct row *reader_row(struct reader *r, enum row_kind kind);

/*
 * pieces.c: for the map, if it was asked for: a region of the heap at hand begins; one more piece of it. Pieces that nobody
 * has become one where they touch.
 */
void map_region(struct reader *r, const char *what);
void map_piece(struct reader *r, const struct piece *piece);
/* One piece without an address, of so many bytes. */
void map_sum(struct reader *r, const char *what, enum piece_kind kind, uint64_t bytes);
/* The pieces of the last region by address. */
void map_sort(struct reader *r);

/* arenas.c: slabs, page runs and free pages of the heap. */
void read_arenas(struct reader *r, uint64_t heap);
void read_metadata(struct reader *r, uint64_t heap);
void add_metadata(struct reader *r, uint64_t address, uint64_t bytes);
/* extents.c */
void read_extents(struct reader *r, uint64_t heap);
void read_guarded(struct reader *r);
/* Count a big block in the row of its size. */
void add_big_block(struct reader *r, enum row_kind kind, uint64_t bytes, uint64_t resident);

/*
 * resident.c: bytes of [start, start + bytes) that are in memory, whole pages; bits (if not NULL, a bit for each page of the
 * system): which. Without a way to know, it gives 0 and closes r->pagemap.
 */
uint64_t reader_resident(struct reader *r, uint64_t start, uint64_t bytes, uint64_t *bits);
/* Bits that are set in [first, first + count). */
uint64_t bits_in(const uint64_t *bits, uint64_t first, uint64_t count);

#endif
