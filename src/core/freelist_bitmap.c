/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * One bit an object, 1 = free: in the descriptor; or, where that has too few and nothing may lie in free objects (secure ones with
 * pages of 16 and 64 KiB), in memory for metadata beside the slab.
 */
#include "base/bits.h"
#include "core/freelist.h"
#include "core/slab.h"

static void set_all(uint64_t *bits, uint32_t words, uint32_t num)
{
	for (uint32_t word = 0; word < words; word++) {
		uint32_t low = word * 64;
		bits[word] = num >= low + 64 ? UINT64_MAX : num > low ? ((uint64_t)1 << (num - low)) - 1 : 0;
	}
}

/* Objects from the first on, each `size` above the one before, downwards as far as to end. */
static inline void **list_down(void **at, void **end, char *object, size_t size)
{
	for (; at - end >= 4; object += 4 * size) {
		at -= 4;
		at[3] = object;
		at[2] = object + size;
		at[1] = object + 2 * size;
		at[0] = object + 3 * size;
	}
	for (; at != end; object += size)
		*--at = object;
	return at;
}

/* The objects of a word's bits from the lowest on, downwards from *to as far as to objects. The bits that are left. */
static inline uint64_t take_bits(uint64_t bits, char *base, size_t size, void **objects, void ***to)
{
	void **at = *to;

	while (bits != 0 && at != objects) {
		unsigned first = dry_ctz64(bits), room = (unsigned)(at - objects);
		char *object = base + first * size;
		if (((bits + (bits & -bits)) & bits) == 0) { /* all side by side, as in a fresh slab */
			unsigned run = bits == UINT64_MAX ? 64 : dry_ctz64(~(bits >> first)), some = run < room ? run : room;
			at = list_down(at, at - some, object, size);
			bits = some < run ? bits & UINT64_MAX << (first + some) : 0;
		} else {
			*--at = object;
			bits &= bits - 1;
		}
	}
	*to = at;
	return bits;
}

/* The highest of those that are free among max + more, from where a word begins. */
static inline unsigned take_from(const struct dry_cache *cache, const struct dry_slab *slab, uint64_t *words, void **objects,
				 unsigned max, unsigned more)
{
	unsigned all = dry_freelist_most(cache, slab, max + more), least = all > max ? all - max : 0, whole = (least + 63) & ~63u;
	unsigned lower = whole < all ? whole : least, taken = all - lower;
	char *base = dry_slab_objects(cache, slab);
	void **to = objects + taken;

	for (uint64_t *at = words; to != objects; at++, base += 64 * cache->size) {
		uint64_t bits = *at, stay = 0;
		unsigned free = lower == 0 ? ~0u : bits == UINT64_MAX ? 64 : dry_popcount64(bits);
		if (free <= lower) {
			lower -= free;
			continue;
		}
		for (; lower > 0; lower--, bits &= bits - 1)
			stay |= bits & -bits;
		dry_poke64(at, stay | take_bits(bits, base, cache->size, objects, &to));
	}
	return taken;
}

static inline bool put_into(uint64_t *words, uint32_t index)
{
	uint64_t bit = (uint64_t)1 << (index & 63), bits = words[index >> 6];

	dry_poke64(&words[index >> 6], bits | bit);
	return (bits & bit) == 0;
}

static inline bool is_set(const uint64_t *words, uint32_t index)
{
	return dry_peek64(&words[index >> 6]) >> (index & 63) & 1;
}

static uint32_t count_of(const uint64_t *bits, uint32_t words)
{
	uint32_t sum = 0;

	for (uint32_t word = 0; word < words; word++)
		sum += dry_popcount64(bits[word]);
	return sum;
}

/* ---- in the descriptor -------------------------------------------------------- */

static bool init(struct dry_cache *cache, struct dry_slab *slab, uint32_t life)
{
	(void)life;
	set_all(slab->bits, DRY_SLAB_WORDS, dry_slab_num(cache, slab));
	return true;
}

static unsigned take(struct dry_cache *cache, struct dry_slab *slab, void **objects, unsigned max, unsigned more)
{
	return take_from(cache, slab, slab->bits, objects, max, more);
}

static bool put(struct dry_cache *cache, struct dry_slab *slab, void *object, uint32_t index)
{
	(void)cache, (void)object;
	return put_into(slab->bits, index);
}

static bool is_free(const struct dry_cache *cache, const struct dry_slab *slab, uint32_t index)
{
	(void)cache;
	return is_set(slab->bits, index);
}

static uint32_t count(const struct dry_cache *cache, const struct dry_slab *slab)
{
	(void)cache;
	return count_of(slab->bits, DRY_SLAB_WORDS);
}

const struct dry_freelist dry_freelist_bitmap = {
	.init = init, .take = take, .put = put, .is_free = is_free, .count = count,
};

/* ---- beside the slab ----------------------------------------------------------- */

static bool init_beside(struct dry_cache *cache, struct dry_slab *slab, uint32_t life)
{
	(void)life;
	slab->freelist = dry_backing_meta_alloc(&cache->caches->backing, cache->waste);
	if (slab->freelist != NULL)
		set_all(slab->freelist, dry_bitmap_words(cache->num), cache->num);
	return slab->freelist != NULL;
}

static void fini_beside(struct dry_cache *cache, struct dry_slab *slab)
{
	dry_backing_meta_free(&cache->caches->backing, slab->freelist, cache->waste);
}

static unsigned take_beside(struct dry_cache *cache, struct dry_slab *slab, void **objects, unsigned max, unsigned more)
{
	return take_from(cache, slab, slab->freelist, objects, max, more);
}

static bool put_beside(struct dry_cache *cache, struct dry_slab *slab, void *object, uint32_t index)
{
	(void)cache, (void)object;
	return put_into(slab->freelist, index);
}

static bool is_free_beside(const struct dry_cache *cache, const struct dry_slab *slab, uint32_t index)
{
	(void)cache;
	return is_set(slab->freelist, index);
}

static uint32_t count_beside(const struct dry_cache *cache, const struct dry_slab *slab)
{
	return count_of(slab->freelist, dry_bitmap_words(cache->num));
}

const struct dry_freelist dry_freelist_beside = {
	.init = init_beside,
	.fini = fini_beside,
	.take = take_beside,
	.put = put_beside,
	.is_free = is_free_beside,
	.count = count_beside,
};
