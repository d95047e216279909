/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What is wrong with a pointer; of one into a sheet, nothing is known but that it is none. */
#include "base/fatal.h"
#include "tiny/sequential.h"

/* What is no block of a sheet. */
static void bad_pointer(const struct dry_heap *heap, const struct dry_class *class, const void *pointer)
{
	const char *name = class != NULL ? dry_tiny_class_name(class) : NULL;

	if (dry_map_of(heap, pointer) == NULL || (uintptr_t)pointer % sizeof(struct dry_unit) != 0)
		dry_fatal(DRY_FATAL_INVALID_POINTER, pointer, name, "never given out");
	else if (dry_map_slab(heap, pointer) == NULL)
		dry_fatal(DRY_FATAL_INVALID_POINTER, pointer, name, "in no block: never given out, or freed twice");
	else
		dry_fatal(DRY_FATAL_DOUBLE_FREE, pointer, name, NULL);
}

void dry_tiny_say_pointer(const struct dry_owner *owner, const void *pointer)
{
	if (owner->class == DRY_TINY_DEAD)
		dry_fatal(DRY_FATAL_DEAD_CACHE, pointer, NULL, NULL);
	else
		bad_pointer(owner->heap, owner->class, pointer);
}

void dry_tiny_say_link(const struct dry_class *class, const void *where)
{
	(void)class;
	dry_fatal(DRY_FATAL_INTERNAL, where, NULL, NULL);
}
