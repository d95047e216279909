/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bits[0]: below, the index of the first link, or END; above, how many objects were ever handed out: those behind them are not
 * linked. A link is 8 bytes: next index below, above it a mark made of the address and of bits[1], which differs with each life
 * of the pages: by the mark a second free of the same object is suspected, and a link that a program wrote over is known.
 */
#include "base/bits.h"
#include "base/fatal.h"
#include "core/freelist.h"
#include "core/slab.h"

#define END   0xffffu
#define INDEX UINT64_C(0xffff)
#define MIX   UINT64_C(0x9e3779b97f4a7c15)
#define ONE   (UINT64_C(1) << 32) /* object handed out for the first time */

static uint64_t first_free(const struct dry_slab *slab)
{
	return slab->bits[0] & (ONE - 1);
}

static void set_first(struct dry_slab *slab, uint64_t index)
{
	slab->bits[0] = (slab->bits[0] & ~(ONE - 1)) | index;
}

static uint32_t used_of(const struct dry_slab *slab)
{
	return (uint32_t)(slab->bits[0] >> 32);
}

static uint64_t mark_of(const struct dry_slab *slab, const void *object)
{
	return (((uintptr_t)object ^ slab->bits[1]) * MIX) & ~INDEX;
}

static bool init(struct dry_cache *cache, struct dry_slab *slab, uint32_t life)
{
	slab->bits[0] = END;
	slab->bits[1] = ((uintptr_t)cache + life) * MIX;
	return true;
}

static bool is_free(const struct dry_cache *cache, const struct dry_slab *slab, uint32_t index)
{
	uint64_t at = first_free(slab);

	if (index >= used_of(slab))
		return true;
	for (uint32_t steps = 0; at < cache->num && steps < cache->num; steps++) {
		if (at == index)
			return true;
		at = dry_load64(dry_slab_object(cache, slab, (uint32_t)at)) & INDEX;
	}
	return false;
}

static bool is_link(const struct dry_slab *slab, const void *object, uint64_t link)
{
	return (link & ~INDEX) == mark_of(slab, object) && ((link & INDEX) < used_of(slab) || (link & INDEX) == END);
}

/* There is no going on without the objects behind it. */
static DRY_SLOW void lost(const struct dry_cache *cache, const void *object)
{
	dry_backing_corrupt(DRY_FATAL_POISON, object, cache->name, "its link to the next free one is lost");
	dry_backing_corrupt(DRY_FATAL_INTERNAL, object, cache->name, "free objects are lost");
}

static unsigned take(struct dry_cache *cache, struct dry_slab *slab, void **objects, unsigned max, unsigned more)
{
	unsigned count = dry_freelist_most(cache, slab, max);

	(void)more;
	for (unsigned left = count; left > 0;) {
		uint64_t index = first_free(slab);
		if (index == END) {
			index = used_of(slab);
			slab->bits[0] += ONE;
			objects[--left] = dry_slab_object(cache, slab, (uint32_t)index);
			continue;
		}
		char *object = dry_slab_object(cache, slab, (uint32_t)index);
		uint64_t link = dry_load64(object);
		if (DRY_UNLIKELY(!is_link(slab, object, link)))
			lost(cache, object);
		set_first(slab, link & INDEX);
		/* No mark may stay, or the next free of an object that was not written to looks like a second one. */
		dry_store64(object, 0);
		objects[--left] = object;
	}
	return count;
}

static bool put(struct dry_cache *cache, struct dry_slab *slab, void *object, uint32_t index)
{
	uint64_t mark = mark_of(slab, object);

	if ((dry_load64(object) & ~INDEX) == mark && is_free(cache, slab, index))
		return false;
	dry_store64(object, mark | first_free(slab));
	set_first(slab, index);
	return true;
}

static uint32_t count(const struct dry_cache *cache, const struct dry_slab *slab)
{
	uint32_t used = used_of(slab) < cache->num ? used_of(slab) : cache->num; /* those beyond never were */
	uint32_t sum = cache->num - used;

	for (uint32_t base = 0; base < used; base += DRY_MARKS) {
		uint64_t seen[DRY_MARKS / 64] = { 0 }, at = first_free(slab);
		uint32_t end = used - base < DRY_MARKS ? used : base + DRY_MARKS;
		for (uint32_t steps = 0; at < cache->num && steps < cache->num; steps++) {
			sum += dry_mark(seen, at, base, end);
			at = dry_load64(dry_slab_object(cache, slab, (uint32_t)at)) & INDEX;
		}
	}
	return sum;
}

static bool lies_in(const struct dry_cache *cache, const struct dry_slab *slab, const void *object, uint32_t index)
{
	(void)cache, (void)object;
	return index < used_of(slab);
}

const struct dry_freelist dry_freelist_chain = {
	.init = init, .take = take, .put = put, .is_free = is_free, .count = count, .lies_in = lies_in,
};
