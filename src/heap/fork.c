/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fork() needs everything at rest. All locks of one kind are taken together,
 * which the ranks do not allow for; nobody else ever holds two of a kind, so there is no cycle.
 * Kind after kind within a cache, too: who empties an alien array of one node holds it while it waits for the slabs of another.
 * At the end of a process it is only asked whether all are free.
 */
#include "core/depot.h"
#include "core/walk.h"
#include "heap/heap.h"

static void each_lock_of_cache(struct dry_cache *cache, uint32_t nodes, void (*fn)(struct dry_lock *lock))
{
	struct dry_depot *depot;

	for (uint32_t n = 0; n < nodes; n++)
		for (uint32_t i = 1; (depot = dry_depot_at(cache, &cache->node[n], i)) != NULL; i++)
			fn(&depot->lock);
	for (uint32_t n = 0; n < nodes; n++)
		fn(&cache->node[n].shared.lock);
	for (uint32_t n = 0; n < nodes; n++)
		fn(&cache->node[n].lock);
}

static void each_lock_of(struct dry_heap *heap, void (*fn)(struct dry_lock *lock))
{
	struct dry_caches *caches = &heap->caches;

	for (struct dry_cache *cache = caches->first; cache != NULL; cache = cache->next)
		if (cache->root == cache)
			each_lock_of_cache(cache, caches->nodes, fn);
	fn(&heap->extents.lock);
	fn(&caches->backing.meta.lock);
	if (caches->backing.arena.owns_memory) /* else there is none */
		fn(&caches->backing.meta.own.lock);
	fn(&caches->backing.arena.lock);
}

/*
 * The lock of the list of caches keeps it as it is, so it is the first to be taken and the last to be let go. Those of all heaps
 * before any other: who has one heap's may be in a destructor that frees into another heap.
 */
static void each_lock(void (*fn)(struct dry_lock *lock), bool taking)
{
	for (struct dry_heap *heap = dry_heaps; heap != NULL && taking; heap = heap->next) {
		fn(&heap->caches.reap_lock);
		fn(&heap->caches.lock);
	}
	for (struct dry_heap *heap = dry_heaps; heap != NULL; heap = heap->next)
		each_lock_of(heap, fn);
	for (struct dry_heap *heap = dry_heaps; heap != NULL && !taking; heap = heap->next) {
		fn(&heap->caches.lock);
		fn(&heap->caches.reap_lock);
	}
}

void dry_heaps_lock_all(void)
{
	dry_lock_acquire(&dry_heaps_lock);
	each_lock(dry_lock_acquire_unranked, true);
	dry_heap_limit_fork();
	for (struct dry_heap *heap = dry_heaps; heap != NULL; heap = heap->next)
		dry_caches_before_fork_locked(&heap->caches);
}

void dry_heaps_unlock_all(bool in_child)
{
	for (struct dry_heap *heap = dry_heaps; heap != NULL && in_child; heap = heap->next) {
		dry_arena_after_fork(dry_heap_arena(heap));
		dry_meta_after_fork(&heap->caches.backing.meta);
		dry_extents_after_fork(&heap->extents);
	}
	dry_heap_limit_forked(in_child);
	each_lock(in_child ? dry_lock_reinit : dry_lock_release, false);
	dry_lock_forked(&dry_heaps_lock, in_child);
	for (struct dry_heap *heap = dry_heaps; heap != NULL && in_child; heap = heap->next)
		dry_caches_forked(&heap->caches);
}

void dry_heaps_inherit(void)
{
	for (struct dry_heap *heap = dry_heaps; heap != NULL; heap = heap->next)
		dry_arena_inherit(dry_heap_arena(heap));
}

static bool all_free; /* for look(): at the end one thread asks */

static void look(struct dry_lock *lock)
{
	if (dry_lock_try(lock))
		dry_lock_release(lock);
	else
		all_free = false;
}

bool dry_heap_is_quiet(struct dry_heap *heap)
{
	all_free = true;
	look(&heap->caches.reap_lock);
	if (!dry_lock_try(&heap->caches.lock))
		return false;
	each_lock_of(heap, look);
	dry_lock_release(&heap->caches.lock);
	return all_free;
}
