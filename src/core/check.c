/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The equations of heap.h, tested. */
#include "base/bits.h"
#include "base/error.h"
#include "base/fatal.h"
#include "core/node.h"
#include "core/slab.h"

const char *dry_slab_check(const struct dry_cache *cache, const struct dry_page *slab)
{
	if (slab->kind != DRY_PAGE_SLAB || slab->slab.cache != cache)
		return "slab: kind or cache";
	if (slab->slab.active > cache->num)
		return "slab: 0 <= active <= num";
	if (slab->slab.first < cache->before ||
	    slab->slab.first - cache->before + cache->num * cache->size >
		    (size_t)1 << (cache->heap->arena.page_shift + cache->order))
		return "slab: objects within its pages";
	return dry_slab_count_free(cache, slab) + slab->slab.active == cache->num ? NULL : "slab: free + active = num";
}

static const char *check_list(const struct dry_cache *cache, const struct dry_node *node, uint8_t list, size_t *slabs,
			      size_t *objects)
{
	const struct dry_arena *arena = &cache->heap->arena;
	uint32_t prev = DRY_PAGE_NIL;

	for (uint32_t i = node->list[list]; i != DRY_PAGE_NIL; prev = i, i = arena->desc[i].next) {
		const struct dry_page *slab = &arena->desc[i];
		const char *wrong = dry_slab_check(cache, slab);
		if (wrong != NULL)
			return wrong;
		if (slab->prev != prev || slab->slab.list != list)
			return "node: list links";
		if ((slab->slab.active == cache->num) != (list == DRY_LIST_FULL) ||
		    (slab->slab.active == 0) != (list == DRY_LIST_FREE))
			return "node: a slab is on the list of its fill";
		*objects += cache->num - slab->slab.active;
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
	return atomic_load_explicit(&node->shared.avail, memory_order_relaxed) <= node->shared.limit ?
		       NULL :
		       "node: shared avail <= limit";
}

static const char *check_array(const struct dry_cache *cache, const struct dry_array *array, bool packed)
{
	const struct dry_arena *arena = &cache->heap->arena;

	unsigned avail = dry_array_avail(array, packed);

	if (avail > cache->limit || array->limit != cache->limit)
		return "array: avail <= limit";
	for (unsigned i = 0; i < avail; i++) {
		const struct dry_page *slab;
		const void *object = dry_array_object(array, packed, i);
		if (!dry_arena_contains(arena, object))
			return "array: entries are objects of the heap";
		slab = dry_slab_of(cache, object);
		if (slab->kind != DRY_PAGE_SLAB || slab->slab.cache != cache)
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
	const struct dry_heap *heap = cache->heap;

	for (uint32_t slot = 0; cache->alloc_at != 0 && slot < heap->slot_count; slot++) {
		const char *wrong;
		if (heap->areas[slot] == dry_stopped_area)
			continue;
		wrong = check_array(cache, dry_area_array(heap->areas[slot], cache->alloc_at), cache->split);
		if (wrong == NULL && cache->free_at != cache->alloc_at)
			wrong = check_array(cache, dry_area_array(heap->areas[slot], cache->free_at), false);
		if (wrong != NULL)
			return wrong;
	}
	return NULL;
}

static int report(const char *name, const char *wrong)
{
	if (wrong == NULL)
		return 0;
	dry_warn("check of %s: does not hold: %s", name, wrong);
	return -DRY_EFAULT;
}

DRY_EXPORT int dry_cache_check(dry_cache *cache)
{
	const char *wrong = NULL;

	cache = cache->root;
	for (uint32_t n = 0; n < cache->heap->nodes && wrong == NULL; n++) {
		struct dry_node *node = &cache->node[n];
		dry_lock_acquire(&node->lock);
		wrong = check_node(cache, node);
		dry_lock_release(&node->lock);
	}
	if (wrong == NULL)
		wrong = check_arrays(cache);
	return report(cache->name, wrong);
}

DRY_EXPORT int dry_heap_check(dry_heap *heap)
{
	int rc = 0;

	heap = dry_heap_get(heap);
	if (heap == NULL)
		return 0;
	dry_lock_acquire(&heap->lock);
	for (struct dry_cache *cache = heap->caches; cache != NULL && rc == 0; cache = cache->next)
		if (cache->root == cache)
			rc = dry_cache_check(cache);
	dry_lock_release(&heap->lock);
	return rc != 0 ? rc : report(heap->name, dry_arena_check(&heap->arena));
}
