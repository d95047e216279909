/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Figures. Reads only. */
#include "base/error.h"
#include "base/memory.h"
#include "tiny/pages.h"

int dry_heap_stats(dry_heap *heap, struct dry_heap_stats *stats)
{
	int status = -DRY_ENOMEM;

	dry_tiny_lock();
	heap = dry_tiny_heap(heap);
	if (heap != NULL) {
		memset(stats, 0, sizeof(*stats));
		stats->slots = 1;
		for (const struct dry_link *link = heap->classes; link != NULL; link = link->next)
			stats->caches += DRY_CONTAINER(link, const struct dry_class, classes)->names != 0;
		/* of the first pool, the heap's own memory, too */
		stats->reserved = heap->pool.base - (uintptr_t)heap;
		for (const struct dry_pool *pool = &heap->pool; pool != NULL; pool = pool->next)
			stats->reserved += pool->bytes;
		/* all but free pages: what the heap keeps for itself has no other place either */
		stats->in_use = stats->reserved - ((size_t)heap->pages_free << heap->pool.shift);
		status = 0;
	}
	dry_tiny_unlock();
	return status;
}

int dry_cache_stats(dry_cache *cache, struct dry_cache_stats *stats)
{
	const struct dry_class *class;

	dry_tiny_lock();
	class = cache->owner.class;
	memset(stats, 0, sizeof(*stats));
	stats->name = cache->name;
	stats->object_size = cache->size;
	stats->stride = class->slot;
	stats->align = class->align;
	stats->flags = cache->flags;
	stats->mgmt = DRY_MGMT_CHAIN;
	stats->colours = 1;
	if (class->names != 0)
		stats->aliases = class->names - 1u;
	dry_tiny_class_figures(class, stats);
	dry_tiny_unlock();
	return 0;
}
