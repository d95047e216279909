/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What all of the verification asks. */
#include "tiny/check.h"

bool dry_check_expect(struct dry_check *check, bool holds, const char *what, const void *where)
{
	if (!holds && check->wrong == NULL) {
		check->wrong = what;
		check->where = where;
	}
	return holds;
}

/* A pointer to something of this size and alignment inside of the heap's memory. */
bool dry_check_inside(struct dry_heap *heap, const void *address, size_t bytes)
{
	const struct dry_pool *pool = &heap->pool;

	while (pool != NULL && (uintptr_t)address - pool->base >= pool->bytes)
		pool = pool->next;
	return pool != NULL && (uintptr_t)address % sizeof(void *) == 0 &&
	       pool->base + pool->bytes - (uintptr_t)address >= bytes;
}

bool dry_check_known(struct dry_heap *heap, const struct dry_class *class)
{
	const struct dry_link *link = heap->classes;

	while (link != NULL && DRY_CONTAINER(link, const struct dry_class, classes) != class)
		link = link->next;
	return link != NULL;
}
