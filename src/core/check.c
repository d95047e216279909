/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The equations of core's structures, tested. dry_slab_check() is with the slab. */
#include "core/check.h"

#include "core/slab.h"

static const char *check_list(const struct dry_cache *cache, const struct dry_node *node, uint8_t list, size_t *slabs,
			      size_t *objects)
{
	const struct dry_backing *backing = &cache->caches->backing;
	dry_slab_ref prev = DRY_SLAB_NIL, next;

	for (dry_slab_ref at = node->list[list]; at != DRY_SLAB_NIL; prev = at, at = next) {
		const struct dry_slab *slab = dry_backing_deref(backing, at);
		const char *wrong = dry_slab_check(cache, slab);
		next = slab->next;
		if (wrong != NULL)
			return wrong;
		if (slab->prev != prev || slab->list != list)
			return "node: list links";
		if ((slab->active == cache->num) != (list == DRY_LIST_FULL) ||
		    dry_slab_is_empty(cache, slab) != (list == DRY_LIST_FREE))
			return "node: a slab is on the list of its fill";
		if (&cache->node[dry_slab_node(cache, slab)] != node)
			return "node: a slab is on its own node";
		*objects += cache->num - slab->active;
		if (++*slabs > atomic_load_explicit(&node->slabs, memory_order_relaxed))
			return "node: more slabs on lists than there are";
	}
	return NULL;
}

static const char *check_node(const struct dry_cache *cache, const struct dry_node *node)
{
	size_t slabs = 0, objects = 0, free_slabs = 0;

	for (uint8_t list = 0; list < DRY_LISTS; list++) {
		const char *wrong;
		free_slabs = slabs;
		wrong = check_list(cache, node, list, &slabs, &objects);
		if (wrong != NULL)
			return wrong;
	}
	if (slabs - free_slabs != node->free_slabs)
		return "node: free_slabs = length of the free list";
	if (objects != atomic_load_explicit(&node->free_objects, memory_order_relaxed))
		return "node: free_objects = free objects of the slabs on lists";
	bool pooled = cache->debug != NULL && cache->debug->take != NULL; /* its pool's objects (debug/pool.h) */
	return pooled || atomic_load_explicit(&node->shared.avail, memory_order_relaxed) <= node->shared.limit ?
		       NULL :
		       "node: shared avail <= limit";
}

static const char *check_array(const struct dry_cache *cache, const struct dry_array *array)
{
	const struct dry_backing *backing = &cache->caches->backing;
	unsigned avail = dry_array_avail(array);

	if (avail > cache->limit || array->limit != cache->limit)
		return "array: avail <= limit";
	for (unsigned i = 0; i < avail; i++) {
		const struct dry_slab *slab;
		const void *object = array->entry[i];
		if (!dry_backing_contains(backing, object))
			return "array: entries are objects of the heap";
		slab = dry_slab_of(cache, object);
		if (!dry_backing_is_slab(slab) || dry_backing_cache_of(slab) != cache)
			return "array: entries are objects of the cache";
		uint32_t index = dry_slab_index(cache, slab, object);
		if (index == UINT32_MAX)
			return "array: entries are starts of objects";
		if (cache->mgmt == DRY_MGMT_BITMAP && dry_slab_is_free(cache, slab, index))
			return "array: no entry is free in its slab";
	}
	return NULL;
}

static const char *check_arrays(const struct dry_cache *cache)
{
	const struct dry_caches *caches = cache->caches;

	for (uint32_t slot = 0; cache->place != 0 && slot < caches->slot_count; slot++) {
		const char *wrong;
		if (caches->areas[slot] == dry_stopped_area)
			continue;
		wrong = check_array(cache, dry_area_array(caches->areas[slot], cache->place));
		if (wrong != NULL)
			return wrong;
	}
	return NULL;
}

const char *dry_cache_find_wrong(struct dry_cache *cache)
{
	const char *wrong = NULL;

	for (uint32_t n = 0; n < cache->caches->nodes && wrong == NULL; n++) {
		struct dry_node *node = &cache->node[n];
		dry_lock_acquire(&node->lock);
		wrong = check_node(cache, node);
		dry_lock_release(&node->lock);
	}
	return wrong != NULL ? wrong : check_arrays(cache);
}
