/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Layout: the published choices as they are known, and what holds of every choice. */
#include "plain.h"

/* What a cache of these attributes would be; NULL: it cannot be. */
static struct dry_cache *lay_out(struct dry_caches *caches, struct dry_cache *cache, size_t size, size_t align, unsigned flags)
{
	const struct dry_cache_attr attr = { .name = "x", .size = size, .align = align, .flags = flags };

	memset(cache, 0, sizeof(*cache));
	cache->caches = caches;
	return dry_cache_layout(cache, &attr) ? cache : NULL;
}

/* Linux on pages of 4 KiB: objects a slab, as its slabinfo has them. */
static void test_published(struct dry_caches *caches)
{
	static const struct {
		unsigned flags, size, num, order, mgmt;
	} known[] = {
		{ DRY_CACHE_PUBLISHED, 32, 124, 0, DRY_MGMT_NORMAL_DEDICATED },
		{ DRY_CACHE_PUBLISHED, 64, 64, 0, DRY_MGMT_OBJFREELIST },
		{ DRY_CACHE_PUBLISHED, 96, 42, 0, DRY_MGMT_OBJFREELIST },
		{ DRY_CACHE_PUBLISHED, 128, 32, 0, DRY_MGMT_OBJFREELIST },
		{ DRY_CACHE_PUBLISHED, 4096, 1, 0, DRY_MGMT_OBJFREELIST },
		{ DRY_CACHE_PUBLISHED_2015, 64, 63, 0, DRY_MGMT_NORMAL_DEDICATED },
		{ DRY_CACHE_PUBLISHED_2015, 96, 42, 0, DRY_MGMT_NORMAL_LEFTOVER },
		{ DRY_CACHE_PUBLISHED_2015, 128, 32, 0, DRY_MGMT_OFF_SLAB },
		{ DRY_CACHE_PUBLISHED_2015, 4096, 1, 0, DRY_MGMT_OFF_SLAB },
	};
	struct dry_cache cache;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		CHECK(lay_out(caches, &cache, known[i].size, 0, known[i].flags) != NULL);
		CHECK_EQ(cache.num, known[i].num);
		CHECK_EQ(cache.order, known[i].order);
		CHECK_EQ(cache.mgmt, known[i].mgmt);
	}
}

/* As dry_slab_index() has it. */
static size_t index_at(const struct dry_cache *cache, size_t offset)
{
	return dry_offset_index(offset, cache->inverse, cache->shift);
}

/* What holds of a layout, whatever it is. */
static void check_layout(const struct dry_cache *cache, const struct dry_caches *caches)
{
	size_t bytes = (size_t)1 << (caches->backing.shift + cache->order);
	size_t objects = cache->num * cache->size, colours = (size_t)(cache->colours - 1) * cache->colour_unit;
	size_t array = (size_t)cache->num * cache->index_width;

	CHECK(cache->num >= 1 && cache->num < UINT16_MAX && cache->order <= caches->backing.max_order);
	CHECK(cache->size >= cache->object_size && cache->size % cache->align == 0);
	CHECK(cache->before + cache->lead + colours <= UINT16_MAX && cache->colour_unit % cache->align == 0);
	CHECK(cache->before + cache->lead + colours + objects <= bytes + cache->before);
	CHECK(cache->colours >= 1 && cache->limit >= 1 && cache->batchcount <= cache->limit);
	bool beside = (cache->flags & DRY_CACHE_SECURE) != 0 && cache->mgmt == DRY_MGMT_OFF_SLAB;
	CHECK_EQ(cache->index_width, beside ? 0 : cache->num <= 256 ? 1 : 2);
	if (beside)
		CHECK(cache->num > DRY_BITMAP_OBJECTS && cache->waste * 8 >= cache->num && cache->waste < cache->num);
	if (cache->mgmt == DRY_MGMT_BITMAP)
		CHECK(cache->num <= DRY_BITMAP_OBJECTS);
	if (cache->mgmt == DRY_MGMT_OBJFREELIST)
		CHECK(array <= cache->object_size);
	if (cache->mgmt == DRY_MGMT_OFF_SLAB)
		CHECK(cache->waste >= array);
	if (cache->mgmt == DRY_MGMT_NORMAL_DEDICATED || cache->mgmt == DRY_MGMT_NORMAL_LEFTOVER) {
		CHECK_EQ(cache->freelist_offset + array, bytes);
		CHECK(objects + colours <= cache->freelist_offset);
	}
	/* Starts of objects have their index, and nothing else has one. */
	for (uint32_t i = 0; i < cache->num; i += 1 + cache->num / 16) {
		CHECK_EQ(index_at(cache, i * cache->size), i);
		CHECK(index_at(cache, i * cache->size + 1) >= cache->num && index_at(cache, i * cache->size - 1) >= cache->num);
	}
	CHECK(index_at(cache, cache->num * cache->size) >= cache->num);
}

static void test_all(struct dry_caches *caches)
{
	unsigned refused[8] = { 0 };
	struct dry_cache cache;

	for (unsigned type = 0; type < 8; type++)
		for (size_t size = 1; size <= 200000; size += 1 + size / 37)
			for (size_t align = 0; align <= 4096; align = align == 0 ? 8 : align * 8) {
				if (lay_out(caches, &cache, size, align, type << 8) == NULL) {
					refused[type]++;
					continue;
				}
				check_layout(&cache, caches);
			}
	/* The default always finds something; and bitmaps alone would not do for small objects in big slabs. */
	CHECK_EQ(refused[0], 0);
	CHECK_EQ(refused[DRY_CACHE_PUBLISHED >> 8], 0);
	CHECK(refused[DRY_CACHE_OBJFREELIST >> 8] != 0);
}

/* A slab of the default types wastes at most an eighth wherever some order does. */
static void test_waste(struct dry_caches *caches)
{
	size_t page = (size_t)1 << caches->backing.shift;
	struct dry_cache cache;

	for (size_t size = 8; size <= page * 4; size += 8) {
		CHECK(lay_out(caches, &cache, size, 8, 0) != NULL);
		size_t bytes = page << cache.order, left = bytes - cache.num * cache.size;
		CHECK(left * 8 <= bytes || cache.num < 8);
	}
}

static void test_colours(struct dry_caches *caches)
{
	struct dry_cache *cache = plain_cache(caches, "colours", 1000, DRY_CACHE_BITMAP | DRY_CACHE_NO_ARRAYS);
	bool seen[64] = { false };

	CHECK(cache->colours > 1 && cache->colours <= 64);
	for (uint32_t i = 0; i < 2 * cache->colours; i++) {
		struct dry_slab *slab = dry_slab_new(cache, 0, DRY_GFP_DEFAULT, i);
		CHECK_EQ(slab->first, i % cache->colours * cache->colour_unit);
		CHECK(dry_slab_check(cache, slab) == NULL);
		seen[i % cache->colours] = true;
		dry_slab_free(cache, slab);
	}
	for (uint32_t i = 0; i < cache->colours; i++)
		CHECK(seen[i]);
	CHECK_EQ(dry_cache_unmake(cache), 0);
}

static void test_limits(struct dry_caches *caches)
{
	struct dry_cache cache;

	/* Two bytes an entry from the 257th object on. */
	CHECK(lay_out(caches, &cache, 8, 0, DRY_CACHE_NORMAL) != NULL);
	CHECK_EQ(cache.index_width, 2);
	CHECK(lay_out(caches, &cache, (size_t)1 << (caches->backing.shift - 8), 0, DRY_CACHE_NORMAL) != NULL);
	CHECK_EQ(cache.index_width, 1);
	/* Free objects that keep what they hold have no links in them. */
	CHECK(lay_out(caches, &cache, 64, 0, DRY_CACHE_CHAIN) != NULL);
	CHECK(lay_out(caches, &cache, 64, 0, DRY_CACHE_CHAIN | DRY_CACHE_TYPESAFE_BY_RCU) == NULL);
	CHECK(lay_out(caches, &cache, 64, 0, DRY_CACHE_OBJFREELIST | DRY_CACHE_TYPESAFE_BY_RCU) == NULL);
	CHECK(lay_out(caches, &cache, 4, 0, DRY_CACHE_CHAIN) != NULL);
	/* Too big for the largest block. */
	size_t largest = (size_t)1 << (caches->backing.shift + caches->backing.max_order);
	CHECK(lay_out(caches, &cache, largest, 0, 0) != NULL);
	CHECK_EQ(cache.num, 1);
	CHECK(lay_out(caches, &cache, largest + 1, 0, 0) == NULL);
	/* Alignment. */
	CHECK_EQ(dry_cache_align(&(struct dry_cache_attr){ .size = 48 }), 16);
	CHECK_EQ(dry_cache_align(&(struct dry_cache_attr){ .size = 40 }), 8);
	CHECK_EQ(dry_cache_align(&(struct dry_cache_attr){ .size = 40, .flags = DRY_CACHE_HWALIGN }), 64);
	CHECK_EQ(dry_cache_align(&(struct dry_cache_attr){ .size = 40, .align = 256 }), 256);
	CHECK_EQ(dry_cache_align(&(struct dry_cache_attr){ .size = 40, .align = 2 }), 8);
}

/* A slab with room before its first object and behind each. */
static void test_lead(struct dry_caches *caches)
{
	struct dry_cache cache;

	for (size_t size = 8; size < 4096; size += 24) {
		CHECK(lay_out(caches, &cache, size, 0, DRY_CACHE_SECURE) != NULL);
		CHECK(cache.size >= size + 8);
		check_layout(&cache, caches);
		if (cache.mgmt == DRY_MGMT_BITMAP && size < 256)
			CHECK_EQ(cache.lead, 64);
	}
}

int main(void)
{
	for (unsigned shift = 12; shift <= 16; shift += 2) {
		const struct plain_attr attr = { .page_shift = shift, .pages = 8192u >> (shift - 12), .max_order = 22 - shift };
		struct dry_caches *caches = plain_open(&attr);

		if (shift == 12)
			test_published(caches);
		test_all(caches);
		test_waste(caches);
		test_colours(caches);
		test_limits(caches);
		test_lead(caches);
		plain_close(caches);
	}
	return 0;
}
