/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the core calls for caches with debugging. src/debug defines it; core
 * knows this table only. Called without locks, from slow paths only: a debugged
 * cache has no array caches.
 */
#ifndef DRY_CORE_DEBUG_OPS_H
#define DRY_CORE_DEBUG_OPS_H

struct dry_cache;

struct dry_debug_ops {
	void (*slab_made)(struct dry_cache *cache, void *object);  /* object is free, in a fresh slab */
	void (*handed_out)(struct dry_cache *cache, void *object); /* about to go to the program */
	void (*taken_back)(struct dry_cache *cache, void *object); /* about to become free */
};

extern const struct dry_debug_ops dry_debug_poison;

#endif
