/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * One slab: making it, taking objects out of it, putting them back, by each
 * management type. States: private (its maker alone knows it), then partial, full
 * or free under its node's lock, then gone. A fresh slab's objects are taken from
 * the lowest address up.
 *
 * Must not know: array caches, nodes' lists.
 */
#ifndef DRY_CORE_SLAB_H
#define DRY_CORE_SLAB_H

#include "core/heap.h"

/* A new slab, all objects constructed and free, on no list; NULL: no memory. Takes no node lock. */
struct dry_page *dry_slab_new(struct dry_cache *cache, unsigned node, uint32_t colour);

/* Give a slab's pages back; after a grace period where the cache asks for it. */
void dry_slab_free(struct dry_cache *cache, struct dry_page *slab);

/*
 * Take up to max objects. They stand in objects[] so that the last one has the
 * lowest address: pushed on a stack, they come off in address order. Returns the number.
 */
unsigned dry_slab_take(struct dry_cache *cache, struct dry_page *slab, void **objects, unsigned max);

/* Debugged caches: an object just taken had the slab's free list in it. Only known before the lock is dropped. */
bool dry_slab_wrote_into(const struct dry_cache *cache, const struct dry_page *slab);

/* ... then, without the lock: it is as it was. */
void dry_slab_restore(struct dry_cache *cache, void *object);

/* Put an object back that dry_slab_index() has accepted. false: it is free already. */
bool dry_slab_put(struct dry_cache *cache, struct dry_page *slab, void *object, unsigned index);

/* Whether the object at index is free; slow for the list types. */
bool dry_slab_is_free(const struct dry_cache *cache, const struct dry_page *slab, unsigned index);

/* Objects that are free, each counted once however often it is listed. As fast as looking at one of a list type. */
uint32_t dry_slab_count_free(const struct dry_cache *cache, const struct dry_page *slab);

/* Start of the slab's first object. */
static inline char *dry_slab_objects(const struct dry_cache *cache, const struct dry_page *slab)
{
	const struct dry_arena *arena = &cache->heap->arena;

	return (char *)dry_arena_address(arena, dry_arena_index_of(arena, slab)) + slab->slab.first;
}

/* Index of the object that starts at ptr; UINT32_MAX if none does. */
static inline uint32_t dry_slab_index(const struct dry_cache *cache, const struct dry_page *slab, const void *ptr)
{
	uint64_t offset = (uint64_t)((uintptr_t)ptr - (uintptr_t)dry_slab_objects(cache, slab));
	uint64_t index = offset * cache->reciprocal >> 44;

	return index < cache->num && index * cache->size == offset ? (uint32_t)index : UINT32_MAX;
}

/* The slab of an object of this cache, by the natural alignment of slabs. */
static inline struct dry_page *dry_slab_of(const struct dry_cache *cache, const void *ptr)
{
	const struct dry_arena *arena = &cache->heap->arena;

	return &arena->desc[dry_arena_block_start(arena, dry_arena_index(arena, ptr), cache->order)];
}

/* layout.c: fills in size, num, order, management type, colours. 0 or -EINVAL. */
size_t dry_cache_align(const struct dry_cache_attr *attr);
int dry_cache_layout(struct dry_cache *cache, const struct dry_cache_attr *attr);

/* check.c: NULL, or what does not hold in a slab. */
const char *dry_slab_check(const struct dry_cache *cache, const struct dry_page *slab);

#endif
