/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Memory for metadata: what the allocator believes, away from what users write.
 *
 *   up to half a page   a piece: a page has pieces of one size, a power of two; bits in its descriptor tell the free ones
 *   below DRY_META_BIG  a run of an arena that holds nothing else
 *   else                a mapping of its own, unmapped by its free
 *   areas               as far as they are used, at places that nobody else maps: area.c
 *
 *   | guard | page | page | ... | guard |      guard: a page that was never committed, so that a touch faults
 *
 * The arena and each mapping lie between guard pages. Over memory that a user handed in there is nothing else to take: then
 * pieces and runs, of any size, are pages of the users' arena, side by side with blocks, and without guard pages.
 *
 * Concurrency: one lock (rank META), held over the calls of the page layer and the port. Not to be called with a lock
 * from META on held. What is handed out is the caller's.
 *
 * Must not know: what the metadata is; objects, caches, errno.
 */
#ifndef DRY_PAGE_META_H
#define DRY_PAGE_META_H

#include "page/page.h"

#define DRY_META_BIG     ((size_t)64 << 10)
#define DRY_META_AREA    ((size_t)64 << 10) /* areas that may be bigger than that grow */
#define DRY_META_CLASSES 8 /* sizes of pieces: page size / 256 to page size / 2 */

/*
 * pages * page size = bytes + free pieces of the pages on partial[]
 * pages of blocks' own memory: own.used + big = pages <= users->charged
 */
struct dry_meta {
	struct dry_arena *users; /* whose limit counts; over memory of a user, where pages come from */
	struct dry_arena own;    /* not made over memory of a user */
	struct dry_lock lock;
	/* guarded by lock */
	uint32_t partial[DRY_META_CLASSES]; /* pages with pieces in use and free ones; index or DRY_PAGE_NIL */
	size_t pages;                       /* taken */
	size_t big;                         /* of them, in mappings of their own */
	size_t bytes;                       /* in use, sizes rounded up */
	char *place;                        /* where the next area may begin */
	size_t places;                      /* bytes from there to the end of its window */
};

/*
 * For the heap whose blocks are in `users`. 0 or -ENOMEM. The struct may be copied while nobody uses it; `users` has to be
 * set anew where that arena moves.
 */
int dry_meta_init(struct dry_meta *meta, struct dry_arena *users);
/* Pieces and runs go back at once; what is DRY_META_BIG or more has to be freed before. */
void dry_meta_fini(struct dry_meta *meta);

/*
 * Aligned to its size rounded up to a power of two, at most to a page. zeroed: or else what was there is there, and who writes
 * little touches little. NULL: no memory, or the limit of `users`.
 */
void *dry_meta_alloc_as(struct dry_meta *meta, size_t bytes, bool zeroed);
static inline void *dry_meta_alloc(struct dry_meta *meta, size_t bytes)
{
	return dry_meta_alloc_as(meta, bytes, true);
}
/* at: what dry_meta_alloc() gave for as many bytes; NULL: nothing is done. */
void dry_meta_free(struct dry_meta *meta, void *at, size_t bytes);

/*
 * An area: zeroed memory that grows in place from `bytes`, both a multiple of DRY_META_AREA, up to `most`; it may be there
 * as a whole at once. NULL, false: as above, or others' memory is in the way. Free: what lies from `from` to `to`, where it ends.
 */
void *dry_meta_area_alloc(struct dry_meta *meta, size_t bytes, size_t most);
bool dry_meta_area_extend(struct dry_meta *meta, void *area, size_t from, size_t to, size_t most);
void dry_meta_area_free(struct dry_meta *meta, void *area, size_t from, size_t to, size_t most);

/* Give memory that is free back to the port; decay: what was free for so many calls (page.h). */
void dry_meta_purge(struct dry_meta *meta);
void dry_meta_decay(struct dry_meta *meta, unsigned age);

/* In the child of a fork, whose forking thread holds meta->lock and meta->own.lock: the same for its own arena. */
void dry_meta_after_fork(struct dry_meta *meta);

/* Verify the equations. NULL, or the name of what does not hold. */
const char *dry_meta_check(struct dry_meta *meta);

#endif
