/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A heap is quiet while nobody has a lock of it, any of those that a fork takes: else who looks through it at the end of a process
 * might wait for good. That of the metadata's arena is taken by itself when free metadata goes back to the system.
 * DRY_TEST_NO_NORSEQ: locks know nothing of slots.
 */
#include "check.h"
#include "heap/heap.h"

int main(void)
{
	dry_heap *heap = dry_heap_create(NULL);
	dry_cache *cache = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "quiet", .size = 100 });

	CHECK(cache != NULL && dry_heap_is_quiet(heap));
	struct dry_lock *locks[] = {
		&heap->caches.reap_lock, &heap->caches.lock, &heap->extents.lock, &heap->caches.backing.arena.lock,
		&heap->caches.backing.meta.lock, &heap->caches.backing.meta.own.lock, &cache->node[0].lock,
		&cache->node[0].shared.lock,
	};
	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
		dry_lock_acquire(locks[i]);
		CHECK(!dry_heap_is_quiet(heap));
		dry_lock_release(locks[i]);
		CHECK(dry_heap_is_quiet(heap));
	}
	CHECK_EQ(dry_heap_destroy(heap), 0);
	return 0;
}
