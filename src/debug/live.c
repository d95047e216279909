/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/live.h"

#include "base/fatal.h"
#include "base/memory.h"
#include "debug/object.h"

#define GONE 2 /* of no object and no cache */

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
	if (*dry_live_at(side, offset) != dry_live_none(cache->place))
		return false;
	*dry_live_at(side, offset) = dry_live_number(offset);
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
	if (is_paired(cache))
		return let_go_paired(side, (uintptr_t)object - side->base);
	bool live = dry_live_take(side, object);
	if (live)
		dry_live_release(side, object, cache->place);
	return live;
}

bool dry_live_slab(const struct dry_cache *cache, const void *start, size_t bytes, bool made)
{
	struct dry_side *side = cache->caches->shadows;
	char none = is_paired(cache) ? 0 : dry_live_none(cache->place);
	const char *live;

	if (side == NULL)
		return true;
	size_t offset = (uintptr_t)start - side->base;
	if (offset + bytes > dry_side_covered(side))
		dry_side_look(side);
	char *from = dry_live_at(side, offset), *end = dry_live_at(side, offset + bytes);
	if (made) {
		memset(from, none, (size_t)(end - from));
		return true;
	}
	live = dry_other_byte(from, end, (unsigned char)none);
	if (live != NULL) {
		size_t within = !is_paired(cache) ? (unsigned char)*live / DRY_LIVE_APART : *live & 0x40 ? 0 : PAIRED;
		dry_fatal(DRY_FATAL_DOUBLE_FREE, (const char *)start + (size_t)(live - from) * DRY_LIVE_APART + within,
			  cache->name, "by two at once, and its slab was about to go");
		return false;
	}
	memset(from, GONE, (size_t)(end - from));
	return true;
}
