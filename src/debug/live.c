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

/* ---- objects of 8 bytes, two for each byte: a bit each, which make no number that is of a bigger one ---------------- */

#define PAIRED 8u /* bytes */

static bool is_paired(const struct dry_cache *cache)
{
	return cache->size < DRY_LIVE_APART;
}

static unsigned char bit_of(size_t offset)
{
	return offset % DRY_LIVE_APART < PAIRED ? 0x40 : 0x80;
}

static unsigned char *byte_at(const struct dry_side *side, size_t offset)
{
	return (unsigned char *)dry_live_at(side, offset);
}

/* Atomic, for the other one is another thread's; relaxed, for nothing hangs on it but the object. false: it was claimed. */
static bool claim_paired(const struct dry_side *side, size_t offset)
{
	return (__atomic_fetch_or(byte_at(side, offset), bit_of(offset), __ATOMIC_RELAXED) & bit_of(offset)) == 0;
}

static bool let_go_paired(const struct dry_side *side, size_t offset)
{
	return offset < dry_side_covered(side) &&
	       (__atomic_fetch_and(byte_at(side, offset), (unsigned char)~bit_of(offset), __ATOMIC_RELAXED) & bit_of(offset)) != 0;
}

static bool knows_paired(const struct dry_side *side, size_t offset)
{
	return offset < dry_side_covered(side) && offset % PAIRED == 0 &&
	       (__atomic_load_n(byte_at(side, offset), __ATOMIC_RELAXED) & bit_of(offset)) != 0;
}

/* ---- what core asks ------------------------------------------------------------------------------------------- */

static bool claim(const struct dry_cache *cache, const struct dry_side *side, size_t offset)
{
	if (is_paired(cache))
		return claim_paired(side, offset);
	if (*dry_live_at(side, offset) != 0)
		return false;
	*dry_live_at(side, offset) = (char)(1 + offset % DRY_LIVE_APART);
	return true;
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
	if (claim(cache, side, offset))
		return true;
	dry_fatal(DRY_FATAL_DOUBLE_FREE, object, cache->name, "by two at once");
	return false;
}

bool dry_live_knows(const struct dry_cache *cache, const void *ptr)
{
	const struct dry_side *side = cache->caches->shadows;

	if (side == NULL)
		return true;
	return is_paired(cache) ? knows_paired(side, (uintptr_t)ptr - side->base) : dry_live_has(side, ptr);
}

bool dry_live_let_go(const struct dry_cache *cache, const void *object)
{
	const struct dry_side *side = cache->caches->shadows;

	if (side == NULL)
		return true;
	return is_paired(cache) ? let_go_paired(side, (uintptr_t)object - side->base) : dry_live_release(side, object);
}
