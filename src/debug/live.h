/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * check:1: which objects the program has. Bytes beside a heap's arena, one for each 16 of it: a number of where in them an object
 * begins that is handed out; a number of its cache's, where none is, in a slab; another number where a slab was. So what is freed
 * twice, or begins no object, is known at once, and nothing is handed out while it is somebody's, or out of a slab that is gone. Of
 * objects of 8 bytes two have one of these bytes, a bit each. They have no arrays, and their slabs do not know as well: the mark of
 * a free one (core/freelist_chain.c) is lost if it is written to.
 *
 * Concurrency: plain bytes, each its object's, so two frees of an object at the very same moment may both pass, and it waits in
 * two arrays. Then claim() refuses to hand it out a second time, a slab in which it is somebody's does not go, and claim() refuses
 * what comes from an array after its slab is gone: its byte is not the cache's any more (but for one other cache in 32, whose
 * slab may have come there). Bits are changed atomically.
 */
#ifndef DRY_DEBUG_LIVE_H
#define DRY_DEBUG_LIVE_H

#include "base/compiler.h"
#include "core/cache.h"
#include "debug/side.h"

#define DRY_LIVE_APART 16u

extern struct dry_side dry_live DRY_HIDDEN; /* of the default heap */

static inline bool dry_live_is_on(void)
{
	return dry_live.at != NULL;
}

static inline char *dry_live_at(const struct dry_side *side, size_t offset)
{
	return side->at + offset / DRY_LIVE_APART;
}

/* Of a live object, or a pointer to none, so far into the arena: which of 16 places it is, and no multiple of 8. */
static inline char dry_live_number(size_t offset)
{
	return (char)(1 + (offset << 4));
}

/* In slabs of a cache with that place of its arrays, where no live object begins: a multiple of 8. */
static inline char dry_live_none(uint32_t place)
{
	return (char)place;
}
_Static_assert(DRY_AREA_UNIT % 64 == 0, "places, in units of 8 bytes, are multiples of 8");

/* Objects of the default heap from now on. false: no room for that. */
bool dry_live_init(struct dry_caches *caches);
/* And of a heap of the program's; where there is no room for it, its objects are not known. */
void dry_live_heap(struct dry_caches *caches);

/* As in core/debug_ops.h. */
DRY_SLOW bool dry_live_claim(const struct dry_cache *cache, const void *object);
bool dry_live_let_go(const struct dry_cache *cache, const void *object);
bool dry_live_slab(const struct dry_cache *cache, const void *start, size_t bytes, bool made);
/* false: no live object of the cache begins there. */
bool dry_live_knows(const struct dry_cache *cache, const void *ptr);

/* A block of the default heap, aligned to 16, is about to be handed out by a hit of that place; false: claim() is to be asked. */
DRY_FAST bool dry_live_mark(const void *block, uint32_t place)
{
	size_t offset = (uintptr_t)block - dry_live.base;

	if (DRY_UNLIKELY(offset >= dry_side_covered(&dry_live)) ||
	    DRY_UNLIKELY(*dry_live_at(&dry_live, offset) != dry_live_none(place)))
		return false;
	*dry_live_at(&dry_live, offset) = dry_live_number(0);
	return true;
}

/* Whether a live object begins at any pointer. */
DRY_FAST bool dry_live_has(const struct dry_side *side, const void *ptr)
{
	size_t offset = (uintptr_t)ptr - side->base;

	return offset < dry_side_covered(side) && *dry_live_at(side, offset) == dry_live_number(offset);
}

/* The same, and it is no more: at once, so that a free by another thread finds it so. Then its cache's number is put there. */
DRY_FAST bool dry_live_take(const struct dry_side *side, const void *ptr)
{
	size_t offset = (uintptr_t)ptr - side->base;
	volatile char *at = dry_live_at(side, offset); /* what follows is a moment, as short as can be */
	char live = dry_live_number(offset);

	if (DRY_UNLIKELY(offset >= dry_side_covered(side)) || DRY_UNLIKELY(*at != live))
		return false;
	*at = 0;
	return true;
}

/* What was taken is of a cache with that place. */
DRY_FAST void dry_live_release(const struct dry_side *side, const void *object, uint32_t place)
{
	*dry_live_at(side, (uintptr_t)object - side->base) = dry_live_none(place);
}

#endif
