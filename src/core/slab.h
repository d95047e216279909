/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * One slab: making it, taking objects out of it, putting them back. How it knows its free objects is freelist.h's.
 * States: private (its maker alone knows it), then partial, full or free under its node's lock, then gone. A fresh
 * slab's objects are taken from the lowest address up.
 *
 * Must not know: arrays, nodes' lists.
 */
#ifndef DRY_CORE_SLAB_H
#define DRY_CORE_SLAB_H

#include "core/cache.h"
#include "core/freelist.h"

#define DRY_GROWING 16 /* slabs of a cache: one more is a sixteenth */

/* A new slab, all objects constructed and free, on no list; NULL: no memory. Takes no lock. */
struct dry_slab *dry_slab_new(struct dry_cache *cache, unsigned node, dry_gfp gfp, uint32_t colour);

/* Give a slab's pages back, its objects destructed; after a grace period where the cache asks for it. */
void dry_slab_free(struct dry_cache *cache, struct dry_slab *slab);

/*
 * Take up to max objects. They stand in objects[] so that the last one has the lowest address: pushed on a stack, they come off
 * in address order. So many `more` are asked for next and pushed on top: they are the lower ones of a bitmap, and some of `max`
 * are left to them, so that of a new slab whole words are taken. Returns the number.
 */
unsigned dry_slab_take(struct dry_cache *cache, struct dry_slab *slab, void **objects, unsigned max, unsigned more);

/*
 * Put objects back: the first one, which lies in this slab, and those after it that do. Their number. Reports those that are
 * no objects in use, and drops them. A slab that is gone is recognised.
 */
unsigned dry_slab_put(struct dry_cache *cache, struct dry_slab *slab, void *const *objects, unsigned count);

/* Debugged caches: an object just taken had the slab's free list in it. Only known before the lock is dropped. */
bool dry_slab_wrote_into(const struct dry_cache *cache, const struct dry_slab *slab);

/* ... then, without the lock: it is as it was. */
void dry_slab_restore(struct dry_cache *cache, void *object);

/* Whether the object at index is free; slow for the list types. */
bool dry_slab_is_free(const struct dry_cache *cache, const struct dry_slab *slab, unsigned index);

/* Objects that are free, each counted once however often it is listed. As fast as looking at one of a list type. */
uint32_t dry_slab_count_free(const struct dry_cache *cache, const struct dry_slab *slab);

/* NULL, or what does not hold in a slab. */
const char *dry_slab_check(const struct dry_cache *cache, const struct dry_slab *slab);

/*
 * Objects of a slab. One of a single page has fewer than others of its cache; those that it lacks are out of it (`active`), so that
 * what is counted as free is there.
 */
static inline uint32_t dry_slab_num(const struct dry_cache *cache, const struct dry_slab *slab)
{
	return DRY_UNLIKELY(dry_backing_is_single(slab, cache->order)) ? cache->num_single : cache->num;
}

/* So many objects less than others. */
static inline uint32_t dry_slab_lacks(const struct dry_cache *cache, const struct dry_slab *slab)
{
	return cache->num - dry_slab_num(cache, slab);
}

/* All objects are free. */
static inline bool dry_slab_is_empty(const struct dry_cache *cache, const struct dry_slab *slab)
{
	return slab->active == dry_slab_lacks(cache, slab);
}

/* Start of the slab's first object. */
static inline char *dry_slab_objects(const struct dry_cache *cache, const struct dry_slab *slab)
{
	return (char *)dry_backing_address(&cache->caches->backing, slab) + slab->first;
}

static inline char *dry_slab_object(const struct dry_cache *cache, const struct dry_slab *slab, uint32_t index)
{
	return dry_slab_objects(cache, slab) + (size_t)index * cache->size;
}

/*
 * Which object starts at an offset from the first one; not less than num: none. offset = index * odd << shift is multiplied
 * by the inverse of the odd part, and rotated. Both are one to one on words, so what comes out below num came from a
 * multiple of size (Granlund and Montgomery 1994, section 9).
 */
static inline size_t dry_offset_index(size_t offset, size_t inverse, unsigned shift)
{
	return dry_rotate_right(offset * inverse, shift);
}

/* Index of the object that starts at ptr; UINT32_MAX if none does. */
static inline uint32_t dry_slab_index(const struct dry_cache *cache, const struct dry_slab *slab, const void *ptr)
{
	size_t offset = (uintptr_t)ptr - (uintptr_t)dry_slab_objects(cache, slab);
	size_t index = dry_offset_index(offset, cache->inverse, cache->shift);

	return index < dry_slab_num(cache, slab) ? (uint32_t)index : UINT32_MAX;
}

/* The slab of an object of this cache. */
static inline struct dry_slab *dry_slab_of(const struct dry_cache *cache, const void *ptr)
{
	return dry_backing_slab_of(&cache->caches->backing, ptr, cache->order);
}

/* Whether a slab is this cache's, and what dry_slab_put_bits() is for. */
static inline bool dry_slab_has_bits(const struct dry_cache *cache, const struct dry_slab *slab)
{
	return DRY_LIKELY(cache->mgmt == DRY_MGMT_BITMAP && dry_backing_is_slab(slab) && dry_backing_cache_of(slab) == cache);
}

/*
 * As dry_slab_put() of one object, so far from the slab's address, of a slab that has bits; false, and nothing is done: there is
 * something to report.
 */
static inline bool dry_slab_put_bit(const struct dry_cache *cache, struct dry_slab *slab, size_t offset)
{
	size_t index = dry_offset_index(offset - slab->first, cache->inverse, cache->shift);

	if (DRY_UNLIKELY(index >= dry_slab_num(cache, slab)))
		return false;
	uint64_t bit = (uint64_t)1 << (index & 63), free = slab->bits[index / 64];
	if (DRY_UNLIKELY((free & bit) != 0))
		return false;
	dry_bitmap_set(slab, (unsigned)(index / 64), free | bit);
	slab->active--;
	return true;
}

/*
 * As dry_slab_put() of a slab that has bits, as far as there is nothing to report: the number. 0 also if one is free already of
 * neighbours at the beginning.
 */
unsigned dry_slab_put_bits(const struct dry_cache *cache, struct dry_slab *slab, void *const *objects, unsigned count);

/* Its node, one of the cache's. */
static inline unsigned dry_slab_node(const struct dry_cache *cache, const struct dry_slab *slab)
{
	return cache->caches->nodes == 1 ? 0 : dry_backing_node_of(slab);
}

#endif
