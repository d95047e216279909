/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What is no hit, as general.h does it, with the housekeeping of the default heap around it. errno is as these leave it. */
#ifndef DRY_MALLOC_SLOW_H
#define DRY_MALLOC_SLOW_H

#include "malloc/general.h"

/* Of a block of so many bytes its keeper is told after it, too: it may have made the heap big alone. errno stays. */
#define DRY_SLOW_BIG ((size_t)1 << 20)
void dry_slow_grown(struct dry_heap *heap);

DRY_FAST void *dry_slow_alloc(struct dry_heap *heap, size_t size, size_t align, bool zero)
{
	void *object;

	dry_heap_takes(heap);
	object = dry_general_alloc(heap, size, align, zero);
	if (DRY_UNLIKELY(size >= DRY_SLOW_BIG) && object != NULL)
		dry_slow_grown(heap);
	return object;
}

DRY_FAST void *dry_slow_realloc(struct dry_heap *heap, void *object, size_t size)
{
	dry_heap_takes(heap); /* before, as in dry_slow_free() */
	return dry_general_realloc(heap, object, size);
}

void dry_slow_free(struct dry_heap *heap, void *object);

#endif
