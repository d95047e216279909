/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Freed objects that wait before they can be reused: a list through their owners, oldest first, a
 * cache's own.
 */
#include "core/batch.h"
#include "debug/object.h"

#define KEPT_OBJECTS 1024u
#define KEPT_BYTES   ((size_t)256 << 10)
#define KEPT_LEAST   4u

static bool is_over(const struct dry_cache *cache)
{
	return cache->kept_objects > KEPT_OBJECTS ||
	       (cache->kept_objects > KEPT_LEAST && cache->kept_objects * cache->size > KEPT_BYTES);
}

static void *pop_locked(struct dry_cache *cache)
{
	void *object = cache->kept_first;

	if (object == NULL)
		return NULL;
	cache->kept_first = dry_record_of(cache, object)->next;
	/* relaxed: read without the lock as a figure */
	__atomic_store_n(&cache->kept_objects, cache->kept_objects - 1, __ATOMIC_RELAXED);
	return object;
}

/* Out of quarantine: the last look while nothing but poison may be in it. */
static void let_go(struct dry_cache *cache, void *object)
{
	dry_object_verify_free(cache, object);
	atomic_store_explicit(&dry_record_of(cache, object)->state, DRY_OBJECT_FREE, memory_order_relaxed);
	dry_node_put_slabs(cache, &object, 1);
}

void dry_quarantine_push(struct dry_cache *cache, void *object)
{
	void *oldest = NULL;

	dry_record_of(cache, object)->next = NULL;
	dry_lock_acquire(&cache->node[0].lock);
	if (cache->kept_first == NULL)
		cache->kept_first = object;
	else
		dry_record_of(cache, cache->kept_last)->next = object;
	cache->kept_last = object;
	__atomic_store_n(&cache->kept_objects, cache->kept_objects + 1, __ATOMIC_RELAXED);
	if (is_over(cache))
		oldest = pop_locked(cache);
	dry_lock_release(&cache->node[0].lock);
	if (oldest != NULL)
		let_go(cache, oldest);
}

void dry_quarantine_drain(struct dry_cache *cache)
{
	void *object;

	do {
		dry_lock_acquire(&cache->node[0].lock);
		object = pop_locked(cache);
		dry_lock_release(&cache->node[0].lock);
		if (object != NULL)
			let_go(cache, object);
	} while (object != NULL);
}
