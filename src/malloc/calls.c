/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The public calls of general allocation: errno, and what they promise beyond general.h. */
#include "malloc/general.h"

#include "base/bits.h"
#include "base/error.h"
#include "port/contract.h"

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

DRY_EXPORT void *dry_alloc(dry_heap *heap, size_t size)
{
	heap = dry_heap_get(heap);
	return heap != NULL ? checked(dry_general_alloc(heap, size, natural_align(size), false)) : NULL;
}

DRY_EXPORT void *dry_zalloc(dry_heap *heap, size_t size)
{
	heap = dry_heap_get(heap);
	return heap != NULL ? checked(dry_general_alloc(heap, size, natural_align(size), true)) : NULL;
}

DRY_EXPORT void *dry_alloc_aligned(dry_heap *heap, size_t align, size_t size)
{
	if (!dry_is_pow2(align)) {
		dry_port_set_errno(DRY_EINVAL);
		return NULL;
	}
	heap = dry_heap_get(heap);
	return heap != NULL ? checked(dry_general_alloc(heap, size, align, false)) : NULL;
}

DRY_EXPORT void *dry_realloc(dry_heap *heap, void *object, size_t size)
{
	if (object == NULL)
		return dry_alloc(heap, size);
	heap = dry_heap_get(heap);
	return heap != NULL ? checked(dry_general_realloc(heap, object, size)) : NULL;
}

DRY_EXPORT void dry_free(dry_heap *heap, void *object)
{
	int saved = dry_port_get_errno();

	heap = dry_heap_get(heap);
	if (heap != NULL)
		dry_general_free(heap, object);
	dry_port_set_errno(saved);
}

DRY_EXPORT size_t dry_usable_size(dry_heap *heap, const void *object)
{
	heap = dry_heap_get(heap);
	return heap != NULL ? dry_general_usable(heap, object) : 0;
}
