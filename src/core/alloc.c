/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Objects in and out: the public calls, and the slow twins of the hit path.
 *
 * A slow path never holds an array: it takes a batch out in one sequence, works on
 * its own copy, and puts a batch back in another. In between anybody may run on
 * the slot; what then finds no room goes on to the node.
 */
#include <string.h>

#include "base/annotate.h"
#include "base/error.h"
#include "base/fatal.h"
#include "core/cache.h"
#include "core/debug_ops.h"
#include "core/fast.h"
#include "core/node.h"
#include "core/slab.h"

bool (*dry_alloc_gate)(const struct dry_cache *cache);

static void count_slow(_Atomic uint64_t *counter, uint64_t by)
{
	/* relaxed: a statistic */
	atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

/* One object without array caches; counted as slow. */
static void *alloc_direct(struct dry_cache *cache)
{
	unsigned home = dry_heap_node(cache->heap);
	void *object;

	if (dry_node_refill(cache, home, &object, 1) == 0) {
		dry_heap_return_objects(cache->heap, true);
		if (dry_node_refill(cache, home, &object, 1) == 0) {
			dry_port_set_errno(DRY_ENOMEM);
			return NULL;
		}
	}
	count_slow(&cache->node[home].slow_allocs, 1);
	if (cache->debug)
		cache->debug->handed_out(cache, object);
	if (cache->annotated)
		dry_annotate->given(cache->heap, object, cache->object_size, cache->ctor != NULL);
	return object;
}

static void *pop(struct dry_cache *cache)
{
	return cache->split ? dry_percpu_pop_packed(DRY_SLOTS(cache->heap), cache->alloc_at) :
			      dry_percpu_pop(DRY_SLOTS(cache->heap), cache->alloc_at);
}

/* Onto the array that allocations pop; the number that found room. */
static size_t push_batch(struct dry_cache *cache, void *const *objects, size_t count)
{
	size_t placed;

	if (!cache->split)
		return dry_percpu_push_batch(DRY_SLOTS(cache->heap), cache->alloc_at, objects, count);
	placed = dry_percpu_push_batch_packed(DRY_SLOTS(cache->heap), cache->alloc_at, objects, count);
	/* Packed arrays do not count their pops. */
	count_slow(&cache->node[0].bulk_allocs, placed);
	return placed;
}

/* General caches: the objects that were freed here move to the side that allocations take from. */
static bool turn_over(struct dry_cache *cache)
{
	void *objects[DRY_MAX_LIMIT];
	size_t count, placed;

	count = dry_percpu_pop_batch(DRY_SLOTS(cache->heap), cache->free_at, objects, cache->limit);
	if (count == 0)
		return false;
	placed = push_batch(cache, objects, count);
	if (placed < count)
		dry_node_flush(cache, dry_heap_node(cache->heap), objects + placed, (unsigned)(count - placed));
	return placed != 0;
}

/* An array full from the node; all but one go into it. */
static void *refill(struct dry_cache *cache)
{
	void *objects[DRY_MAX_LIMIT];
	unsigned home = dry_heap_node(cache->heap);
	unsigned count = dry_node_refill(cache, home, objects, cache->limit);

	if (count == 0)
		return NULL;
	void *object = objects[--count];
	size_t placed = push_batch(cache, objects, count);
	if (placed < count)
		dry_node_flush(cache, home, objects + placed, (unsigned)(count - placed));
	count_slow(&cache->node[home].slow_allocs, 1);
	return object;
}

DRY_SLOW void *dry_alloc_slow(struct dry_cache *cache)
{
	void *object;

	if (cache->state != DRY_CACHE_LIVE) {
		dry_fatal(DRY_FATAL_DEAD_CACHE, cache, NULL, "allocation");
		return NULL;
	}
	cache = cache->root;
	if (DRY_UNLIKELY(dry_alloc_gate != NULL) && !dry_alloc_gate(cache)) {
		dry_port_set_errno(DRY_ENOMEM);
		return NULL;
	}
	/* First what costs least; on a slot without arrays there is nothing to turn over. */
	if (cache->split && turn_over(cache) &&
	    (object = pop(cache)) != NULL)
		return object;
	if (cache->alloc_at == 0 || !dry_slot_prepare(cache->heap))
		return alloc_direct(cache);
	/* The slot may be new to the thread, or the thread new to the slot. */
	object = pop(cache);
	if (object == NULL)
		object = refill(cache);
	return object != NULL ? object : alloc_direct(cache);
}

/*
 * Whether it is free already, where that can be told before it goes to its slab. A debugged object must be judged here:
 * then poison is written over it, and with it over the links or indices that a free one may hold.
 */
static bool is_free(struct dry_cache *cache, const struct dry_page *slab, uint32_t index)
{
	bool result = false;

	if (cache->mgmt == DRY_MGMT_BITMAP)
		return dry_slab_is_free(cache, slab, index);
	if (cache->debug != NULL) {
		struct dry_node *node = &cache->node[slab->node % cache->heap->nodes];
		dry_lock_acquire(&node->lock);
		result = slab->slab.active == 0 || dry_slab_is_free(cache, slab, index);
		dry_lock_release(&node->lock);
	}
	return result;
}

/* NULL and a report if object is not a live object of this cache, as far as can be seen without a lock. */
static struct dry_page *checked_slab(struct dry_cache *cache, void *object)
{
	struct dry_heap *heap = cache->heap;
	bool ours = dry_arena_contains(&heap->arena, object);
	struct dry_page *slab = ours ? dry_arena_run_of(&heap->arena, object) : NULL;

	if (slab == NULL || slab->kind != DRY_PAGE_SLAB) {
		dry_fatal(DRY_FATAL_INVALID_POINTER, object, cache->name,
			  ours && slab == NULL ? "in a free page: never given out, or freed twice" : "never given out");
		return NULL;
	}
	if (slab->slab.cache != cache) {
		dry_fatal(DRY_FATAL_WRONG_CACHE, object, cache->name, slab->slab.cache->name);
		return NULL;
	}
	uint32_t index = dry_slab_index(cache, slab, object);
	if (index == UINT32_MAX) {
		dry_fatal(DRY_FATAL_INTERIOR, object, cache->name, NULL);
		return NULL;
	}
	if (is_free(cache, slab, index)) {
		dry_fatal(DRY_FATAL_DOUBLE_FREE, object, cache->name, NULL);
		return NULL;
	}
	return slab;
}

/*
 * The array is full. The oldest half goes to the node in one batch; a general
 * cache whose other side is empty turns over instead.
 */
static void flush(struct dry_cache *cache, void *object)
{
	void *objects[DRY_MAX_LIMIT + 1];
	size_t count, kept, oldest = 0;

	count = dry_percpu_pop_batch(DRY_SLOTS(cache->heap), cache->free_at, objects, cache->limit);
	objects[count++] = object;
	if (cache->split)
		oldest = push_batch(cache, objects, count);
	if (oldest < cache->batchcount) {
		size_t flushed = count - oldest < cache->batchcount ? count - oldest : cache->batchcount;
		unsigned home = dry_heap_node(cache->heap);
		dry_node_flush(cache, home, objects + oldest, (unsigned)flushed);
		count_slow(&cache->node[home].slow_frees, 1);
		oldest += flushed;
	}
	kept = dry_percpu_push_batch(DRY_SLOTS(cache->heap), cache->free_at, objects + oldest, count - oldest);
	oldest += kept;
	if (oldest < count)
		dry_node_flush(cache, dry_heap_node(cache->heap), objects + oldest, (unsigned)(count - oldest));
}

DRY_SLOW void dry_free_slow(struct dry_cache *cache, void *object)
{
	if (object == NULL)
		return;
	if (cache->state != DRY_CACHE_LIVE) {
		dry_fatal(DRY_FATAL_DEAD_CACHE, object, NULL, "free");
		return;
	}
	cache = cache->root;
	if (checked_slab(cache, object) == NULL)
		return;
	if (cache->free_at != 0 && dry_slot_prepare(cache->heap)) {
		if (!dry_percpu_push(DRY_SLOTS(cache->heap), cache->free_at, object))
			flush(cache, object);
		return;
	}
	bool now = cache->debug == NULL || cache->debug->taken_back(cache, object);
	if (now && cache->annotated)
		dry_annotate->taken(cache->heap, object, cache->size);
	if (now)
		dry_node_put_slabs(cache, &object, 1);
	count_slow(&cache->node[dry_heap_node(cache->heap)].slow_frees, 1);
}

/* ---- public ----------------------------------------------------------------------- */

DRY_EXPORT void *dry_cache_alloc(dry_cache *cache)
{
	void *object = dry_fast_alloc(cache);

	return object;
}

DRY_EXPORT void dry_cache_free(dry_cache *cache, void *object)
{
	dry_fast_free(cache, object);
}

DRY_EXPORT void *dry_cache_zalloc(dry_cache *cache)
{
	void *object;

	if (cache->root->ctor) {
		dry_port_set_errno(DRY_EINVAL);
		return NULL;
	}
	object = dry_fast_alloc(cache);
	return object != NULL ? memset(object, 0, cache->object_size) : NULL;
}

DRY_EXPORT size_t dry_cache_alloc_bulk(dry_cache *cache, size_t n, void **objects)
{
	size_t done = 0;

	cache = cache->root;
	if (cache->pop_at != 0 && n != 0)
		done = dry_percpu_pop_batch(DRY_SLOTS(cache->heap), cache->pop_at, objects, n);
	if (done != 0)
		count_slow(&cache->node[0].bulk_allocs, done);
	while (done < n && dry_alloc_gate == NULL && !cache->debug && !cache->annotated) {
		unsigned home = dry_heap_node(cache->heap);
		unsigned want = n - done < 65536 ? (unsigned)(n - done) : 65536;
		unsigned got = dry_node_refill(cache, home, objects + done, want);
		if (got == 0)
			break;
		count_slow(&cache->node[home].slow_allocs, got);
		done += got;
	}
	while (done < n && (objects[done] = dry_alloc_slow(cache)) != NULL)
		done++;
	if (done < n) {
		dry_cache_free_bulk(cache, done, objects);
		dry_port_set_errno(DRY_ENOMEM);
		return 0;
	}
	return n;
}

DRY_EXPORT void dry_cache_free_bulk(dry_cache *cache, size_t n, void **objects)
{
	for (size_t i = 0; i < n; i++)
		dry_fast_free(cache, objects[i]);
}

DRY_EXPORT int dry_cache_prefill(dry_cache *cache, size_t n)
{
	cache = cache->root;
	return dry_node_reserve(cache, dry_heap_node(cache->heap), n) == 0 ? 0 : -DRY_ENOMEM;
}

bool dry_cache_empty(struct dry_cache *cache, size_t *freed)
{
	size_t before, after;
	bool quiet;

	dry_lock_acquire(&cache->heap->reap_lock);
	before = dry_node_slabs(cache);
	if (cache->debug != NULL && cache->debug->drain != NULL)
		cache->debug->drain(cache);
	quiet = dry_arrays_drain_locked(cache->heap, cache, false);
	dry_node_drain_depots(cache, true);
	dry_node_shrink(cache, true);
	after = dry_node_slabs(cache);
	dry_lock_release(&cache->heap->reap_lock);
	*freed = before > after ? before - after : 0;
	return quiet;
}

DRY_EXPORT size_t dry_cache_shrink(dry_cache *cache)
{
	size_t freed;

	dry_cache_empty(cache->root, &freed);
	return freed;
}
