/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Where a pointer leads: to its page's entry, to its slab, or nowhere. What reports look at, too, so it reports nothing itself. */
#include "tiny/pages.h"

const struct dry_tiny_ends dry_tiny_ends = {
	.nil = { NULL, DRY_TINY_SPARE },
	.dead = { (struct dry_link *)(uintptr_t)&dry_tiny_ends.dead },
	.dead_free = &dry_tiny_ends.nil,
};

uint16_t *dry_map_of(const struct dry_heap *heap, const void *address)
{
	const struct dry_pool *pool = &heap->pool;

	do
		if ((uintptr_t)address - pool->base < pool->bytes)
			return dry_map_entry(pool, address);
	while ((pool = pool->next) != NULL);
	return NULL;
}

void *dry_map_slab(const struct dry_heap *heap, const void *address)
{
	const uint16_t *entry = dry_map_of(heap, address);

	if (entry == NULL || *entry >= DRY_MAP_BLOCK)
		return NULL;
	return (void *)((((uintptr_t)address >> heap->pool.shift) - *entry) << heap->pool.shift);
}
