/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Management wastes nothing by default, and the published order decides as published:
 * an index array of one byte (at most 256 objects) or two per object is kept in a free
 * object if it is not larger than one and objects may be written to while free; else in
 * what is left over behind the last object; else off slab or dedicated, whichever wastes less.
 */
/* DRY_TEST_NOT_TINY: slabs of several sizes, one way to keep free objects. */
#include "../support/exercise.h"

static size_t array_bytes(size_t objects)
{
	return objects * (objects <= 256 ? 1 : 2);
}

static void construct(void *object, void *arg)
{
	(void)arg;
	*(char *)object = 1;
}

static dry_cache *make(dry_heap *heap, size_t size, unsigned flags, bool ctor)
{
	struct dry_cache_attr attr = {
		.name = "waste", .size = size, .flags = flags | DRY_CACHE_NO_MERGE, .ctor = ctor ? construct : NULL
	};

	return dry_cache_create(heap, &attr);
}

/*
 * The default: 0 for every size and page size; and slabs waste <= 1/8. With a constructor a free object
 * cannot hold a link, so the 256 bits of a page's descriptor must do: from 16 bytes at a page of 4 KiB.
 */
static void test_default(dry_heap *heap, size_t page_size)
{
	for (size_t size = 8; size <= 4096; size += 8) {
		for (int ctor = 0; ctor < 2; ctor++) {
			dry_cache *cache = make(heap, size, 0, ctor);
			struct dry_cache_stats s;
			size_t bytes;

			CHECK(cache);
			s = stats_of(cache);
			bytes = s.pages_per_slab * page_size;
			if (ctor && size * 256 < page_size) {
				CHECK_EQ(dry_cache_destroy(cache), 0);
				continue;
			}
			if (s.waste)
				fprintf(stderr, "size %zu ctor %d wastes %zu\n", size, ctor, s.waste);
			CHECK_EQ(s.waste, 0);
			CHECK((bytes - s.objects_per_slab * s.stride) * 8 <= bytes);
			CHECK_EQ(s.objects_per_slab, bytes / s.stride); /* no room taken for anything else */
			CHECK_EQ(dry_cache_destroy(cache), 0);
		}
	}
}

/* The published order, from the slab's own figures. */
static void test_published(dry_heap *heap)
{
	for (size_t size = 8; size <= 4096; size += 8) {
		for (int ctor = 0; ctor < 2; ctor++) {
			dry_cache *cache = make(heap, size, DRY_CACHE_PUBLISHED, ctor);
			struct dry_cache_stats s;
			size_t bytes, most, left;

			CHECK(cache);
			s = stats_of(cache);
			bytes = s.pages_per_slab * 4096;
			most = bytes / s.stride;
			left = bytes - most * s.stride;
			if (!ctor && array_bytes(most) <= size) /* the object, not its padding */
				CHECK_EQ(s.mgmt, DRY_MGMT_OBJFREELIST);
			else if (array_bytes(most) <= left)
				CHECK_EQ(s.mgmt, DRY_MGMT_NORMAL_LEFTOVER);
			else
				CHECK(s.mgmt == DRY_MGMT_OFF_SLAB || s.mgmt == DRY_MGMT_NORMAL_DEDICATED);
			if (s.mgmt == DRY_MGMT_NORMAL_DEDICATED)
				CHECK(s.objects_per_slab * s.stride + array_bytes(s.objects_per_slab) <= bytes);
			else
				CHECK_EQ(s.objects_per_slab, most);
			if (s.mgmt == DRY_MGMT_OBJFREELIST || s.mgmt == DRY_MGMT_NORMAL_LEFTOVER)
				CHECK_EQ(s.waste, 0);
			else
				CHECK(s.waste > 0);
			CHECK_EQ(dry_cache_destroy(cache), 0);
		}
	}
}

struct example {
	size_t size;
	unsigned flags;
	bool ctor;
	enum dry_mgmt mgmt;
	unsigned objects; /* per slab of one page */
};

/* Worked by hand for pages of 4096 bytes. */
static const struct example examples[] = {
	/* 64 objects, array of 64 bytes: just one object */
	{ 64, DRY_CACHE_PUBLISHED, false, DRY_MGMT_OBJFREELIST, 64 },
	{ 128, DRY_CACHE_PUBLISHED, false, DRY_MGMT_OBJFREELIST, 32 },
	{ 4096, DRY_CACHE_PUBLISHED, false, DRY_MGMT_OBJFREELIST, 1 },
	/* 42 objects make 4032: the array of 42 bytes fits the 64 left over; free objects are constructed */
	{ 96, DRY_CACHE_PUBLISHED, true, DRY_MGMT_NORMAL_LEFTOVER, 42 },
	{ 192, DRY_CACHE_PUBLISHED, true, DRY_MGMT_NORMAL_LEFTOVER, 21 },
	{ 96, DRY_CACHE_PUBLISHED, false, DRY_MGMT_OBJFREELIST, 42 },
	/* 4 objects fill the page; 4 bytes elsewhere are cheaper than an object of 1024 given up */
	{ 1024, DRY_CACHE_PUBLISHED, true, DRY_MGMT_OFF_SLAB, 4 },
	/* asked for by flag */
	{ 128, DRY_CACHE_NORMAL, false, DRY_MGMT_NORMAL_DEDICATED, 31 }, /* 31 * 128 = 3968, 31 behind */
	{ 96, DRY_CACHE_NORMAL, false, DRY_MGMT_NORMAL_LEFTOVER, 42 },
	{ 32, DRY_CACHE_NORMAL, false, DRY_MGMT_NORMAL_DEDICATED, 124 }, /* 124 * 33 = 4092 */
	{ 128, DRY_CACHE_OFF_SLAB, false, DRY_MGMT_OFF_SLAB, 32 },
	/* not published: as many pages as the bitmap of 256 objects covers; 64 KiB */
	{ 64, DRY_CACHE_BITMAP, false, DRY_MGMT_BITMAP, 256 },
	{ 64, DRY_CACHE_CHAIN, false, DRY_MGMT_CHAIN, 1024 },
};

static void test_examples(dry_heap *heap)
{
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		const struct example *e = &examples[i];
		dry_cache *cache = make(heap, e->size, e->flags, e->ctor);
		struct dry_cache_stats s;

		if (!cache || stats_of(cache).mgmt != e->mgmt)
			fprintf(stderr, "example %zu: size %zu flags %#x ctor %d\n", i, e->size, e->flags, e->ctor);
		CHECK(cache);
		s = stats_of(cache);
		CHECK_EQ(s.stride, e->size);
		CHECK_EQ(s.mgmt, e->mgmt);
		if (e->mgmt != DRY_MGMT_BITMAP && e->mgmt != DRY_MGMT_CHAIN)
			CHECK_EQ(s.pages_per_slab, 1);
		CHECK_EQ(s.objects_per_slab, e->objects);
		CHECK_EQ(s.waste == 0, e->mgmt != DRY_MGMT_OFF_SLAB && e->mgmt != DRY_MGMT_NORMAL_DEDICATED);
		CHECK(s.colours >= 1);
		CHECK_EQ(dry_cache_destroy(cache), 0);
	}
}

/* Colours use what is left over: slabs start their objects at different offsets. */
static void test_colours(dry_heap *heap)
{
	static void *objects[42 * 8];
	dry_cache *cache = make(heap, 96, DRY_CACHE_OBJFREELIST, false);
	size_t offsets = 0;
	bool seen[96] = { false };

	CHECK(cache && stats_of(cache).colours > 1);
	CHECK_EQ(dry_cache_alloc_bulk(cache, 42 * 8, objects), 42 * 8);
	for (int i = 0; i < 42 * 8; i++) {
		size_t offset = (uintptr_t)objects[i] % 4096 % 96;

		offsets += !seen[offset];
		seen[offset] = true;
	}
	CHECK(offsets > 1);
	dry_cache_free_bulk(cache, 42 * 8, objects);
	CHECK_EQ(dry_cache_destroy(cache), 0);
}

/*
 * General sizes: less than 1/8 is lost inside a block above 64 bytes, as far as the spacing of
 * objects (16 bytes), or of pages for the blocks that are runs of pages, allows.
 */
static void test_general(dry_heap *heap, size_t page_size)
{
	for (size_t size = 65; size <= 65536; size += size < 4096 ? 1 : 63) {
		void *block = dry_alloc(heap, size);
		size_t usable = dry_usable_size(heap, block), spacing = size > 32768 ? page_size : 16;

		CHECK(block && usable >= size);
		if ((usable - size) * 8 >= usable && usable - size >= spacing)
			fprintf(stderr, "size %zu usable %zu\n", size, usable);
		CHECK((usable - size) * 8 < usable || usable - size < spacing);
		dry_free(heap, block);
	}
}

int main(int argc, char **argv)
{
	static const size_t pages[] = { 4096, 16384, 65536 };
	struct dry_heap_attr attr = { .name = "waste" };

	test_seed(argc, argv);
	for (int i = 0; i < 3; i++) {
		attr.page_size = pages[i];
		if (pages[i] < (size_t)sysconf(_SC_PAGESIZE))
			continue;
		dry_heap *heap = dry_heap_create(&attr);
		CHECK(heap);
		test_default(heap, pages[i]);
		if (pages[i] == 4096) {
			test_published(heap);
			test_examples(heap);
			test_colours(heap);
		}
		test_general(heap, pages[i]);
		CHECK_EQ(dry_heap_check(heap), 0);
		CHECK_EQ(dry_heap_destroy(heap), 0);
	}
	return 0;
}
