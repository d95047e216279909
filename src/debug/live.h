/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * check:1: which objects the program has. Bytes beside a heap's arena, one for each 16 of it: 0, or 1 more than where in
 * them an object begins that is handed out. So what is freed twice, or begins no object, is known at once, and
 * nothing is handed out while it is somebody's. Of objects of 8 bytes two have one of these bytes, a bit each. They have no
 * arrays, and their slabs do not know as well: the mark of a free one (core/freelist_chain.c) is lost if it is written to.
 *
 * Concurrency: plain bytes, each its object's, so two frees of an object at the very same moment may both pass; then claim()
 * refuses to hand it out a second time. Bits are changed atomically.
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

/* Objects of the default heap from now on. false: no room for that. */
bool dry_live_init(struct dry_caches *caches);
/* And of a heap of the program's; where there is no room for it, its objects are not known. */
void dry_live_heap(struct dry_caches *caches);

/* As in core/debug_ops.h. */
DRY_SLOW bool dry_live_claim(const struct dry_cache *cache, const void *object);
bool dry_live_let_go(const struct dry_cache *cache, const void *object);
/* false: no live object of the cache begins there. */
bool dry_live_knows(const struct dry_cache *cache, const void *ptr);

/* A block of the default heap, aligned to 16, is about to be handed out by a hit; false: claim() has to be asked. */
DRY_FAST bool dry_live_mark(const void *block)
{
	size_t offset = (uintptr_t)block - dry_live.base;

	if (DRY_UNLIKELY(offset >= dry_side_covered(&dry_live)) || DRY_UNLIKELY(*dry_live_at(&dry_live, offset)))
		return false;
	*dry_live_at(&dry_live, offset) = 1;
	return true;
}

/* Whether a live object begins at any pointer. */
DRY_FAST bool dry_live_has(const struct dry_side *side, const void *ptr)
{
	size_t offset = (uintptr_t)ptr - side->base;

	return offset < dry_side_covered(side) && *dry_live_at(side, offset) == (char)(1 + offset % DRY_LIVE_APART);
}

/* The same, and it is freed. */
DRY_FAST bool dry_live_release(const struct dry_side *side, const void *ptr)
{
	bool live = dry_live_has(side, ptr);

	if (DRY_LIKELY(live))
		*dry_live_at(side, (uintptr_t)ptr - side->base) = 0;
	return live;
}

#endif
