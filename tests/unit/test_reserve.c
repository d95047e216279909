/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a cache has reserved on one memory node ends for a thread on another one, too, when it asks for none. */
#include "check.h"
#include "core/reap.h"
#include "heap/heap.h"

#define NODES 3

int main(void)
{
	dry_heap *heap = dry_heap_create(&(struct dry_heap_attr){ .nodes = NODES });
	dry_cache *cache = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "reserve", .size = 100 });

	CHECK(cache != NULL);
	for (unsigned n = 0; n < NODES; n++)
		CHECK(dry_cache_reserve(cache, n, 100) && cache->node[n].reserved == 100);
	CHECK_EQ(dry_cache_prefill(cache, 0), 0);
	for (unsigned n = 0; n < NODES; n++)
		CHECK_EQ(cache->node[n].reserved, 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	return 0;
}
