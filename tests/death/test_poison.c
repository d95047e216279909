/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* DRY_CACHE_POISON: a write to a free object is found when it is handed out again, or at a shrink. */
#include <drystone/drystone.h>

#include "../support/death.h"
#include "../support/pages.h"

#define N 200

static unsigned char *objects[N];

/* Frees all, then writes one byte of the one in the middle. */
static dry_cache *write_after_free(size_t size, size_t offset, unsigned type)
{
	struct dry_cache_attr attr = { .name = "victim", .size = size, .flags = DRY_CACHE_POISON | type };
	dry_cache *cache = dry_cache_create(dry_heap_create(NULL), &attr);

	CHECK(cache);
	for (int i = 0; i < N; i++) {
		CHECK(objects[i] = dry_cache_alloc(cache));
		memset(objects[i], 0, size);
	}
	for (int i = 0; i < N; i++)
		dry_cache_free(cache, objects[i]);
	death_at(objects[N / 2] + offset);
	objects[N / 2][offset] ^= 0x10;
	return cache;
}

static void found_at_alloc(size_t size, size_t offset, unsigned type)
{
	dry_cache *cache = write_after_free(size, offset, type);

	for (int i = 0; i < N * 2; i++)
		CHECK(dry_cache_alloc(cache));
}

static void run_alloc_first_byte(void)
{
	/* It has a bitmap: of a link the first bytes say which object is next, and that one is named then. */
	found_at_alloc(test_any_type(), 0, 0);
}

static void run_alloc_last_byte(void)
{
	found_at_alloc(64, 63, 0);
}

static void run_alloc_odd_size(void)
{
	found_at_alloc(1001, 1000, 0);
}

static void run_alloc_tiny(void)
{
	found_at_alloc(1, 0, 0);
}

static void run_alloc_bitmap(void)
{
	size_t size = test_any_type() > 100 ? test_any_type() : 100;

	found_at_alloc(size, 50, DRY_CACHE_BITMAP);
}

static void run_alloc_off_slab(void)
{
	found_at_alloc(128, 5, DRY_CACHE_OFF_SLAB);
}

static void run_bulk(void)
{
	void *bulk[N * 2];

	dry_cache_alloc_bulk(write_after_free(64, 8, 0), N * 2, bulk);
}

static void run_zalloc(void)
{
	dry_cache *cache = write_after_free(64, 8, 0);

	for (int i = 0; i < N * 2; i++)
		CHECK(dry_cache_zalloc(cache));
}

static void run_shrink(void)
{
	dry_cache_shrink(write_after_free(64, 20, 0));
}

#define WRITTEN "^drystone: free object was written to: 0x[0-9a-f]+, cache victim"

static const struct death_case cases[] = {
	{ "alloc-first-byte", WRITTEN, run_alloc_first_byte },
	{ "alloc-last-byte", WRITTEN, run_alloc_last_byte },
	{ "alloc-odd-size", WRITTEN, run_alloc_odd_size },
	{ "alloc-tiny", WRITTEN, run_alloc_tiny },
	{ "alloc-bitmap", WRITTEN, run_alloc_bitmap },
	{ "alloc-off-slab", WRITTEN, run_alloc_off_slab },
	{ "bulk", WRITTEN, run_bulk },
	{ "zalloc", WRITTEN, run_zalloc },
	{ "shrink", WRITTEN, run_shrink },
};

int main(int argc, char **argv)
{
	return death_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
