/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/classes.h"

#include "base/fmt.h"
#include "core/create.h"
#include "port/probe.h"
#include "stats/sites.h"

_Static_assert(DRY_CLASS_COUNT == DRY_GENERAL_CACHES, "a heap has room for every class");

struct dry_hit_limits dry_hits;
size_t dry_checked_limit;
uint16_t dry_class_at[DRY_CLASS_MAX / 16 + 1];

uint16_t dry_class_size_at[DRY_AREA_MAX / DRY_AREA_UNIT];
_Static_assert(DRY_CLASS_MAX <= UINT16_MAX, "the size of a class fits");

/* release: who sees the limit sees the port ready */
static void open_limit(size_t *limit)
{
	__atomic_store_n(limit, limit == &dry_hits.size ? DRY_CLASS_MAX + 1 : DRY_CLASS_MAX, __ATOMIC_RELEASE);
	__atomic_store_n(&dry_profile.limit, (uintptr_t)limit, __ATOMIC_RELEASE);
}

void dry_general_reopen(void)
{
	/* acquire: pairs with open_limit() */
	size_t *limit = (size_t *)(uintptr_t)__atomic_load_n(&dry_profile.limit, __ATOMIC_ACQUIRE);

	if (limit != NULL)
		open_limit(limit);
}

static void publish(unsigned class, const struct dry_cache *cache)
{
	size_t from = class == 0 ? 0 : dry_class_size(class - 1) / 16 + 1, to = dry_class_size(class) / 16;

	if (cache->place != 0)
		__atomic_store_n(&dry_class_size_at[cache->place / (DRY_AREA_UNIT / 8)], (uint16_t)cache->size,
				 __ATOMIC_RELAXED);
	for (size_t i = from; i <= to; i++)
		__atomic_store_n(&dry_class_at[i], (uint16_t)cache->place, __ATOMIC_RELEASE);
	if (cache->flags & DRY_CACHE_CHECKED) {
		open_limit(&dry_checked_limit);
		return;
	}
	__atomic_store_n(&dry_hits.granules, dry_arena_granules(&cache->caches->backing.arena), __ATOMIC_RELAXED);
	open_limit(&dry_hits.size);
}

void dry_general_forget(struct dry_heap *heap)
{
	__atomic_store_n(&dry_profile.limit, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&dry_hits.size, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&dry_hits.granules, 0, __ATOMIC_RELAXED);
	for (unsigned class = 0; class < DRY_CLASS_COUNT; class ++) {
		struct dry_cache *cache = atomic_load_explicit(&heap->general[class], memory_order_relaxed);
		if (cache != NULL)
			dry_format(cache->name, sizeof(cache->name), "start-%zu", dry_class_size(class));
		atomic_store_explicit(&heap->general[class], NULL, memory_order_relaxed);
	}
	for (size_t i = 0; i <= DRY_CLASS_MAX / 16; i++)
		__atomic_store_n(&dry_class_at[i], 0, __ATOMIC_RELAXED);
}

static DRY_SLOW struct dry_cache *make_cache(struct dry_heap *heap, unsigned class)
{
	size_t size = dry_class_size(class), align = size & -size, tail = heap->caches.hooks->tail;
	struct dry_cache *expected = NULL, *cache;
	char name[32];
	int error;

	dry_format(name, sizeof(name), "%s-%zu", tail != 0 ? "secure" : "kmalloc", size);
	struct dry_cache_attr attr = { .name = name, .size = size - tail, .flags = DRY_CACHE_NO_MERGE };
	attr.align = align < DRY_NATURAL_MAX ? align : DRY_NATURAL_MAX;
	cache = dry_cache_make(&heap->caches, &attr, &error);
	if (cache == NULL)
		return NULL;
	/* Publishes the cache; who loses the race drops its own, still unused. */
	if (!atomic_compare_exchange_strong(&heap->general[class], &expected, cache)) {
		dry_cache_unmake(cache);
		return expected;
	}
	DRY_PROBE_3(drystone, cache_made, (uintptr_t)cache, (uintptr_t)cache->name, cache->object_size);
	if (heap->is_default)
		publish(class, cache);
	return cache;
}

struct dry_cache *dry_general_cache(struct dry_heap *heap, unsigned class)
{
	/* acquire: pairs with make_cache() */
	struct dry_cache *cache = atomic_load_explicit(&heap->general[class], memory_order_acquire);

	return DRY_LIKELY(cache != NULL) || !dry_lock_none_held() ? cache : make_cache(heap, class);
}
