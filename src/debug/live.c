/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/live.h"

#include "base/fatal.h"

struct dry_side dry_live;

bool dry_live_init(struct dry_caches *caches)
{
	if (!dry_side_init(&dry_live, &caches->backing.arena, 1))
		return false;
	caches->shadows = &dry_live;
	return true;
}

void dry_live_heap(struct dry_caches *caches)
{
	caches->shadows = dry_side_make(caches, 1);
}

bool dry_live_claim(const struct dry_cache *cache, const void *object)
{
	struct dry_side *side = cache->caches->shadows;
	size_t offset;

	if (side == NULL)
		return true;
	offset = (uintptr_t)object - side->base;
	if (offset >= dry_side_covered(side))
		dry_side_look(side);
	if (*dry_live_at(side, offset) != 0) {
		dry_fatal(DRY_FATAL_DOUBLE_FREE, object, cache->name, "by two at once");
		return false;
	}
	*dry_live_at(side, offset) = (char)(1 + offset % DRY_LIVE_APART);
	return true;
}

bool dry_live_knows(const struct dry_cache *cache, const void *ptr)
{
	const struct dry_side *side = cache->caches->shadows;

	return side == NULL || dry_live_has(side, ptr);
}

bool dry_live_let_go(const struct dry_cache *cache, const void *object)
{
	const struct dry_side *side = cache->caches->shadows;

	return side == NULL || dry_live_release(side, object);
}
