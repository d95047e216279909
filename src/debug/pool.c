/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/pool.h"

#include "base/memory.h"
#include "core/batch.h"
#include "debug/canary.h"

#define MOST_BYTES ((size_t)64 << 10) /* of one cache's objects that wait */
#define MOST       1024u
#define LEAST      16u
#define SHARE      4096u /* of the process's memory */

/* Guarded by lock_of(). */
struct pool {
	uint32_t candidates; /* entry[0..candidates) */
	uint32_t room;       /* for them: twice a choice */
	uint32_t waits;      /* in the ring behind entry[room], from `oldest` on */
	uint32_t oldest;
	uint32_t ring;       /* its places: a power of two */
	uint32_t places;     /* of them to be used */
	size_t most_bytes;   /* of those that may wait, when `places` was last reckoned */
	uint64_t choices;    /* made */
	uint64_t chance;     /* for the next four, 16 bits each, of which those are gone that were used */
	void *entry[];
};

static _Atomic size_t most_bytes = MOST_BYTES; /* relaxed: a pool that has more gives it up at the next free */

void dry_pools_fit(size_t memory)
{
	size_t share = memory / SHARE;

	atomic_store_explicit(&most_bytes, share < MOST_BYTES ? share : MOST_BYTES, memory_order_relaxed);
}

static DRY_NOINLINE void reckon_locked(struct pool *pool, size_t bytes, size_t size)
{
	size_t places = bytes / size, least = bytes / (MOST_BYTES / LEAST);

	if (places < least)
		places = least;
	pool->places = (uint32_t)(places > MOST ? MOST : places > 0 ? places : 1);
	pool->most_bytes = bytes;
}

static size_t bytes_of(uint32_t room, uint32_t ring)
{
	return sizeof(struct pool) + (room + ring) * sizeof(void *);
}

static struct dry_lock *lock_of(struct dry_cache *cache)
{
	return &cache->node[0].shared.lock;
}

/* A figure: written under the lock, read without. */
static void count_locked(_Atomic size_t *figure)
{
	atomic_store_explicit(figure, atomic_load_explicit(figure, memory_order_relaxed) + 1, memory_order_relaxed);
}

static void kept_locked(struct dry_cache *cache, size_t more)
{
	__atomic_store_n(&cache->kept_objects, cache->kept_objects + more, __ATOMIC_RELAXED);
}

/* NULL: no memory. */
static DRY_NOINLINE struct pool *make_locked(struct dry_cache *cache)
{
	size_t places = MOST_BYTES / cache->size;
	uint32_t ring = LEAST, room = 2 * DRY_CHOICE(cache->size);

	while (ring < MOST && ring < places)
		ring *= 2;
	struct pool *pool = dry_backing_meta_alloc(&cache->caches->backing, bytes_of(room, ring));
	if (pool != NULL) {
		pool->room = room;
		pool->ring = ring;
	}
	return cache->pool = pool;
}

static struct pool *pool_locked(struct dry_cache *cache)
{
	return DRY_LIKELY(cache->pool != NULL) ? cache->pool : make_locked(cache);
}

/* ---- out --------------------------------------------------------------------------- */

/* From the slabs, until there is a choice; where there is no memory for that, of what there is. */
void dry_pool_fill(struct dry_cache *cache, dry_gfp gfp, unsigned node)
{
	uint32_t least = DRY_CHOICE(cache->size), had = 0;
	DRY_FILLED_LATER void *objects[DRY_PIECE];

	while (had < least) {
		unsigned count = dry_node_take_slabs(cache, node, gfp, objects, least < DRY_PIECE ? least : DRY_PIECE), placed = 0;
		if (count == 0)
			return;
		dry_lock_acquire(lock_of(cache));
		struct pool *pool = pool_locked(cache);
		for (; pool != NULL && placed < count && pool->candidates < pool->room; placed++)
			pool->entry[pool->candidates++] = objects[placed];
		kept_locked(cache, placed);
		had = pool != NULL ? pool->candidates : least;
		dry_lock_release(lock_of(cache));
		if (placed < count)
			dry_node_put_slabs(cache, objects + placed, count - placed);
	}
}

static void *choose_locked(struct dry_cache *cache, struct pool *pool)
{
	if (pool->choices++ % 4 == 0)
		pool->chance = dry_secret_choice(((uint64_t)(uintptr_t)pool << 20) + pool->choices);
	void **chosen = &pool->entry[(pool->chance & 0xffff) * pool->candidates >> 16], *object = *chosen;

	pool->chance >>= 16;
	*chosen = pool->entry[--pool->candidates];
	kept_locked(cache, (size_t)-1);
	count_locked(&cache->node[0].slow_allocs);
	return object;
}

void *dry_pool_take(struct dry_cache *cache, bool of_few)
{
	uint32_t least = of_few ? 1 : DRY_CHOICE(cache->size);
	void *object = NULL;

	dry_lock_acquire(lock_of(cache));
	struct pool *pool = cache->pool;
	if (DRY_LIKELY(pool != NULL && pool->candidates >= least))
		object = choose_locked(cache, pool);
	dry_lock_release(lock_of(cache));
	return object;
}

/* ---- in ---------------------------------------------------------------------------- */

/* Half of the candidates into the slabs: those that were here first, for one that stays keeps a slab. */
static DRY_NOINLINE void spill(struct dry_cache *cache)
{
	DRY_FILLED_LATER void *objects[DRY_PIECE];
	uint32_t count = 0;

	dry_lock_acquire(lock_of(cache));
	struct pool *pool = cache->pool;
	if (pool != NULL && pool->candidates >= DRY_CHOICE(cache->size)) {
		count = pool->candidates - DRY_CHOICE(cache->size);
		count = count < DRY_PIECE ? count : DRY_PIECE;
		pool->candidates -= count;
		memcpy(objects, pool->entry, count * sizeof(void *));
		memmove(pool->entry, pool->entry + count, pool->candidates * sizeof(void *));
		kept_locked(cache, -(size_t)count);
	}
	dry_lock_release(lock_of(cache));
	dry_node_put_slabs(cache, objects, count);
}

/* Those that have waited become candidates, as far as there is room. */
static void release_locked(struct pool *pool)
{
	for (; pool->waits >= pool->places && pool->candidates < pool->room; pool->waits--) {
		pool->entry[pool->candidates++] = pool->entry[pool->room + pool->oldest];
		pool->oldest = (pool->oldest + 1) & (pool->ring - 1);
	}
}

enum dry_freed dry_pool_put(struct dry_cache *cache, void *object)
{
	size_t bytes = atomic_load_explicit(&most_bytes, memory_order_relaxed);
	enum dry_freed freed = DRY_FREED_NOT;
	bool full = false;

	dry_lock_acquire(lock_of(cache));
	struct pool *pool = pool_locked(cache);
	if (DRY_LIKELY(pool != NULL)) {
		if (DRY_UNLIKELY(pool->most_bytes != bytes))
			reckon_locked(pool, bytes, cache->size);
		release_locked(pool);
		if (DRY_LIKELY(pool->waits < pool->ring)) {
			pool->entry[pool->room + ((pool->oldest + pool->waits++) & (pool->ring - 1))] = object;
			kept_locked(cache, 1);
			count_locked(&cache->node[0].slow_frees);
			freed = DRY_FREED_WAITS;
		}
		full = pool->candidates == pool->room;
	}
	dry_lock_release(lock_of(cache));
	if (DRY_LIKELY(!full))
		return freed;
	spill(cache);
	return freed == DRY_FREED_NOT ? DRY_FREED_NOT : DRY_FREED_SPILLED;
}

void dry_pool_drain(struct dry_cache *cache)
{
	dry_lock_acquire(lock_of(cache));
	struct pool *pool = cache->pool;
	cache->pool = NULL;
	if (pool != NULL)
		kept_locked(cache, -(size_t)(pool->candidates + pool->waits));
	dry_lock_release(lock_of(cache));
	if (pool == NULL)
		return;
	dry_node_put_slabs(cache, pool->entry, pool->candidates);
	for (; pool->waits != 0; pool->waits--, pool->oldest = (pool->oldest + 1) & (pool->ring - 1))
		dry_node_put_slabs(cache, &pool->entry[pool->room + pool->oldest], 1);
	dry_backing_meta_free(&cache->caches->backing, pool, bytes_of(pool->room, pool->ring));
}

void dry_pool_each(struct dry_cache *cache, void (*fn)(const struct dry_cache *, const char *))
{
	if (!dry_lock_try(lock_of(cache)))
		return;
	const struct pool *pool = cache->pool;
	for (uint32_t i = 0; pool != NULL && i < pool->candidates; i++)
		fn(cache, pool->entry[i]);
	for (uint32_t i = 0; pool != NULL && i < pool->waits; i++)
		fn(cache, pool->entry[pool->room + ((pool->oldest + i) & (pool->ring - 1))]);
	dry_lock_release(lock_of(cache));
}
