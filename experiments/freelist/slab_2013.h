/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A slab cache on one CPU as it was in 2013 and as the 15 patches of that year left it, no more than it takes to
 * compare the two: slabs of one page, lists of partial and free slabs, an array cache in front.
 *
 *   threaded   descriptor of 40 bytes and index array together, in the slab, or, from 512 bytes on, elsewhere;
 *              the page descriptor points to them. The free indices are a list threaded through the array.
 *
 *      page desc --> | slab: list, first object, in use, free | 3 | 0 | END | 1 | ... | objects
 *
 *   stack      the page descriptor is the slab's, the index array alone is in the slab, or elsewhere. Entries
 *              [active, num) are the free indices.
 *
 *      page desc: list, first object, active, array --> | 6 | 1 | 4 | 0 | ... | objects
 *
 * Counts, if asked for: the cache lines of index arrays and of descriptors that a batch touches, each line once a
 * batch. Not thread-safe.
 */
#ifndef EXPERIMENTS_FREELIST_SLAB_2013_H
#define EXPERIMENTS_FREELIST_SLAB_2013_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define S13_PAGE      4096u
#define S13_MAX_LIMIT 128u

enum s13_layout { S13_THREADED, S13_STACK };

struct s13_link {
	struct s13_link *next, *prev;
};

/* The separate descriptor, 40 bytes, and the list behind it. */
struct s13_slab {
	struct s13_link list;
	char *first;
	uint32_t in_use, free; /* objects out; head of the threaded list */
	uint32_t colour, node;
	uint32_t bufctl[]; /* of a free object: the next one's index */
};
_Static_assert(sizeof(struct s13_slab) == 40, "as published");

/* The page descriptor, which exists in either layout; a cache line. */
struct s13_page {
	struct s13_link list;  /* stack */
	struct s13_cache *cache;
	struct s13_slab *slab; /* threaded */
	char *first;           /* stack, as the rest */
	void *array;
	uint32_t active;
	uint32_t unused[3];
};
_Static_assert(sizeof(struct s13_page) == 64, "a cache line");

enum s13_batch { S13_REFILL, S13_FLUSH, S13_BATCHES };

struct s13_counts {
	uint64_t objects, index_lines, descriptor_lines;
};

/* Pages, for all caches of a layout. */
struct s13_memory {
	char *base;
	struct s13_page *page;
	size_t pages, used;
	void *free_page; /* free pages, linked through their first word */
};

struct s13_cache {
	_Alignas(64) struct s13_memory *memory; /* so that the lines of the heads are the same ones in each run */
	enum s13_layout layout;
	uint32_t size, num, offset; /* slot; objects a slab; of the first object */
	uint32_t entry;             /* bytes of an index */
	uint64_t reciprocal;
	uint32_t colours, colour_next; /* offsets 0, 64, ... */
	bool off_slab;
	char *management;              /* off slab: slots of a power of two */
	size_t management_slot, management_used;
	void *free_management;
	struct s13_link partial, free; /* heads of rings */
	uint32_t free_slabs, free_limit;
	uint32_t limit, batch, avail;
	void *array[S13_MAX_LIMIT];
	struct s13_counts *counts; /* [S13_BATCHES]; NULL: do not count */
	uintptr_t seen[2][4 * S13_MAX_LIMIT]; /* lines of this batch: of index arrays, of descriptors */
	uint32_t seen_count[2];
};

bool s13_memory_init(struct s13_memory *memory, size_t pages);
bool s13_cache_init(struct s13_cache *cache, struct s13_memory *memory, enum s13_layout layout, uint32_t size, uint32_t entry,
		    uint32_t limit); /* false: no memory, as above */
void *s13_alloc(struct s13_cache *cache); /* NULL: no memory */
void s13_free(struct s13_cache *cache, void *object);

#endif
