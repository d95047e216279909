/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * More caches than the areas of slots have places for at first: the areas grow in place while threads hit arrays in them and while
 * all are stopped now and then. Each cache has an array, also on slots that come later, and every object is one thread's.
 */
#include <drystone/drystone.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "check.h"
#include "core/slots.h"
#include "malloc/size_class.h"
#include "heap/heap.h"

#define CACHES  400
#define SIZE    64
#define THREADS 4
#define HELD    100

static dry_cache *_Atomic cache[CACHES];
static _Atomic unsigned made;
static _Atomic bool end;
static _Atomic size_t steps;

/* Objects of caches that were made just now, and of all, each with its owner's mark. */
static void *use(void *arg)
{
	struct {
		uintptr_t *object;
		unsigned of;
	} held[HELD] = { { NULL, 0 } };
	unsigned number = (unsigned)(uintptr_t)arg, step = number;
	uintptr_t mark = number + 1;

	while (!atomic_load_explicit(&end, memory_order_acquire)) {
		unsigned count = atomic_load_explicit(&made, memory_order_acquire), at = step % HELD;

		step = step * 1103515245u + 12345u;
		atomic_fetch_add_explicit(&steps, 1, memory_order_relaxed);
		if (count == 0)
			continue;
		if (held[at].object != NULL) {
			CHECK_EQ(*held[at].object, mark);
			*held[at].object = 0;
			dry_cache_free(atomic_load_explicit(&cache[held[at].of], memory_order_acquire), held[at].object);
		}
		held[at].of = step & 1 ? count - 1 : (step >> 8) % count;
		held[at].object = dry_cache_alloc(atomic_load_explicit(&cache[held[at].of], memory_order_acquire));
		CHECK(held[at].object != NULL);
		*held[at].object = mark;
	}
	for (unsigned i = 0; i < HELD; i++)
		if (held[i].object != NULL) {
			CHECK_EQ(*held[i].object, mark);
			dry_cache_free(atomic_load_explicit(&cache[held[i].of], memory_order_acquire), held[i].object);
		}
	return NULL;
}

static void create(unsigned i)
{
	struct dry_cache_attr attr = { .name = "many", .size = SIZE, .flags = DRY_CACHE_NO_MERGE };

	atomic_store_explicit(&cache[i], dry_cache_create(NULL, &attr), memory_order_release);
	CHECK(atomic_load_explicit(&cache[i], memory_order_relaxed) != NULL);
	atomic_store_explicit(&made, i + 1, memory_order_release);
}

int main(void)
{
	struct dry_caches *caches = &dry_main_heap.caches;
	pthread_t ids[THREADS];
	unsigned without = 0;

	/* all general caches fit into an area's beginning: nothing grows, which would take a fence */
	for (size_t size = DRY_CLASS_MAX; size > 0; size -= 16)
		dry_free(NULL, dry_alloc(NULL, size));
	CHECK_EQ(caches->area_reach, DRY_AREA_FIRST);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&ids[i], NULL, use, (void *)i), 0);
	for (unsigned i = 0; i < CACHES; i++) {
		create(i);
		while (atomic_load_explicit(&steps, memory_order_relaxed) < (size_t)i * 500)
			sched_yield();
		if (i % 50 == 0)
			dry_heap_trim(NULL);
	}
	atomic_store_explicit(&end, true, memory_order_release);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(ids[i], NULL), 0);
	for (unsigned i = 0; i < CACHES; i++)
		without += cache[i]->place == 0;
	printf("areas of %zu KiB, %u caches without arrays\n", caches->area_reach >> 10, without);
	/* 3,344 bytes for an array at first, then a 64th of what is left: some 330 have room beside the general ones */
	CHECK_EQ(caches->area_reach, DRY_AREA_MAX);
	CHECK(without > 0 && without < CACHES / 4 && cache[0]->place != 0);
	CHECK(cache[0]->limit == 416 && cache[CACHES / 2]->limit >= 32);
	CHECK(caches->nowhere != dry_stopped_area && cache[CACHES / 2]->place * 8u > DRY_AREA_FIRST);
	for (unsigned i = 0; i < CACHES; i++)
		CHECK_EQ(dry_cache_destroy(cache[i]), 0);
	return 0;
}
