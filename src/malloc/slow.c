/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/slow.h"

#include "port/contract.h"

void dry_slow_grown(struct dry_heap *heap)
{
	int saved = dry_port_get_errno();

	dry_heap_takes(heap);
	dry_port_set_errno(saved);
}

/* Of the default heap, which alone has a keeper: whether a hit could have had it. */
static bool is_small(const void *object)
{
	const struct dry_arena *arena = dry_heap_arena(&dry_main_heap);
	size_t granule = ((uintptr_t)object - arena->base) >> DRY_GRANULE_SHIFT;

	return granule < dry_hits.granules && arena->map[granule] != 0;
}

/*
 * Housekeeping may empty arrays: before an object comes into one, or a second free of it would find none that has it. After what is
 * in no array, and may be much.
 */
void dry_slow_free(struct dry_heap *heap, void *object)
{
	bool small = heap->is_default && is_small(object);

	if (small)
		dry_heap_gives(heap);
	dry_general_free(heap, object);
	if (!small)
		dry_heap_gives(heap);
}
