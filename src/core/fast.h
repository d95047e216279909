/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The hit: the only place where objects go in and out of arrays one by one. Who calls goes to the slow twins
 * (core/alloc.h) where there is no hit.
 */
#ifndef DRY_CORE_FAST_H
#define DRY_CORE_FAST_H

#include "core/cache.h"

/* NULL: the array is empty, or there is none. */
DRY_FAST void *dry_fast_alloc(struct dry_cache *cache)
{
	return dry_percpu_pop(DRY_SLOTS(cache->caches), cache->hits);
}

/* false: the array is full, or the object is not plainly one of the cache. */
DRY_FAST bool dry_fast_free(struct dry_cache *cache, void *object)
{
	return DRY_LIKELY(dry_backing_is_of(&cache->caches->backing, object, cache->hits)) &&
	       DRY_LIKELY(dry_percpu_push(DRY_SLOTS(cache->caches), cache->hits, object));
}

#endif
