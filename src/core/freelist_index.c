/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The published types. OBJFREELIST: the array lies in a free object, the host, named by the bottom entry, so that it is
 * handed out last; a full slab has no array. OFF_SLAB: in memory for metadata. Else in the slab, after the objects.
 */
#include "base/bits.h"
#include "core/freelist.h"
#include "core/slab.h"

static uint32_t get(const struct dry_cache *cache, const void *array, uint32_t i)
{
	return cache->index_width == 1 ? ((const uint8_t *)array)[i] : ((const uint16_t *)array)[i];
}

static void set(const struct dry_cache *cache, void *array, uint32_t i, uint32_t value)
{
	if (cache->index_width == 1)
		((uint8_t *)array)[i] = (uint8_t)value;
	else
		((uint16_t *)array)[i] = (uint16_t)value;
}

static bool init(struct dry_cache *cache, struct dry_slab *slab, uint32_t life)
{
	struct dry_backing *backing = &cache->caches->backing;

	(void)life;
	if (cache->mgmt == DRY_MGMT_OBJFREELIST)
		slab->freelist = dry_slab_object(cache, slab, cache->num - 1);
	else if (cache->mgmt == DRY_MGMT_OFF_SLAB)
		slab->freelist = dry_backing_meta_alloc(backing, cache->waste);
	else
		slab->freelist = (char *)dry_backing_address(backing, slab) + cache->freelist_offset;
	for (uint32_t i = 0; slab->freelist != NULL && i < cache->num; i++)
		set(cache, slab->freelist, i, i);
	return slab->freelist != NULL;
}

static void fini(struct dry_cache *cache, struct dry_slab *slab)
{
	if (cache->mgmt == DRY_MGMT_OFF_SLAB)
		dry_backing_meta_free(&cache->caches->backing, slab->freelist, cache->waste);
}

static unsigned take(struct dry_cache *cache, struct dry_slab *slab, void **objects, unsigned max, unsigned more)
{
	unsigned active = slab->active, count = dry_freelist_most(cache, slab, max);

	(void)more;
	for (unsigned i = 0; i < count; i++)
		objects[count - 1 - i] = dry_slab_object(cache, slab, get(cache, slab->freelist, active + i));
	if (cache->mgmt == DRY_MGMT_OBJFREELIST && active + count == cache->num)
		slab->freelist = NULL;
	return count;
}

/* A lane of the word is zero: the borrow of a zero lane reaches its top bit, and no lower one's can but from a zero. */
static uint64_t zero_lanes(const char *at, uint64_t pattern, uint64_t ones, unsigned width)
{
	uint64_t word = dry_load64(at) ^ pattern;

	return (word - ones) & ~word & ones << (8 * width - 1);
}

/* Entries [active, num), a word of them at a time. */
static bool is_free(const struct dry_cache *cache, const struct dry_slab *slab, uint32_t index)
{
	const unsigned width = cache->index_width, entries = 8 / width;
	const uint64_t ones = width == 1 ? 0x0101010101010101u : 0x0001000100010001u, pattern = ones * index;
	uint32_t i = slab->active;

	for (; i + 4 * entries <= cache->num; i += 4 * entries) {
		const char *at = (const char *)slab->freelist + (size_t)i * width;
		if (zero_lanes(at, pattern, ones, width) | zero_lanes(at + 8, pattern, ones, width) |
		    zero_lanes(at + 16, pattern, ones, width) | zero_lanes(at + 24, pattern, ones, width))
			return true;
	}
	for (; i + entries <= cache->num; i += entries)
		if (zero_lanes((const char *)slab->freelist + (size_t)i * width, pattern, ones, width))
			return true;
	for (; i < cache->num; i++)
		if (get(cache, slab->freelist, i) == index)
			return true;
	return false;
}

static bool put(struct dry_cache *cache, struct dry_slab *slab, void *object, uint32_t index)
{
	if (is_free(cache, slab, index))
		return false;
	if (cache->mgmt == DRY_MGMT_OBJFREELIST && slab->freelist == NULL)
		slab->freelist = object;
	set(cache, slab->freelist, slab->active - 1u, index);
	return true;
}

static uint32_t count(const struct dry_cache *cache, const struct dry_slab *slab)
{
	uint32_t sum = 0;

	for (uint32_t base = 0; base < cache->num; base += DRY_MARKS) {
		uint64_t seen[DRY_MARKS / 64] = { 0 };
		uint32_t end = cache->num - base < DRY_MARKS ? cache->num : base + DRY_MARKS;
		for (uint32_t i = slab->active; i < cache->num; i++)
			sum += dry_mark(seen, get(cache, slab->freelist, i), base, end);
	}
	return sum;
}

static bool lies_in(const struct dry_cache *cache, const struct dry_slab *slab, const void *object, uint32_t index)
{
	(void)index;
	return cache->mgmt == DRY_MGMT_OBJFREELIST && object == slab->freelist;
}

const struct dry_freelist dry_freelist_index = {
	.init = init, .fini = fini, .take = take, .put = put, .is_free = is_free, .count = count, .lies_in = lies_in,
};
