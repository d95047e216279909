/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Objects in and out where there is no hit.
 *
 * A slow path never holds an array: it takes a piece out in one sequence, works on
 * its own copy, and puts a piece back in another. In between anybody may run on
 * the slot; what then finds no room goes on to the node.
 */
#include "core/alloc.h"

#include "base/fatal.h"
#include "base/repeat.h"
#include "core/batch.h"
#include "core/depot.h"
#include "core/reap.h"
#include "core/slab.h"
#include "core/slots.h"
#include "core/walk.h"

#define RECLAIM_TRIES 64 /* what callbacks give may be of slabs that stay in use */

static void count_slow(_Atomic size_t *counter, size_t by)
{
	/* relaxed: a statistic */
	atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

/* There is no memory: with what arrays hold, then with what the program can do without. */
static DRY_SLOW bool try_harder(struct dry_cache *cache, dry_gfp gfp, unsigned node, void **object)
{
	size_t bytes = (size_t)1 << (dry_backing_page_shift(&cache->caches->backing) + cache->order);

	if (!dry_backing_may_wait(gfp))
		return false;
	dry_caches_reap(cache->caches, true);
	for (unsigned tries = 0; dry_node_refill(cache, node, gfp, object, 1) == 0; tries++) {
		if (tries == RECLAIM_TRIES || !dry_caches_reclaim(cache->caches, bytes))
			return false;
		dry_caches_reap(cache->caches, true);
	}
	return true;
}

/* One object without arrays; counted as slow. */
static void *alloc_direct(struct dry_cache *cache, dry_gfp gfp, unsigned node)
{
	void *object;

	if (dry_node_refill(cache, node, gfp, &object, 1) == 0 && !try_harder(cache, gfp, node, &object))
		return NULL;
	count_slow(&cache->node[node].slow_allocs, 1);
	if (cache->debug)
		cache->debug->handed_out(cache, object);
	return object;
}

static void *pop(struct dry_cache *cache)
{
	return cache->packed ? dry_percpu_pop_packed(DRY_SLOTS(cache->caches), cache->alloc_place) :
			       dry_percpu_pop(DRY_SLOTS(cache->caches), cache->alloc_place);
}

/* Onto the alloc array; what finds no room goes to the node. The number that found some. */
static size_t push_or_flush(struct dry_cache *cache, void **objects, size_t count)
{
	size_t placed;

	if (cache->packed) {
		placed = dry_percpu_push_batch_packed(DRY_SLOTS(cache->caches), cache->alloc_place, objects, count);
		count_slow(&cache->node[0].bulk_allocs, placed); /* packed arrays do not count their pops */
	} else {
		placed = dry_percpu_push_batch(DRY_SLOTS(cache->caches), cache->alloc_place, objects, count);
	}
	if (placed < count)
		dry_node_flush(cache, dry_caches_home(cache->caches), objects + placed, (unsigned)(count - placed));
	return placed;
}

static size_t pop_free_array(struct dry_cache *cache, void **objects, size_t max)
{
	return dry_percpu_pop_batch(DRY_SLOTS(cache->caches), cache->free_place, objects, max);
}

static DRY_SLOW size_t drop_repeated(struct dry_cache *cache, void **objects, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (i + 1 < count && objects[i] == objects[i + 1])
			dry_backing_corrupt(DRY_FATAL_DOUBLE_FREE, objects[i], cache->name, NULL);
		else
			objects[kept++] = objects[i];
	}
	return kept;
}

/* Of objects that stood above each other in the free array, each once: what was freed twice in a row stands beside itself. */
static size_t distinct(struct dry_cache *cache, void **objects, size_t count)
{
	return DRY_LIKELY(!dry_may_repeat(objects, count)) ? count : drop_repeated(cache, objects, count);
}

/*
 * A piece out of the free array, oldest first, each object once; `max` is at least 2. *held: NULL, or what stood above the
 * piece, which comes along as its newest; then the piece's oldest, which is the caller's only with the next piece, or NULL if
 * there is no more. It is held back until what stood below it is known: once given on, anybody may have it, free it, and it
 * would stand there again, rightly.
 */
static size_t pop_distinct(struct dry_cache *cache, void **objects, size_t max, void **held)
{
	size_t count = pop_free_array(cache, objects, max - 1);
	bool more = count == max - 1;

	if (*held != NULL)
		objects[count++] = *held;
	count = distinct(cache, objects, count);
	*held = more ? objects[0] : NULL;
	return count;
}

/* Of a free that finds no room, the newest objects, which stay; and what leaves the free array at a time: stacks are small. */
#define NEWEST  (DRY_PIECE / 8)
#define LEAVING (DRY_PIECE * 11 / 16) /* a full array in three pieces */

/* ---- allocation ---------------------------------------------------------------------- */

/* Packed caches: the objects that were freed here move to where allocations take from, in pieces. Whether any did. */
static DRY_NOINLINE bool turn_over(struct dry_cache *cache)
{
	void *objects[LEAVING], *held = NULL;
	size_t moved = 0;

	do {
		size_t count = pop_distinct(cache, objects, LEAVING, &held), first = held != NULL;
		moved += push_or_flush(cache, objects + first, count - first);
	} while (held != NULL);
	return moved != 0;
}

/*
 * The array full from the node, and one object. After the first piece no slab is made for less than all of its objects: a
 * rest would have to be attached, and fetched again by the next refill.
 */
static DRY_NOINLINE void *refill(struct dry_cache *cache, dry_gfp gfp)
{
	unsigned home = dry_caches_home(cache->caches);
	void *objects[DRY_PIECE], *object = NULL;

	for (uint32_t left = cache->limit; left > 0;) {
		unsigned want = left < DRY_PIECE ? left : DRY_PIECE;
		if (object != NULL && left < cache->num && !dry_node_has_free(cache, home))
			break;
		unsigned count = dry_node_refill(cache, home, gfp, objects, want);
		bool last = count < want;
		if (count == 0)
			break;
		left -= count;
		if (object == NULL)
			object = objects[--count];
		if (push_or_flush(cache, objects, count) < count || last)
			break;
	}
	if (object != NULL)
		count_slow(&cache->node[home].slow_allocs, 1);
	return object;
}

DRY_SLOW void *dry_alloc_slow(struct dry_cache *cache, dry_gfp gfp, int node)
{
	void *object;

	if (cache->state != DRY_CACHE_LIVE) {
		dry_backing_corrupt(DRY_FATAL_DEAD_CACHE, cache, NULL, "allocation");
		return NULL;
	}
	cache = cache->root;
	const struct dry_debug_hooks *hooks = cache->caches->hooks;
	if (DRY_UNLIKELY(hooks->allows != NULL) && !hooks->allows(cache))
		return NULL;
	if (DRY_UNLIKELY(node != DRY_NODE_ANY))
		return alloc_direct(cache, gfp, (unsigned)node % cache->caches->nodes);
	/* First what costs least; on a slot without arrays there is nothing to turn over. */
	if (cache->packed && turn_over(cache) && (object = pop(cache)) != NULL)
		return object;
	if (cache->alloc_place == 0 || !dry_slot_prepare(cache->caches))
		return alloc_direct(cache, gfp, dry_caches_home(cache->caches));
	/* The slot may be new to the thread, or the thread new to the slot. */
	object = pop(cache);
	if (object == NULL)
		object = refill(cache, gfp);
	return object != NULL ? object : alloc_direct(cache, gfp, dry_caches_home(cache->caches));
}

/* ---- free ------------------------------------------------------------------------------- */

/*
 * Whether it is free already, where that can be told before it goes to its slab. A debugged object must be judged here:
 * then poison is written over it, and with it over the links or indices that a free one may hold.
 */
static bool is_free(struct dry_cache *cache, const struct dry_slab *slab, uint32_t index)
{
	bool result = false;

	if (cache->mgmt == DRY_MGMT_BITMAP)
		return dry_slab_is_free(cache, slab, index);
	if (cache->debug != NULL) {
		struct dry_node *node = &cache->node[dry_slab_node(cache, slab)];
		dry_lock_acquire(&node->lock);
		result = slab->active == 0 || dry_slab_is_free(cache, slab, index);
		dry_lock_release(&node->lock);
	}
	return result;
}

/* false and a report if object is not a live object of this cache, as far as can be seen without a lock. */
static bool is_live(struct dry_cache *cache, void *object)
{
	struct dry_backing *backing = &cache->caches->backing;
	struct dry_slab *slab = dry_backing_find(backing, object);

	if (slab == NULL) {
		bool near = dry_backing_contains(backing, object);
		dry_backing_corrupt(DRY_FATAL_INVALID_POINTER, object, cache->name,
				    near ? "in no slab: never given out, or freed twice" : "never given out");
		return false;
	}
	if (dry_backing_cache_of(slab) != cache) {
		dry_backing_corrupt(DRY_FATAL_WRONG_CACHE, object, cache->name, dry_backing_cache_of(slab)->name);
		return false;
	}
	uint32_t index = dry_slab_index(cache, slab, object);
	if (index == UINT32_MAX) {
		dry_backing_corrupt(DRY_FATAL_INTERIOR, object, cache->name, NULL);
		return false;
	}
	if (is_free(cache, slab, index)) {
		dry_backing_corrupt(DRY_FATAL_DOUBLE_FREE, object, cache->name, NULL);
		return false;
	}
	return true;
}

/*
 * A batch out of the free array, or nearly one: to the alloc array where there is room, else to the node. *held: what stood
 * above the batch and goes with it; then its oldest, which stays, or NULL. Whether any went to the node.
 */
static DRY_NOINLINE bool spill(struct dry_cache *cache, void **held)
{
	void *objects[LEAVING];
	uint32_t left = cache->batchcount;
	bool flushed = false;

	do {
		uint32_t max = left < LEAVING ? left + 1 : LEAVING;
		size_t count = pop_distinct(cache, objects, max, held), first = *held != NULL, placed = 0;
		if (cache->packed)
			placed = push_or_flush(cache, objects + first, count - first);
		else if (count > first)
			dry_node_flush(cache, dry_caches_home(cache->caches), objects + first, (unsigned)(count - first));
		flushed |= placed < count - first;
		left -= max - 1;
	} while (*held != NULL && left >= LEAVING / 2);
	return flushed;
}

/* The free array is full. The newest few stay, and the oldest. */
static DRY_NOINLINE void flush(struct dry_cache *cache, void *object)
{
	uint32_t stay = cache->limit - cache->batchcount;
	void *newest[NEWEST];
	size_t count = pop_free_array(cache, newest, stay == 0 ? 1 : stay < NEWEST ? stay : NEWEST - 1);

	newest[count++] = object;
	count = distinct(cache, newest, count);
	unsigned home = dry_caches_home(cache->caches);
	dry_depot_prepare(cache, &cache->node[home].shared);
	if (spill(cache, &newest[0]))
		count_slow(&cache->node[home].slow_frees, 1);
	size_t first = newest[0] == NULL;
	first += dry_percpu_push_batch(DRY_SLOTS(cache->caches), cache->free_place, newest + first, count - first);
	if (first < count)
		dry_node_flush(cache, home, newest + first, (unsigned)(count - first));
}

DRY_SLOW void dry_free_slow(struct dry_cache *cache, void *object)
{
	if (object == NULL)
		return;
	if (cache->state != DRY_CACHE_LIVE) {
		dry_backing_corrupt(DRY_FATAL_DEAD_CACHE, object, NULL, "free");
		return;
	}
	cache = cache->root;
	if (!is_live(cache, object))
		return;
	if (cache->free_place != 0 && dry_slot_prepare(cache->caches)) {
		if (!dry_percpu_push(DRY_SLOTS(cache->caches), cache->free_place, object))
			flush(cache, object);
		return;
	}
	if (cache->debug == NULL || cache->debug->taken_back(cache, object))
		dry_node_put_slabs(cache, &object, 1);
	count_slow(&cache->node[dry_caches_home(cache->caches)].slow_frees, 1);
}

/* ---- many at once --------------------------------------------------------------------------- */

size_t dry_alloc_bulk(struct dry_cache *cache, dry_gfp gfp, size_t n, void **objects)
{
	size_t done = 0;

	cache = cache->root;
	if (cache->pop_place != 0 && n != 0)
		done = dry_percpu_pop_batch(DRY_SLOTS(cache->caches), cache->pop_place, objects, n);
	if (done != 0)
		count_slow(&cache->node[0].bulk_allocs, done);
	while (done < n && cache->caches->hooks->allows == NULL && !cache->debug) {
		unsigned home = dry_caches_home(cache->caches);
		unsigned want = n - done < 65536 ? (unsigned)(n - done) : 65536;
		unsigned got = dry_node_refill(cache, home, gfp, objects + done, want);
		if (got == 0)
			break;
		count_slow(&cache->node[home].slow_allocs, got);
		done += got;
	}
	while (done < n && (objects[done] = dry_alloc_slow(cache, gfp, DRY_NODE_ANY)) != NULL)
		done++;
	if (done == n)
		return n;
	dry_free_bulk(cache, done, objects);
	return 0;
}

void dry_free_bulk(struct dry_cache *cache, size_t n, void *const *objects)
{
	for (size_t i = 0; i < n; i++)
		if (!dry_backing_is_of(&cache->caches->backing, objects[i], cache->free_place) ||
		    !dry_percpu_push(DRY_SLOTS(cache->caches), cache->free_place, objects[i]))
			dry_free_slow(cache, objects[i]);
}
