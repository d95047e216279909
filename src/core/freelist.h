/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How a slab knows its free objects. Three ways, one a file:
 *
 *   bitmap   bits[] of the descriptor, 1 = free; at most 64 * DRY_SLAB_WORDS objects. Of more, where nothing may lie in free
 *            ones: as many bits beside the slab, the OFF_SLAB whose indices have no width
 *   index    an array of object numbers, 1 or 2 bytes each; entries [active, num) name the free ones (published, 2013)
 *   chain    links through the free objects themselves
 *
 * `active` is the caller's: it is what it was before a take or put. The caller holds the node's lock, or is alone with the
 * slab; is_free() of a bitmap may be asked without.
 */
#ifndef DRY_CORE_FREELIST_H
#define DRY_CORE_FREELIST_H

#include "base/bits.h"
#include "core/cache.h"

struct dry_freelist {
	/* All free. life: counts the slabs of the cache. false: no memory */
	bool (*init)(struct dry_cache *cache, struct dry_slab *slab, uint32_t life);
	void (*fini)(struct dry_cache *cache, struct dry_slab *slab); /* NULL: nothing to do */
	/* As dry_slab_take(). */
	unsigned (*take)(struct dry_cache *cache, struct dry_slab *slab, void **objects, unsigned max, unsigned more);
	/* false: it is free already */
	bool (*put)(struct dry_cache *cache, struct dry_slab *slab, void *object, uint32_t index);
	bool (*is_free)(const struct dry_cache *cache, const struct dry_slab *slab, uint32_t index);
	/* Distinct free objects */
	uint32_t (*count)(const struct dry_cache *cache, const struct dry_slab *slab);
	/* Whether a free object has a part of the list in it */
	bool (*lies_in)(const struct dry_cache *cache, const struct dry_slab *slab, const void *object, uint32_t index);
};

extern const struct dry_freelist dry_freelist_bitmap, dry_freelist_beside, dry_freelist_index, dry_freelist_chain;

#define DRY_BITMAP_OBJECTS (64u * DRY_SLAB_WORDS)

static inline const struct dry_freelist *dry_freelist_of(const struct dry_cache *cache)
{
	return cache->mgmt == DRY_MGMT_BITMAP ? &dry_freelist_bitmap :
	       cache->mgmt == DRY_MGMT_CHAIN  ? &dry_freelist_chain :
	       cache->index_width == 0	      ? &dry_freelist_beside :
						&dry_freelist_index;
}

/* So many of `max` are free. */
static inline unsigned dry_freelist_most(const struct dry_cache *cache, const struct dry_slab *slab, unsigned max)
{
	unsigned free = cache->num - slab->active;

	return free < max ? free : max;
}

/* Words of 64 bits. */
static inline uint32_t dry_bitmap_words(uint32_t num)
{
	return (num + 63) / 64;
}

/* One word of a bitmap. relaxed: guarded by the lock, but who frees an object looks at its bit without. */
static inline void dry_bitmap_set(struct dry_slab *slab, unsigned word, uint64_t bits)
{
	dry_poke64(&slab->bits[word], bits);
}

/*
 * Numbers of objects that were met, so that each is counted once: for the list types, DRY_MARKS at a time.
 */
#define DRY_MARKS 4096 /* 512 bytes of stack; a multiple of 64 */

/* Sets the bit of an index in [base, end) if it is one; 1: for the first time. */
static inline uint32_t dry_mark(uint64_t *seen, uint64_t index, uint32_t base, uint32_t end)
{
	uint64_t *word, bit = (uint64_t)1 << (index & 63);

	if (index < base || index >= end)
		return 0;
	word = &seen[(index - base) >> 6];
	if (*word & bit)
		return 0;
	*word |= bit;
	return 1;
}

#endif
