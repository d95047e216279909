/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/pool.h"

#include "base/memory.h"
#include "core/batch.h"
#include "core/depot.h"
#include "debug/canary.h"

#define MOST_BYTES ((size_t)32 << 10) /* of one cache's objects that wait */
#define MOST       1024u
#define LEAST      16u
#define SHARE      4096u /* of the process's memory */
#define FILLING    (DRY_PIECE / 2) /* fetched at a time: the way down to there is long, and stacks are small */

static _Atomic size_t most_bytes = MOST_BYTES; /* relaxed: a pool that has more gives it up at the next free */

void dry_pools_fit(size_t memory)
{
	size_t share = memory / SHARE;

	atomic_store_explicit(&most_bytes, share < MOST_BYTES ? share : MOST_BYTES, memory_order_relaxed);
}

static DRY_NOINLINE void reckon_locked(struct dry_object_pool *pool, size_t bytes, size_t size)
{
	size_t places = bytes / size, least = bytes / (MOST_BYTES / LEAST), few = dry_pool_few(size);

	if (least > few)
		least = few;
	if (places < least)
		places = least;
	pool->places = (uint32_t)(places > MOST ? MOST : places > 0 ? places : 1);
	pool->most_bytes = bytes;
}

static size_t bytes_of(uint32_t room, uint32_t ring)
{
	return sizeof(struct dry_object_pool) + (room + ring) * sizeof(void *);
}

static struct dry_object_pool *pool_in(const struct dry_depot *depot)
{
	return (struct dry_object_pool *)(void *)depot->entry;
}

/* Two threads at one pool part. */
static DRY_NOINLINE void meet(struct dry_cache *cache, struct dry_depot *depot)
{
	atomic_store_explicit(&cache->pools_apart, true, memory_order_relaxed);
	dry_lock_acquire(&depot->lock);
}

/* The pool for this call, locked. */
DRY_FAST struct dry_depot *enter(struct dry_cache *cache)
{
	struct dry_depot *depot = &cache->node[0].shared;

	/* relaxed: whoever sees it late waits once more */
	if (DRY_UNLIKELY(atomic_load_explicit(&cache->pools_apart, memory_order_relaxed)))
		depot = dry_depot_apart(cache);
	if (DRY_UNLIKELY(!dry_lock_try(&depot->lock)))
		meet(cache, depot);
	return depot;
}

/* The shared array, then the local ones, before which there are alien ones; NULL: that was the last. */
static struct dry_depot *depot_at(struct dry_cache *cache, uint32_t index)
{
	return dry_depot_at(cache, &cache->node[0], index == 0 ? 0 : cache->caches->nodes + index);
}

/* Figures: written under the lock, read without. */
static void count_locked(_Atomic size_t *figure)
{
	atomic_store_explicit(figure, atomic_load_explicit(figure, memory_order_relaxed) + 1, memory_order_relaxed);
}

static void kept_locked(struct dry_depot *depot, const struct dry_object_pool *pool)
{
	atomic_store_explicit(&depot->avail, pool->candidates + pool->waits, memory_order_relaxed);
}

static bool is_shared(const struct dry_cache *cache, const struct dry_depot *depot)
{
	return depot == &cache->node[0].shared;
}

static _Atomic uint64_t pools; /* made so far */

/* NULL: no memory. */
static struct dry_object_pool *make_locked(struct dry_cache *cache, struct dry_depot *depot)
{
	size_t places = MOST_BYTES / cache->size;
	uint32_t ring = LEAST, room = 2 * dry_pool_choice(cache);

	while (ring < MOST && ring < places)
		ring *= 2;
	struct dry_object_pool *pool = dry_backing_meta_alloc(&cache->caches->backing, bytes_of(room, ring));
	if (pool != NULL) {
		/* relaxed: a number. No pool makes the choices of another one, as of one before it at the same place */
		pool->choices = atomic_fetch_add_explicit(&pools, 1, memory_order_relaxed) << 32;
		pool->room = room;
		pool->ring = ring;
	}
	depot->entry = (void **)(void *)pool;
	return pool;
}

/* ---- out --------------------------------------------------------------------------- */

DRY_FAST void *choose_locked(struct dry_cache *cache, struct dry_depot *depot)
{
	struct dry_object_pool *pool = pool_in(depot);

	if (pool->choices++ % 4 == 0)
		pool->chance = dry_secret_choice(pool->choices);
	void **chosen = &pool->entry[(pool->chance & 0xffff) * pool->candidates >> 16], *object = *chosen;

	pool->chance >>= 16;
	*chosen = pool->entry[--pool->candidates];
	kept_locked(depot, pool);
	count_locked(is_shared(cache, depot) ? &cache->node[0].slow_allocs : &depot->allocs);
	return object;
}

DRY_FAST void *choose_of(struct dry_cache *cache, struct dry_depot *depot, uint32_t least)
{
	const struct dry_object_pool *pool = pool_in(depot);

	return DRY_LIKELY(pool != NULL && pool->candidates >= least) ? choose_locked(cache, depot) : NULL;
}

void *dry_pool_take(struct dry_cache *cache)
{
	struct dry_depot *depot = enter(cache);
	void *object = choose_of(cache, depot, dry_pool_choice(cache));

	dry_lock_release(&depot->lock);
	return object;
}

void *dry_pool_take_any(struct dry_cache *cache)
{
	struct dry_depot *depot;
	void *object = NULL;

	for (uint32_t i = 0; object == NULL && (depot = depot_at(cache, i)) != NULL; i++) {
		dry_lock_acquire(&depot->lock);
		object = choose_of(cache, depot, 1);
		dry_lock_release(&depot->lock);
	}
	return object;
}

bool dry_pool_prepare(struct dry_cache *cache)
{
	struct dry_depot *depot = enter(cache);
	bool ready = pool_in(depot) != NULL || make_locked(cache, depot) != NULL;

	dry_lock_release(&depot->lock);
	return ready;
}

/* So many into a pool, as far as there is room: their number; and one out of it, if there is a choice. */
static unsigned fill_some(struct dry_cache *cache, void *const *objects, unsigned count, void **chosen)
{
	struct dry_depot *depot = enter(cache);
	struct dry_object_pool *pool = pool_in(depot);
	unsigned placed = 0;

	for (; pool != NULL && placed < count && pool->candidates < pool->room; placed++)
		pool->entry[pool->candidates++] = objects[placed];
	if (pool != NULL)
		kept_locked(depot, pool);
	*chosen = choose_of(cache, depot, dry_pool_choice(cache));
	dry_lock_release(&depot->lock);
	return placed;
}

/* As many as make a choice into a pool, of a new slab or else from the lists, and one out of it if there is one. */
static DRY_NOINLINE void fill_piece(struct dry_cache *cache, struct dry_slab *fresh, unsigned node, void **chosen)
{
	unsigned least = dry_pool_choice(cache), want = least < FILLING ? least : FILLING, placed;
	DRY_FILLED_LATER void *objects[FILLING];
	unsigned count = fresh != NULL ? dry_node_take_slab(cache, fresh, objects, want, 0) :
					 dry_node_take_free(cache, node, objects, want, 0);

	placed = fill_some(cache, objects, count, chosen);
	if (placed != count)
		dry_node_put_slabs(cache, objects + placed, count - placed);
}

/* A slab is made before there is a piece on the stack. What the lists have another thread may take before. */
bool dry_pool_fill(struct dry_cache *cache, dry_gfp gfp, unsigned node, void **chosen)
{
	bool listed = dry_node_slabs_have_free(cache, node);
	struct dry_slab *fresh = listed ? NULL : dry_node_slab(cache, node, gfp);

	if (!listed && fresh == NULL)
		return false;
	fill_piece(cache, fresh, node, chosen);
	return true;
}

/* ---- in ---------------------------------------------------------------------------- */

/* Half of the candidates into the slabs: those that were here first, for one that stays keeps a slab. */
static DRY_NOINLINE void spill(struct dry_cache *cache, struct dry_depot *depot)
{
	DRY_FILLED_LATER void *objects[FILLING];
	uint32_t count = 0;

	dry_lock_acquire(&depot->lock);
	struct dry_object_pool *pool = pool_in(depot);
	if (pool != NULL && pool->candidates >= dry_pool_choice(cache)) {
		count = pool->candidates - dry_pool_choice(cache);
		count = count < FILLING ? count : FILLING;
		pool->candidates -= count;
		memcpy(objects, pool->entry, count * sizeof(void *));
		memmove(pool->entry, pool->entry + count, pool->candidates * sizeof(void *));
		kept_locked(depot, pool);
	}
	dry_lock_release(&depot->lock);
	dry_node_put_slabs(cache, objects, count);
}

/* The oldest of those that wait; there is one. */
static void *oldest_locked(struct dry_object_pool *pool)
{
	void *object = pool->entry[pool->room + pool->oldest];

	pool->oldest = (pool->oldest + 1) & (pool->ring - 1);
	pool->waits--;
	return object;
}

/* Those that have waited become candidates, as far as there is room. */
static void release_locked(struct dry_object_pool *pool)
{
	while (pool->waits >= pool->places && pool->candidates < pool->room) {
		void *object = oldest_locked(pool);
		pool->entry[pool->candidates++] = object;
	}
}

enum dry_freed dry_pool_put(struct dry_cache *cache, void *object)
{
	bool apart = atomic_load_explicit(&cache->pools_apart, memory_order_relaxed);
	size_t bytes = atomic_load_explicit(&most_bytes, memory_order_relaxed) >> apart;
	enum dry_freed freed = DRY_FREED_NOT;
	bool full = false;

	struct dry_depot *depot = enter(cache);
	if (DRY_UNLIKELY(pool_in(depot) == NULL)) {
		dry_lock_release(&depot->lock);
		dry_pool_prepare(cache);
		depot = enter(cache);
	}
	struct dry_object_pool *pool = pool_in(depot);
	if (DRY_LIKELY(pool != NULL)) {
		if (DRY_UNLIKELY(pool->most_bytes != bytes))
			reckon_locked(pool, bytes, cache->size);
		release_locked(pool);
		if (DRY_LIKELY(pool->waits < pool->ring)) {
			pool->entry[pool->room + ((pool->oldest + pool->waits++) & (pool->ring - 1))] = object;
			kept_locked(depot, pool);
			count_locked(is_shared(cache, depot) ? &cache->node[0].slow_frees : &depot->frees);
			freed = DRY_FREED_WAITS;
		}
		full = pool->candidates == pool->room;
	}
	dry_lock_release(&depot->lock);
	if (DRY_LIKELY(!full))
		return freed;
	spill(cache, depot);
	return freed == DRY_FREED_NOT ? DRY_FREED_NOT : DRY_FREED_SPILLED;
}

/* Candidates, then those that wait, a piece at a time. */
static void drain(struct dry_cache *cache, struct dry_depot *depot)
{
	DRY_FILLED_LATER void *objects[FILLING];

	dry_lock_acquire(&depot->lock);
	struct dry_object_pool *pool = pool_in(depot);
	depot->entry = NULL;
	atomic_store_explicit(&depot->avail, 0, memory_order_relaxed);
	dry_lock_release(&depot->lock);
	if (pool == NULL)
		return;
	dry_node_put_slabs(cache, pool->entry, pool->candidates);
	while (pool->waits != 0) {
		unsigned count = 0;
		for (; count < FILLING && pool->waits != 0; count++)
			objects[count] = oldest_locked(pool);
		dry_node_put_slabs(cache, objects, count);
	}
	dry_backing_meta_free(&cache->caches->backing, pool, bytes_of(pool->room, pool->ring));
}

void dry_pool_drain(struct dry_cache *cache)
{
	struct dry_depot *depot;

	for (uint32_t i = 0; (depot = depot_at(cache, i)) != NULL; i++)
		drain(cache, depot);
}

static void each_in(struct dry_cache *cache, struct dry_depot *depot, void (*fn)(const struct dry_cache *, const char *))
{
	if (!dry_lock_try(&depot->lock))
		return;
	const struct dry_object_pool *pool = pool_in(depot);
	for (uint32_t i = 0; pool != NULL && i < pool->candidates; i++)
		fn(cache, pool->entry[i]);
	for (uint32_t i = 0; pool != NULL && i < pool->waits; i++)
		fn(cache, pool->entry[pool->room + ((pool->oldest + i) & (pool->ring - 1))]);
	dry_lock_release(&depot->lock);
}

void dry_pool_each(struct dry_cache *cache, void (*fn)(const struct dry_cache *, const char *))
{
	struct dry_depot *depot;

	for (uint32_t i = 0; (depot = depot_at(cache, i)) != NULL; i++)
		each_in(cache, depot, fn);
}
