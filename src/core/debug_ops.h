/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What core calls for debugged caches: those that somebody wants to look at each object of. Such a cache has no arrays, so
 * all of it is on slow paths. src/debug registers itself (struct dry_caches, `hooks`); core links without it.
 */
#ifndef DRY_CORE_DEBUG_OPS_H
#define DRY_CORE_DEBUG_OPS_H

#include <drystone/drystone.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kind.h"
#include "core/backing.h"

struct dry_cache;
struct dry_caches;

/* Called without locks but where it says otherwise. An entry may be NULL where its comment says so. */
struct dry_debug_ops {
	/* Room around an object: sets before, record_at and size; object_size, align and flags are set. NULL: none */
	void (*layout)(struct dry_cache *cache);
	void (*slab_made)(struct dry_cache *cache, void *object);  /* object is free, in a fresh slab */
	/* A free object, from wherever some wait for that, counted; NULL: one from the slabs. NULL: they always come from there */
	void *(*take)(struct dry_cache *cache, dry_gfp gfp, unsigned node);
	void (*handed_out)(struct dry_cache *cache, void *object); /* about to go to the program */
	/* About to become free; true: put it into its slab now. false: kept for later, or refused after a report. */
	bool (*taken_back)(struct dry_cache *cache, void *object);
	void (*last_look)(struct dry_cache *cache, void *object); /* free, and its slab about to go. NULL: none */
	/* The slab kept its free list in the first bytes of a free object, and does so no more. NULL: is never asked for */
	void (*restore)(struct dry_cache *cache, void *object, size_t bytes);
	void (*drain)(struct dry_cache *cache);                   /* put what is kept into its slabs. NULL: nothing ever is */
	void (*left_over)(struct dry_cache *cache);               /* destroyed with objects out. NULL: says nothing of them */
	/*
	 * General caches: the size that was asked for, of a live object; false: it cannot have that. And what is usable, or
	 * one of those below (freeing: for a free, of which the report then is); NULL: the slab's.
	 */
	bool (*sized)(struct dry_cache *cache, void *object, size_t size);
	size_t (*usable)(struct dry_cache *cache, const void *object, bool freeing);
	/* The kind of a live object, which becomes `to`. UNKNOWN: it is not live. NULL: none is kept */
	enum dry_kind (*kind)(struct dry_cache *cache, void *object, enum dry_kind to);
};

/* Fences (debug/fence.h): of smaller slabs a page would be too much; bigger ones are made for one big object. */
static inline bool dry_has_fence_inside(unsigned order)
{
	return order == 3 || order == 4;
}

#define DRY_NOT_LIVE (SIZE_MAX - 1) /* no live object; its free will report it */
#define DRY_REPORTED SIZE_MAX       /* no live object, and that was reported */

/*
 * How somebody takes part in a set of caches; a NULL entry: not at all. Immutable but for start-up, when the program's
 * wishes become known.
 */
struct dry_debug_hooks {
	/* Flags that a cache shall have besides those of attr. One that cannot have them is made without. */
	unsigned (*wanted)(const struct dry_cache_attr *attr);
	/* The operations of a cache with these flags, before and (typed) after its type is known; NULL: not debugged. */
	const struct dry_debug_ops *(*choose)(const struct dry_cache *cache, bool typed);
	bool (*allows)(const struct dry_cache *cache); /* asked by every slow allocation; false: it fails */
	/* Of caches with DRY_CACHE_CHECKED. An object is about to be handed out; false: somebody has it, which was reported. */
	bool (*claim)(const struct dry_cache *cache, const void *object);
	/* It is freed; false: nobody has it, which will be. */
	bool (*release)(const struct dry_cache *cache, const void *object);
	/*
	 * Of such a cache a slab was made, of which nobody knows yet; or (made false) all of one is free, and it is about to
	 * go. false: somebody has an object of it, which was reported; it stays, for good.
	 */
	bool (*slab)(const struct dry_cache *cache, const void *start, size_t bytes, bool made);
	void (*heap)(struct dry_caches *caches);       /* a heap of the program's is made */
	void (*heap_gone)(struct dry_caches *caches);  /* and about to be destroyed, with what is in it */
	bool no_arrays;                                /* every allocation is to be a slow one */
	bool no_refill;                                /* arrays have what was freed alone; a slab is asked for one object */
	bool fences;  /* slabs of some orders leave their last page for one: dry_has_fence_inside() */
	uint8_t tail; /* bytes that a general cache leaves its objects short of the slot: for a canary */
};

#endif
