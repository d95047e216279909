/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What is wrong with a pointer. Slow and exact; nothing here runs unless something is wrong. */
#include "base/fatal.h"
#include "tiny/pages.h"

/* A pointer into a page that is no slab's, or into none (pool NULL). */
static void bad_page(struct dry_heap *heap, const struct dry_pool *pool, const char *name, const void *pointer)
{
	uintptr_t page = (uintptr_t)pointer & -((uintptr_t)1 << heap->shift);
	const char *detail = "never given out, or freed twice";
	enum dry_fatal_code code = DRY_FATAL_INVALID_POINTER;

	/* the run's first page, or the page behind the run before it */
	while (pool != NULL && page != pool->base && *dry_map_entry(heap, pool, page) == DRY_MAP_NONE)
		page -= (uintptr_t)1 << heap->shift;
	if (pool != NULL && dry_map_block(*dry_map_entry(heap, pool, page)) != 0) {
		code = page == (uintptr_t)pointer ? DRY_FATAL_WRONG_CACHE : DRY_FATAL_INTERIOR;
		detail = "big block";
	}
	dry_fatal(code, pointer, name, detail);
}

void dry_tiny_bad_pointer(struct dry_heap *heap, const struct dry_class *class, const void *pointer)
{
	const char *name = class != NULL && class != &dry_tiny_dead ? dry_tiny_class_name(class) : NULL;
	struct dry_pool *pool = dry_pool_of(heap, pointer);
	const struct dry_slab *slab = dry_tiny_slab_of(heap, pointer);
	size_t offset, index;

	if (class == &dry_tiny_dead) {
		dry_fatal(DRY_FATAL_DEAD_CACHE, pointer, NULL, NULL);
		return;
	}
	if (slab == NULL) {
		bad_page(heap, pool, name, pointer);
		return;
	}
	if (class != NULL && slab->class != class) {
		dry_fatal(DRY_FATAL_WRONG_CACHE, pointer, name, dry_tiny_class_name(slab->class));
		return;
	}
	class = slab->class;
	name = dry_tiny_class_name(class);
	offset = (size_t)((const char *)pointer - (const char *)slab) - class->first;
	index = offset / class->slot;
	if (index >= slab->carved)
		dry_fatal(DRY_FATAL_INVALID_POINTER, pointer, name, "never given out, or freed twice");
	else if (offset != index * class->slot)
		dry_fatal(DRY_FATAL_INTERIOR, pointer, name, NULL);
	else
		dry_fatal(DRY_FATAL_DOUBLE_FREE, pointer, name, NULL);
}
