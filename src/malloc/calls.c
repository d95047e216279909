/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The public calls of general allocation: errno, and what they promise beyond general.h. */
#include "malloc/slow.h"

#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "malloc/size_class.h"
#include "port/contract.h"
#include "port/here.h"

#define SLOTS DRY_SLOTS(&dry_main_heap.caches)

static void *checked(void *object)
{
	if (DRY_UNLIKELY(object == NULL))
		dry_port_set_errno(DRY_ENOMEM);
	return object;
}

/* As the public header promises it; what the classes give by themselves, guarded blocks do not. */
static size_t natural_align(size_t size)
{
	return dry_is_pow2(size) && size <= DRY_NATURAL_MAX ? size : 1;
}

/* What the array of a class has; NULL: it is empty, or there is more to do. */
DRY_FAST void *general_hit(struct dry_heap *heap, size_t size)
{
	struct dry_cache *cache;

	if (heap->is_default) /* the limit is 0 before there is a heap, and where no allocation is to be a hit */
		return size < dry_hits.size ? dry_percpu_pop_here(SLOTS, dry_class_at[(size + 15) / 16]) : NULL;
	if (size - 1 >= DRY_CLASS_MAX)
		return NULL;
	/* acquire: pairs with who made it */
	cache = atomic_load_explicit(&heap->general[dry_class_of(size)], memory_order_acquire);
	return cache != NULL ? dry_fast_alloc(cache) : NULL;
}

/* false: the array is full, or the pointer is not plainly an object of a slab. */
DRY_FAST bool general_push(struct dry_heap *heap, void *object)
{
	const struct dry_backing *backing = &heap->caches.backing;
	size_t granule = ((uintptr_t)object - backing->arena.base) >> DRY_GRANULE_SHIFT;

	if (heap->is_default)
		return granule < dry_hits.granules && dry_percpu_push_here(SLOTS, backing->arena.map[granule], object);
	struct dry_slab *slab = dry_backing_find(backing, object);
	return slab != NULL && dry_fast_free(slab->cache, object);
}

DRY_EXPORT void *dry_alloc(dry_heap *heap, size_t size)
{
	void *object;

	heap = dry_heap_get(heap);
	if (DRY_UNLIKELY(heap == NULL))
		return NULL;
	object = general_hit(heap, size);
	return DRY_LIKELY(object != NULL) ? object : checked(dry_slow_alloc(heap, size, natural_align(size), false));
}

DRY_EXPORT void *dry_zalloc(dry_heap *heap, size_t size)
{
	void *object;

	heap = dry_heap_get(heap);
	if (DRY_UNLIKELY(heap == NULL))
		return NULL;
	object = general_hit(heap, size);
	if (DRY_LIKELY(object != NULL))
		return memset(object, 0, size);
	return checked(dry_slow_alloc(heap, size, natural_align(size), true));
}

DRY_EXPORT void *dry_alloc_aligned(dry_heap *heap, size_t align, size_t size)
{
	if (!dry_is_pow2(align)) {
		dry_port_set_errno(DRY_EINVAL);
		return NULL;
	}
	heap = dry_heap_get(heap);
	return heap != NULL ? checked(dry_slow_alloc(heap, size, align, false)) : NULL;
}

DRY_EXPORT void *dry_realloc(dry_heap *heap, void *object, size_t size)
{
	if (object == NULL)
		return dry_alloc(heap, size);
	heap = dry_heap_get(heap);
	return heap != NULL ? checked(dry_slow_realloc(heap, object, size)) : NULL;
}

static DRY_SLOW void free_missing(struct dry_heap *heap, void *object)
{
	int saved = dry_port_get_errno();

	dry_slow_free(heap, object);
	dry_port_set_errno(saved);
}

DRY_EXPORT void dry_free(dry_heap *heap, void *object)
{
	heap = dry_heap_get(heap);
	if (DRY_LIKELY(heap != NULL) && DRY_UNLIKELY(!general_push(heap, object)))
		free_missing(heap, object);
}

DRY_EXPORT size_t dry_usable_size(dry_heap *heap, const void *object)
{
	heap = dry_heap_get(heap);
	return heap != NULL ? dry_general_usable(heap, object) : 0;
}
