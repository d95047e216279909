/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * General allocation in any heap: caches by size class, page runs above them,
 * extents for big blocks. Not yet errno, not yet libc's rules.
 */
#ifndef DRY_MALLOC_GENERAL_H
#define DRY_MALLOC_GENERAL_H

#include "core/fast.h"
#include "heap/heap.h"
#include "malloc/classes.h"

/* The secondary allocator's block (heap/secondary.h). NULL: there is none, or it does not want this one. */
static inline void *dry_general_ask_secondary(struct dry_heap *heap, size_t size, size_t align, bool zero)
{
	const struct dry_secondary *secondary = dry_heap_secondary(heap);

	return DRY_UNLIKELY(secondary != NULL) ? secondary->allocate(size, align, zero) : NULL;
}

/* The class of a block; DRY_CLASS_COUNT: none is as big, or aligned like that. */
static inline unsigned dry_general_class(const struct dry_heap *heap, size_t size, size_t align)
{
	size_t tail = heap->caches.hooks->tail, slot = size + (size == 0) + tail;

	return size > DRY_CLASS_MAX - tail ? DRY_CLASS_COUNT : dry_class_for(slot, align);
}

/* align: a power of two. zero: content is zero. NULL: no memory. */
void *dry_general_alloc(struct dry_heap *heap, size_t size, size_t align, bool zero);

/* From a class's cache whose array is empty, for a block of `size` bytes. NULL: no memory. */
DRY_SLOW void *dry_general_alloc_slow(struct dry_cache *cache, size_t size);

/* Any pointer; reports what is not ours. */
void dry_general_free(struct dry_heap *heap, void *pointer);

/*
 * Whether a block that is freed as one of `size` bytes with this alignment (1: any) may be; false after a report. Debugged
 * caches know.
 */
bool dry_general_size_holds(struct dry_heap *heap, void *pointer, size_t size, size_t align);

/* 0 for NULL, and after a report for what is not ours. */
size_t dry_general_usable(struct dry_heap *heap, const void *pointer);

/* Whether a block that changes its size stays: it has room, and at most half would be wasted. */
static inline bool dry_general_fits(size_t size, size_t room)
{
	return size <= room && (size >= room / 2 || room <= 64);
}

/* NULL: no memory, block untouched. pointer != NULL. */
void *dry_general_realloc(struct dry_heap *heap, void *pointer, size_t size);

#endif
