/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the core calls for caches with debugging. src/debug defines it; core
 * knows this table only. Called without locks, from slow paths only: a debugged
 * cache has no array caches. An entry may be NULL where its comment says so.
 */
#ifndef DRY_CORE_DEBUG_OPS_H
#define DRY_CORE_DEBUG_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dry_cache;

struct dry_debug_ops {
	/* Room around an object: sets before, owner_at and size; object_size, align and flags are set. NULL: none */
	void (*layout)(struct dry_cache *cache);
	void (*slab_made)(struct dry_cache *cache, void *object);  /* object is free, in a fresh slab */
	void (*handed_out)(struct dry_cache *cache, void *object); /* about to go to the program */
	/* About to become free; true: put it into its slab now. false: kept for later, or refused after a report. */
	bool (*taken_back)(struct dry_cache *cache, void *object);
	void (*last_look)(struct dry_cache *cache, void *object); /* free, and its slab about to go */
	/* The slab kept its free list in the first bytes of a free object, and does so no more. NULL: is never asked for */
	void (*restore)(struct dry_cache *cache, void *object, size_t bytes);
	void (*drain)(struct dry_cache *cache);                   /* put what is kept into its slabs. NULL: nothing ever is */
	void (*left_over)(struct dry_cache *cache);               /* destroyed with objects out. NULL: says nothing of them */
	/* General caches: the size that was asked for, of a live object; and what is usable, 0: it is none. NULL: the slot's */
	void (*sized)(struct dry_cache *cache, void *object, size_t size);
	size_t (*usable)(struct dry_cache *cache, const void *object);
	uint64_t (*random)(void); /* which free object is next; NULL: the lowest. Called under a node's lock */
};

extern const struct dry_debug_ops dry_debug_checked;
extern const struct dry_debug_ops dry_debug_secure; /* caches with DRY_CACHE_SECURE (core/cache.h) */

/* Flags (DRY_CACHE_DEBUG) that the options ask for, for a cache of this name. */
unsigned dry_debug_wanted(const char *name);

#endif
