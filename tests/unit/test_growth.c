/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Objects of caches that grow have memory before they are touched, where the system can do that; those of small caches
 * have none, and little is taken beyond what is used: a huge page at most, where the heap is big, and none for a cache of one
 * object.
 * DRY_TEST_NO_NORSEQ: pages know nothing of slots.
 */
#define _DEFAULT_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "heap/heap.h"

static bool has_memory(const void *object)
{
	size_t page = dry_port_page_size();
	unsigned char there = 0;

	CHECK(mincore((void *)((uintptr_t)object / page * page), page, &there) == 0);
	return there & 1;
}

static bool can_populate(void)
{
	size_t page = dry_port_page_size();
	void *at = dry_port_reserve(page, page, false);
	bool can = at != NULL && dry_port_commit(at, page) == 0 && dry_port_populate(at, page) && has_memory(at);

	dry_port_release(at, page);
	return can;
}

/* Of the first and the last quarter of the objects, so many have memory. */
static void grow(size_t size, bool can)
{
	dry_heap *heap = dry_heap_create(NULL);
	dry_cache *cache = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "grows", .size = size });
	size_t count = 1000, first = 0, last = 0;
	struct dry_heap_stats stats;

	CHECK(cache != NULL);
	for (size_t i = 0; i < count; i++) {
		char *object = dry_cache_alloc(cache);
		CHECK(object != NULL);
		if (i < 4)
			first += has_memory(object + size / 2);
		if (i >= count / 4 * 3)
			last += has_memory(object + size / 2);
	}
	CHECK(dry_heap_stats(heap, &stats) == 0);
	/* a heap of 4 MiB takes huge pages */
	CHECK(stats.dirty <= (size_t)(size * count < (4 << 20) ? 64 << 10 : 2 << 20));
	CHECK(first <= 1); /* a slab's figures may lie in a page of its own */
	CHECK(last >= (can ? count / 4 : 0) && (can || last <= count / 16));
	CHECK(dry_heap_check(heap) == 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

#define ALONE ((size_t)1000)

/* Each cache has one object, in a slab of several pages: in a heap that takes huge pages for others one page has memory. */
static void alone(void)
{
	static void *objects[ALONE];
	dry_heap *heap = dry_heap_create(NULL);
	struct dry_cache_attr attr = { .name = "grown", .size = 1000 };
	dry_cache *grown = dry_cache_create(heap, &attr);
	size_t page = dry_port_page_size(), slab = 0, there = 0;

	for (size_t i = 0; i < 4 << 20; i += attr.size)
		CHECK(dry_cache_alloc(grown) != NULL);
	attr = (struct dry_cache_attr){ .name = "alone", .size = 200, .flags = DRY_CACHE_NO_MERGE };
	for (size_t i = 0; i < ALONE; i++) {
		struct dry_cache_stats stats;
		dry_cache *cache = dry_cache_create(heap, &attr);
		objects[i] = dry_cache_alloc(cache);
		CHECK(objects[i] != NULL && dry_cache_stats(cache, &stats) == 0);
		slab = stats.pages_per_slab * page;
	}
	for (size_t i = 0; i < ALONE; i++)
		for (size_t at = 0; at < slab; at += page)
			there += has_memory((char *)((uintptr_t)objects[i] / slab * slab) + at);
	CHECK(there <= 2 * ALONE); /* what is left of a huge page is taken first */
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

static unsigned refusals;
static size_t asked;
static bool confined;
enum { LIMIT = 21 << 20, RUN = 1536 << 10 };
static dry_heap *limited; /* near its limit somebody takes a run, and gives it back, while memory is had */
static bool refused;
bool __real_dry_port_populate_huge(void *addr, size_t size);
bool __wrap_dry_port_populate_huge(void *addr, size_t size);
bool __real_dry_port_confined(void);
bool __wrap_dry_port_confined(void);
bool __real_dry_port_populate(void *addr, size_t size);
bool __wrap_dry_port_populate(void *addr, size_t size);

bool __wrap_dry_port_populate_huge(void *addr, size_t size)
{
	if (limited != NULL && dry_heap_arena(limited)->used * dry_port_page_size() > LIMIT - RUN) {
		void *run = dry_alloc(limited, RUN);
		refused |= run == NULL;
		dry_free(limited, run);
	}
	return __real_dry_port_populate_huge(addr, size);
}

bool __wrap_dry_port_populate(void *addr, size_t size)
{
	asked++;
	return refusals != 0 ? refusals-- == 0 : __real_dry_port_populate(addr, size);
}

bool __wrap_dry_port_confined(void)
{
	return confined || __real_dry_port_confined();
}

/* Slabs of 64 KiB, too few for huge pages: what is asked for grows from the sixteenth on. */
static void fill_some(dry_cache *cache, int objects)
{
	asked = 0;
	for (int i = 0; i < objects; i++)
		CHECK(dry_cache_alloc(cache) != NULL);
}

/* What the system refuses once is not asked for before the next round of decay, and then it is. */
static void refused_once(void)
{
	dry_heap *heap = dry_heap_create(NULL);
	dry_cache *cache = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "refused", .size = 2000 });

	refusals = 1;
	fill_some(cache, 600);
	CHECK_EQ(refusals, 0);
	CHECK_EQ(asked, 1);
	dry_heap_reap(heap);
	fill_some(cache, 250);
	CHECK(asked > 5);
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

/* Who may ask for nothing, as the child of a vfork(), does not; its parent does. */
static void confined_meanwhile(void)
{
	dry_heap *heap = dry_heap_create(NULL);
	dry_cache *cache = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "confined", .size = 2000 });

	confined = true;
	fill_some(cache, 600);
	CHECK_EQ(asked, 0);
	confined = false;
	fill_some(cache, 250);
	CHECK(asked > 5);
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

/* What is taken ahead is nobody's yet, and others are not refused it. */
static void near_a_limit(void)
{
	dry_cache *cache;

	limited = dry_heap_create(&(struct dry_heap_attr){ .name = "limited", .limit = LIMIT });
	cache = dry_cache_create(limited, &(struct dry_cache_attr){ .name = "limited", .size = 2000 });
	for (size_t bytes = 0; bytes < LIMIT - RUN - (1 << 20); bytes += 2048)
		CHECK(dry_cache_alloc(cache) != NULL);
	CHECK(!refused);
	CHECK_EQ(dry_heap_destroy(limited), 0);
	limited = NULL;
}

int main(void)
{
	static const size_t sizes[] = { 4096, 8192, 20000 };
	bool can = can_populate();

	if (dry_port_page_size() >= 64 << 10) {
		printf("not here: a page of 64 KiB is more than what is taken ahead with smaller ones\n");
		return 77;
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		grow(sizes[i], can);
	alone();
	if (can) {
		refused_once();
		confined_meanwhile();
		near_a_limit();
	}
	return 0;
}
