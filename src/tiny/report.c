/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What is wrong with a pointer or link. Slow and exact; nothing here runs unless something is wrong. */
#include "base/fatal.h"
#include "tiny/pages.h"

/* A slab has pages that the map does not number, and one of them is this address's. */
static bool has_page(const struct dry_slab *slab, const void *address)
{
	const struct dry_class *class = slab->class;
	size_t pages = dry_pages_for(class->heap, class->first + slab->objects * (size_t)class->slot);

	return (uintptr_t)address - (uintptr_t)slab < pages << class->heap->pool.shift;
}

/* A pointer into a page that the map says to be no slab's, or into none. */
static void bad_page(const struct dry_heap *heap, const char *name, const void *pointer)
{
	uintptr_t bytes = (uintptr_t)1 << heap->pool.shift, page = (uintptr_t)pointer & -bytes;
	const uint16_t *entry = dry_map_of(heap, pointer);
	const char *detail = "never given out, or freed twice";
	enum dry_fatal_code code = DRY_FATAL_INVALID_POINTER;

	/* the run's first page, or the page behind the run before it */
	for (; entry != NULL && *entry == DRY_MAP_NONE; page -= bytes)
		entry = dry_map_of(heap, (void *)(page - bytes));
	if (entry != NULL && dry_map_block(*entry) != 0) {
		code = page == (uintptr_t)pointer ? DRY_FATAL_WRONG_CACHE : DRY_FATAL_INTERIOR;
		detail = "big block";
	} else if (entry != NULL && *entry < DRY_MAP_BLOCK && has_page(dry_map_slab(heap, (const void *)page), pointer)) {
		code = DRY_FATAL_INTERIOR;
		detail = NULL;
	}
	dry_fatal(code, pointer, name, detail);
}

void dry_tiny_say_pointer(const struct dry_owner *owner, const void *pointer)
{
	const struct dry_class *class = owner->class;
	const struct dry_slab *slab;
	const char *name = NULL;
	size_t offset, index;

	if (class == DRY_TINY_DEAD) {
		dry_fatal(DRY_FATAL_DEAD_CACHE, pointer, NULL, NULL);
		return;
	}
	if (class != NULL)
		name = dry_tiny_class_name(class);
	slab = dry_map_slab(owner->heap, pointer);
	if (slab == NULL) {
		bad_page(owner->heap, name, pointer);
		return;
	}
	if (slab->class != class) {
		dry_fatal(DRY_FATAL_WRONG_CACHE, pointer, name, dry_tiny_class_name(slab->class));
		return;
	}
	offset = (size_t)((const char *)pointer - (const char *)slab) - class->first;
	index = offset / class->slot;
	if (index >= slab->carved)
		dry_fatal(DRY_FATAL_INVALID_POINTER, pointer, name, "never given out, or freed twice");
	else if (offset != index * class->slot)
		dry_fatal(DRY_FATAL_INTERIOR, pointer, name, NULL);
	else
		dry_fatal(DRY_FATAL_DOUBLE_FREE, pointer, name, NULL);
}

void dry_tiny_say_link(const struct dry_class *class, const void *where)
{
	dry_fatal(DRY_FATAL_INTERNAL, where, class != NULL ? dry_tiny_class_name(class) : NULL, "an overwritten link");
}
