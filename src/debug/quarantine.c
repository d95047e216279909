/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Freed objects that wait before they can be reused: a ring of a cache's own, oldest first, among metadata. What is beside an
 * object is believed in nothing.
 */
#include "core/batch.h"
#include "debug/object.h"

#define KEPT_OBJECTS 1024u
#define KEPT_BYTES   ((size_t)256 << 10)
#define KEPT_LEAST   4u

/* Most that wait. */
static uint32_t most_kept(const struct dry_cache *cache)
{
	size_t count = KEPT_BYTES / cache->size;

	count = count > KEPT_LEAST ? count : KEPT_LEAST;
	return count < KEPT_OBJECTS ? (uint32_t)count : KEPT_OBJECTS;
}

/* One more than wait when the oldest goes. */
static uint32_t ring_places(const struct dry_cache *cache)
{
	return most_kept(cache) + 1;
}

static bool has_ring_locked(struct dry_cache *cache)
{
	if (DRY_UNLIKELY(cache->kept == NULL))
		cache->kept = dry_backing_meta_alloc(&cache->caches->backing, ring_places(cache) * sizeof(void *));
	return cache->kept != NULL;
}

static void count_locked(struct dry_cache *cache, size_t kept)
{
	/* relaxed: read without the lock as a figure */
	__atomic_store_n(&cache->kept_objects, kept, __ATOMIC_RELAXED);
}

static void push_locked(struct dry_cache *cache, void *object)
{
	cache->kept[(cache->kept_oldest + cache->kept_objects) % ring_places(cache)] = object;
	count_locked(cache, cache->kept_objects + 1);
}

static void *pop_locked(struct dry_cache *cache)
{
	if (cache->kept_objects == 0)
		return NULL;
	void *object = cache->kept[cache->kept_oldest];
	cache->kept_oldest = (cache->kept_oldest + 1) % ring_places(cache);
	count_locked(cache, cache->kept_objects - 1);
	return object;
}

/* Out of quarantine: the last look while nothing but poison may be in it. */
static void let_go(struct dry_cache *cache, void *object)
{
	cache->debug->last_look(cache, object);
	atomic_store_explicit(&dry_record_of(cache, object)->state, DRY_OBJECT_FREE, memory_order_relaxed);
	dry_node_put_slabs(cache, &object, 1);
}

void dry_quarantine_push(struct dry_cache *cache, void *object)
{
	void *oldest = object;

	dry_lock_acquire(&cache->node[0].lock);
	if (has_ring_locked(cache)) {
		push_locked(cache, object);
		oldest = cache->kept_objects > most_kept(cache) ? pop_locked(cache) : NULL;
	}
	dry_lock_release(&cache->node[0].lock);
	if (oldest != NULL)
		let_go(cache, oldest);
}

static void *pop_or_close(struct dry_cache *cache)
{
	dry_lock_acquire(&cache->node[0].lock);
	void *object = pop_locked(cache);
	if (object == NULL && cache->kept != NULL) {
		dry_backing_meta_free(&cache->caches->backing, cache->kept, ring_places(cache) * sizeof(void *));
		cache->kept = NULL;
	}
	dry_lock_release(&cache->node[0].lock);
	return object;
}

void dry_quarantine_drain(struct dry_cache *cache)
{
	void *object;

	while ((object = pop_or_close(cache)) != NULL)
		let_go(cache, object);
}
