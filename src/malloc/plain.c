/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/plain.h"

#include <drystone/experiment.h>
#include <stdint.h>

#include "base/fmt.h"
#include "core/create.h"
#include "core/freelist.h"
#include "malloc/size_class.h"
#include "port/contract.h"
#include "port/probe.h"

#define SMALL_GROUP ((size_t)256 << 20)
#define LEAST       16u /* bytes: of smaller ones there are too many in a page of 4 KiB for a bitmap */
#define PAUSE       1000 /* ms from one time that what idles is given back to the next */

_Atomic size_t dry_plain_from = SIZE_MAX;

void dry_plain_fit(size_t memory)
{
	bool small = memory <= SMALL_GROUP && !dry_budget_may_hold(0);

	atomic_store_explicit(&dry_plain_from, small ? memory / 8 * 3 : SIZE_MAX, memory_order_relaxed);
}

/* From three quarters of the group's memory on: what waits in quarantine, or is free, must not be what is killed for. */
static void give_back_idle(void)
{
	static _Atomic uint64_t next; /* ms; relaxed: two at once do no harm */
	size_t from = atomic_load_explicit(&dry_plain_from, memory_order_relaxed);
	uint64_t now;

	if (dry_budget_used() / 2 <= from || !dry_lock_none_held())
		return;
	now = dry_port_clock_ms();
	if (now < atomic_load_explicit(&next, memory_order_relaxed))
		return;
	atomic_store_explicit(&next, now + PAUSE, memory_order_relaxed);
	dry_heap_trim(&dry_main_heap);
}

static struct dry_cache *make(unsigned class)
{
	size_t size = dry_class_size(class), natural = size & -size;
	bool many = size * DRY_BITMAP_OBJECTS < (size_t)1 << dry_heap_arena(&dry_main_heap)->page_shift;
	/* a type that is asked for: such caches are never secure */
	struct dry_cache_attr attr = { .size = size,
				       .flags = DRY_CACHE_NO_MERGE | (many ? DRY_CACHE_OFF_SLAB : DRY_CACHE_BITMAP) };
	char name[32];
	int error;

	dry_format(name, sizeof(name), "plain-%zu", size);
	attr.name = name;
	attr.align = natural < DRY_NATURAL_MAX ? natural : DRY_NATURAL_MAX;
	return dry_cache_make(&dry_main_heap.caches, &attr, &error);
}

void *dry_plain_alloc(size_t size, size_t align)
{
	static struct dry_cache *_Atomic caches[DRY_CLASS_COUNT];
	unsigned class = size <= DRY_CLASS_MAX ? dry_class_for(size < LEAST ? LEAST : size, align) : DRY_CLASS_COUNT;
	struct dry_cache *cache, *expected = NULL;

	if (class == DRY_CLASS_COUNT)
		return NULL;
	cache = atomic_load_explicit(&caches[class], memory_order_acquire);
	if (cache == NULL) {
		cache = dry_lock_none_held() ? make(class) : NULL;
		if (cache == NULL)
			return NULL;
		/* acq_rel: publishes the cache; who loses the race drops its own, still unused */
		if (!atomic_compare_exchange_strong_explicit(&caches[class], &expected, cache, memory_order_acq_rel,
							     memory_order_acquire)) {
			dry_cache_unmake(cache);
			cache = expected;
		} else {
			DRY_PROBE_3(drystone, cache_made, (uintptr_t)cache, (uintptr_t)cache->name, cache->object_size);
		}
	}
	give_back_idle();
	return dry_heap_alloc_slow(cache);
}
