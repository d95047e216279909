/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Caches that were destroyed are known as such after others were made, and heaps when they are destroyed again. */
#include <drystone/drystone.h>

#include "../support/death.h"

static dry_cache *make(const char *name, size_t size)
{
	struct dry_cache_attr attr = { .name = name, .size = size, .flags = DRY_CACHE_NO_MERGE };
	dry_cache *cache = dry_cache_create(NULL, &attr);

	CHECK(cache);
	return cache;
}

/* Others were made since: none of them has its place. */
static void run_alloc_replaced(void)
{
	dry_cache *first = make("gone too", 200), *next;

	CHECK_EQ(dry_cache_destroy(first), 0);
	for (int i = 0; i < 15; i++) {
		CHECK(next = make("next", 40));
		CHECK(next != first);
		CHECK_EQ(dry_cache_destroy(next), 0);
	}
	CHECK(make("last", 40) != first);
	death_at(first);
	CHECK(dry_cache_alloc(first));
}

/* The one that gave its name to what it shared with others, which are gone as well. */
static void run_alloc_alias(void)
{
	struct dry_cache_attr attr = { .name = "alike", .size = 100 };
	dry_cache *root = dry_cache_create(NULL, &attr), *alias = dry_cache_create(NULL, &attr);

	CHECK(root && alias);
	CHECK_EQ(dry_cache_destroy(root), 0);
	CHECK_EQ(dry_cache_destroy(alias), 0);
	CHECK(make("next", 40) && make("last", 80));
	death_at(alias);
	CHECK(dry_cache_alloc(alias));
}

/* Its slabs are there for another one, but it is not. */
static void run_root_twice(void)
{
	struct dry_cache_attr attr = { .name = "alike", .size = 100 };
	dry_cache *root = dry_cache_create(NULL, &attr);

	CHECK(root && dry_cache_create(NULL, &attr));
	CHECK_EQ(dry_cache_destroy(root), 0);
	death_at(root);
	dry_cache_destroy(root);
}

static void run_heap_twice(void)
{
	dry_heap *heap = dry_heap_create(NULL);

	CHECK_EQ(dry_heap_destroy(heap), 0);
	death_at(heap);
	dry_heap_destroy(heap);
}

#define DEAD "^drystone: cache already destroyed: 0x[0-9a-f]+: allocation"

static const struct death_case cases[] = {
	{ "replaced", DEAD, run_alloc_replaced },
	{ "alias", DEAD, run_alloc_alias },
	{ "root-twice", "^drystone: cache already destroyed: 0x[0-9a-f]+: destroy", run_root_twice },
	{ "heap-twice", "^drystone: invalid pointer: 0x[0-9a-f]+: no heap, or destroyed already", run_heap_twice },
};

int main(int argc, char **argv)
{
	return death_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
