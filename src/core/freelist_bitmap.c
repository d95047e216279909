/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "base/bits.h"
#include "core/freelist.h"
#include "core/slab.h"

static bool init(struct dry_cache *cache, struct dry_slab *slab, uint32_t life)
{
	(void)life;
	for (uint32_t word = 0; word < DRY_SLAB_WORDS; word++) {
		uint32_t low = word * 64;
		slab->bits[word] = cache->num >= low + 64 ? UINT64_MAX :
				   cache->num > low       ? ((uint64_t)1 << (cache->num - low)) - 1 :
							    0;
	}
	return true;
}

static void take(struct dry_cache *cache, struct dry_slab *slab, void **objects, unsigned count)
{
	char *base = dry_slab_objects(cache, slab);
	size_t size = cache->size;

	for (unsigned word = 0; count > 0; word++, base += 64 * size) {
		uint64_t bits = slab->bits[word];
		if (bits == 0)
			continue;
		if (bits == UINT64_MAX && count >= 64) { /* as of a fresh slab */
			for (char *object = base; bits != 0; bits <<= 1, object += size)
				objects[--count] = object;
		}
		for (; bits != 0 && count > 0; bits &= bits - 1)
			objects[--count] = base + dry_ctz64(bits) * size;
		dry_bitmap_set(slab, word, bits);
	}
}

static bool put(struct dry_cache *cache, struct dry_slab *slab, void *object, uint32_t index)
{
	uint64_t bit = (uint64_t)1 << (index & 63), bits = slab->bits[index >> 6];

	(void)cache, (void)object;
	dry_bitmap_set(slab, index >> 6, bits | bit);
	return (bits & bit) == 0;
}

static bool is_free(const struct dry_cache *cache, const struct dry_slab *slab, uint32_t index)
{
	(void)cache;
	return dry_peek64(&slab->bits[index >> 6]) >> (index & 63) & 1;
}

static uint32_t count(const struct dry_cache *cache, const struct dry_slab *slab)
{
	uint32_t sum = 0;

	(void)cache;
	for (unsigned word = 0; word < DRY_SLAB_WORDS; word++)
		sum += dry_popcount64(slab->bits[word]);
	return sum;
}

const struct dry_freelist dry_freelist_bitmap = {
	.init = init, .take = take, .put = put, .is_free = is_free, .count = count,
};
