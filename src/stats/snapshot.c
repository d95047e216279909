/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Figures, derived from what the core keeps anyway: active objects are what is in no other place. */
#include "base/error.h"
#include "base/memory.h"
#include "core/depot.h"
#include "core/layout.h"
#include "core/reap.h"
#include "heap/heap.h"

static void add_arrays(struct dry_cache_stats *stats, const struct dry_cache *cache)
{
	const struct dry_caches *caches = cache->caches;

	for (uint32_t slot = 0; cache->place != 0 && slot < caches->slot_count; slot++) {
		char *area = caches->areas[slot];
		if (area != dry_stopped_area)
			stats->cached_objects += dry_array_avail(dry_area_array(area, cache->place));
	}
}

static void add_node(struct dry_cache_stats *stats, const struct dry_cache *cache, struct dry_node *node,
		     size_t *free_objects)
{
	struct dry_depot *depot;

	*free_objects += dry_figure(&node->free_objects);
	stats->slabs += dry_figure(&node->slabs);
	stats->peak_slabs += dry_figure(&node->peak_slabs);
	dry_lock_acquire(&node->lock);
	stats->active_slabs -= node->free_slabs;
	dry_lock_release(&node->lock);
	for (uint32_t i = 0; (depot = dry_depot_at(cache, node, i)) != NULL; i++)
		*(depot->alien ? &stats->cached_objects : &stats->shared_objects) +=
			atomic_load_explicit(&depot->avail, memory_order_relaxed);
}

static void add_counters_locked(struct dry_cache_stats *stats, struct dry_cache *cache)
{
	uint64_t sum[DRY_COUNTERS] = { 0 };

	dry_cache_add_counters_locked(cache, sum);
	stats->allocs = sum[DRY_COUNTER_ALLOCS];
	stats->slow_allocs = sum[DRY_COUNTER_SLOW_ALLOCS];
	stats->slow_frees = sum[DRY_COUNTER_SLOW_FREES];
	stats->failures = sum[DRY_COUNTER_FAILURES];
	stats->node_locks = sum[DRY_COUNTER_LOCK_ROUNDS];
	stats->node_waits = sum[DRY_COUNTER_LOCK_WAITS];
	stats->shared_locks = sum[DRY_COUNTER_BATCHES];
	stats->slabs_made = sum[DRY_COUNTER_SLABS_MADE];
	stats->remote_frees = sum[DRY_COUNTER_REMOTE_FREES];
}

static void figures_locked(struct dry_cache *handle, struct dry_cache_stats *stats)
{
	struct dry_cache *cache = handle->root;
	size_t free_objects = 0, elsewhere;

	memset(stats, 0, sizeof(*stats));
	stats->name = handle->name;
	stats->object_size = handle->object_size;
	stats->stride = cache->size;
	stats->align = cache->align;
	stats->flags = handle->flags;
	stats->mgmt = (enum dry_mgmt)cache->mgmt;
	stats->objects_per_slab = cache->num;
	stats->pages_per_slab = 1u << cache->order;
	stats->colours = cache->colours;
	stats->waste = cache->waste;
	stats->limit = cache->place != 0 ? cache->limit : 0;
	stats->batchcount = cache->place != 0 ? cache->batchcount : 0;
	stats->shared = cache->place != 0 ? DRY_SHARED_FACTOR : 0;
	for (const struct dry_cache *alias = cache->alias; alias != NULL; alias = alias->alias)
		stats->aliases++;
	for (uint32_t n = 0; n < cache->caches->nodes; n++)
		add_node(stats, cache, &cache->node[n], &free_objects);
	add_arrays(stats, cache);
	add_counters_locked(stats, cache);
	stats->cached_objects += __atomic_load_n(&cache->kept_objects, __ATOMIC_RELAXED);
	stats->cached_objects += stats->shared_objects;
	stats->objects = stats->slabs * cache->num;
	stats->active_slabs += stats->slabs;
	/* A snapshot of moving figures: never below zero. */
	elsewhere = free_objects + stats->cached_objects;
	stats->active_objects = stats->objects > elsewhere ? stats->objects - elsewhere : 0;
}

DRY_EXPORT int dry_cache_stats(dry_cache *cache, struct dry_cache_stats *stats)
{
	int rc = -DRY_EINVAL;

	dry_lock_acquire(&cache->caches->lock);
	/* Not one that another thread has destroyed since a walk came to it, nor the last alias of one. */
	if (cache->state == DRY_CACHE_LIVE && cache->root->state == DRY_CACHE_LIVE) {
		figures_locked(cache, stats);
		rc = 0;
	}
	dry_lock_release(&cache->caches->lock);
	return rc;
}

void dry_heap_add_stats(struct dry_heap *heap, struct dry_heap_stats *stats)
{
	struct dry_caches *caches = &heap->caches;
	struct dry_arena *arena = dry_heap_arena(heap);
	dry_lock_acquire(&heap->extents.lock);
	size_t guarded = atomic_load_explicit(&heap->guarded, memory_order_relaxed);
	stats->guarded += guarded;
	stats->extents += heap->extents.live_bytes + guarded;
	stats->dirty += heap->extents.cached_bytes;
	stats->purged += heap->extents.purged;
	dry_lock_release(&heap->extents.lock);
	dry_lock_acquire(&arena->lock);
	stats->reserved += dry_arena_granules(arena) << DRY_GRANULE_SHIFT;
	/* exact when nothing is freed meanwhile */
	size_t kept = dry_kept_pages(&heap->kept), blank = atomic_load_explicit(&arena->blank, memory_order_relaxed) + kept;
	stats->in_use += (arena->used > blank ? arena->used - blank : 0) << arena->page_shift;
	stats->dirty += (arena->free_dirty + kept) << arena->page_shift;
	stats->purged += arena->purged << arena->page_shift;
	dry_lock_release(&arena->lock);
	dry_lock_acquire(&caches->backing.meta.lock);
	stats->metadata += caches->backing.meta.pages << arena->page_shift;
	dry_lock_release(&caches->backing.meta.lock);
	stats->slots = caches->slot_count;
	dry_lock_acquire(&caches->lock);
	stats->caches += caches->count;
	stats->reaps += caches->reaps;
	stats->allocs += caches->gone[DRY_COUNTER_ALLOCS];
	stats->slow_allocs += caches->gone[DRY_COUNTER_SLOW_ALLOCS];
	stats->slow_frees += caches->gone[DRY_COUNTER_SLOW_FREES];
	stats->failures += atomic_load_explicit(&heap->failures, memory_order_relaxed) + caches->gone[DRY_COUNTER_FAILURES];
	for (struct dry_cache *cache = caches->first; cache != NULL; cache = cache->next) {
		struct dry_cache_stats one;
		size_t bytes, live;
		if (cache->root != cache)
			continue;
		figures_locked(cache, &one);
		bytes = one.slabs * dry_slab_bytes(cache, cache->order);
		live = one.active_objects * one.stride;
		stats->idle += bytes > live ? bytes - live : 0;
		stats->allocs += one.allocs;
		stats->slow_allocs += one.slow_allocs;
		stats->slow_frees += one.slow_frees;
		stats->failures += one.failures;
	}
	dry_lock_release(&caches->lock);
}

DRY_EXPORT int dry_heap_stats(dry_heap *heap, struct dry_heap_stats *stats)
{
	heap = dry_heap_get(heap);
	memset(stats, 0, sizeof(*stats));
	if (heap == NULL)
		return -DRY_ENOMEM;
	for (; heap != NULL; heap = dry_heap_apart(heap))
		dry_heap_add_stats(heap, stats);
	return 0;
}
