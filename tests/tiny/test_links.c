/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * DRY_TINY_CHECK_LINKS: a link in free memory or between slabs that was overwritten is reported
 * before it is followed, and so is a count in a slab's first free object. Linked with the allocator built so.
 */
#include <drystone/tiny.h>

#include "../support/death.h"
#include "tiny/pages.h"

static _Alignas(4096) char pool[65536];
static dry_heap *heap;
static dry_cache *cache;
static char *objects[64];

static void setup(void)
{
	struct dry_heap_attr attr = { .name = "pool", .memory = pool, .memory_size = sizeof(pool) };
	struct dry_cache_attr victim = { .name = "victim", .size = 64, .flags = DRY_CACHE_NO_MERGE };

	heap = dry_heap_create(&attr);
	CHECK(heap && (cache = dry_cache_create(heap, &victim)));
	CHECK(dry_cache_alloc_bulk(cache, 64, (void **)objects) == 64);
}

static void use(void)
{
	for (int i = 0; i < 200; i++)
		CHECK(dry_cache_alloc(cache));
}

/* A program writes to an object that it freed: the link leads out of the slab, or beside its objects. */
static void run_object_wild(void)
{
	setup();
	dry_cache_free(cache, objects[3]);
	dry_cache_free(cache, objects[5]);
	*(void **)(void *)objects[5] = (void *)(uintptr_t)0x123456780u;
	use();
}

static void run_object_held(void)
{
	setup();
	dry_cache_free(cache, objects[3]);
	dry_cache_free(cache, objects[5]);
	memset(objects[7], 0, 64);
	*(void **)(void *)objects[5] = objects[7];
	use();
}

/* A link within the slab, at no multiple of a pointer. */
static void run_object_odd(void)
{
	setup();
	dry_cache_free(cache, objects[3]);
	dry_cache_free(cache, objects[5]);
	*(void **)(void *)objects[5] = objects[7] + 1;
	use();
}

/* What is in use looks like a free object, and is looked for among those: the link is not the first one's. */
static void run_object_alike(void)
{
	setup();
	for (int i = 3; i < 9; i += 2)
		dry_cache_free(cache, objects[i]);
	*(void **)(void *)objects[5] = (void *)(uintptr_t)0x123456780u;
	*(struct dry_object *)(void *)objects[4] = (struct dry_object){ NULL, DRY_TINY_KEY + 1 };
	dry_cache_free(cache, objects[4]);
}

/* A counter in a freed object, its second word, goes up or down: what else is freed must not make the slab an empty one. */
static void freed_counter(size_t by)
{
	const struct dry_slab *slab;

	setup();
	slab = dry_map_slab(heap, objects[0]);
	for (int i = 1; i < 64; i++)
		if (i == 1 || dry_map_slab(heap, objects[i]) == slab) {
			dry_cache_free(cache, objects[i]);
			if (i == 1)
				((size_t *)(void *)objects[i])[1] += by;
		}
	for (unsigned i = 64; i < slab->carved; i++)
		CHECK(dry_cache_alloc(cache));
}

static void run_counter_up(void)
{
	freed_counter(1);
}

static void run_counter_down(void)
{
	freed_counter((size_t)-1);
}

/* A slab's own links. */
static void run_slab(void)
{
	struct dry_slab *slab;

	setup();
	slab = dry_map_slab(heap, objects[0]);
	dry_cache_free(cache, objects[0]);
	slab->list.next = (struct dry_link *)(uintptr_t)0xdeadbeef0u;
	for (int i = 1; i < 64; i++)
		dry_cache_free(cache, objects[i]);
	dry_cache_shrink(cache);
}

/* A free run's links lie in its first page. */
static void run_pages(void)
{
	char *block;

	setup();
	block = dry_alloc(heap, 8192);
	CHECK(block && dry_alloc(heap, 8192));
	dry_free(heap, block);
	memset(block, 0x5a, 64);
	(void)!dry_alloc(heap, 8192);
	(void)!dry_alloc(heap, 8192);
}

#define BROKEN "^drystone: internal inconsistency: 0x[0-9a-f]+.*link"

static const struct death_case cases[] = {
	{ "object-wild", BROKEN, run_object_wild },
	{ "object-held", BROKEN, run_object_held },
	{ "object-odd", BROKEN, run_object_odd },
	{ "object-alike", BROKEN, run_object_alike },
	{ "counter-up", BROKEN, run_counter_up },
	{ "counter-down", BROKEN, run_counter_down },
	{ "slab", BROKEN, run_slab },
	{ "pages", BROKEN, run_pages },
};

int main(int argc, char **argv)
{
	return death_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
