/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The hit path: the only place where objects go in and out of array caches one by
 * one. Everything else is in the slow twins (alloc.c).
 */
#ifndef DRY_CORE_FAST_H
#define DRY_CORE_FAST_H

#include "core/heap.h"

/* Slow twins. dry_free_slow accepts any pointer and says what is wrong with it. */
DRY_SLOW void *dry_alloc_slow(struct dry_cache *cache);
DRY_SLOW void dry_free_slow(struct dry_cache *cache, void *object);

/* Whether the map says that ptr lies in a page of a cache with this free place. */
DRY_FAST bool dry_fast_is_of(const struct dry_heap *heap, const void *ptr, uint32_t free_at)
{
	size_t granule = ((uintptr_t)ptr - heap->arena.base) >> DRY_GRANULE_SHIFT;

	return DRY_LIKELY(granule < heap->arena.granules) && DRY_LIKELY(heap->arena.map[granule] == free_at);
}

DRY_FAST void *dry_fast_alloc(struct dry_cache *cache)
{
	void *object = dry_percpu_pop(DRY_SLOTS(cache->heap), cache->pop_at);

	return DRY_LIKELY(object != NULL) ? object : dry_alloc_slow(cache);
}

DRY_FAST void dry_fast_free(struct dry_cache *cache, void *object)
{
	if (DRY_LIKELY(dry_fast_is_of(cache->heap, object, cache->free_at)) &&
	    DRY_LIKELY(dry_percpu_push(DRY_SLOTS(cache->heap), cache->free_at, object)))
		return;
	dry_free_slow(cache, object);
}

#endif
