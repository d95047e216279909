/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The caches of a heap's size classes, and the tables by which hits of the default heap find their arrays. */
#ifndef DRY_MALLOC_CLASSES_H
#define DRY_MALLOC_CLASSES_H

#include "heap/heap.h"
#include "malloc/size_class.h"

/* The cache of a class; made at first use. NULL: no memory; or a lock is held, for a destructor may allocate, and it takes two. */
struct dry_cache *dry_general_cache(struct dry_heap *heap, unsigned class);

/* Somebody has set a limit to 0, that the next allocation goes the slow way (<drystone/inspect.h>): it has, hits are hits again. */
void dry_general_reopen(void);

/* Back to no cache for any class of the default heap, and no fast path; what is allocated stays valid. At start only. */
void dry_general_forget(struct dry_heap *heap);

/*
 * The default heap's place of the array to allocate from, by size rounded up to 16, in units of
 * 16. 0 (the stopped array) while the class has no cache: that leads to the slow path,
 * and there to the cache. Written once per class.
 */
extern DRY_HIDDEN struct dry_hit_limits {
	size_t size;     /* DRY_CLASS_MAX + 1 from the first cache on; 0 before, and where the next call shall be no hit */
	size_t granules; /* of the arena, likewise */
} dry_hits;
extern DRY_HIDDEN size_t dry_checked_limit; /* as dry_hits.size less 1, under check:1 */
extern DRY_HIDDEN uint16_t dry_class_at[DRY_CLASS_MAX / 16 + 1];

/*
 * The way back: the size of a class by the place of the array that its frees push, which is what the page map holds, in
 * units of DRY_AREA_UNIT. 0: not the place of a class. Written once per class, before its first page.
 */
extern DRY_HIDDEN uint16_t dry_class_size_at[DRY_AREA_MAX / DRY_AREA_UNIT];

#endif
