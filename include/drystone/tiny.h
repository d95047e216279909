/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tiny.h - what libdrystone-tiny and libdrystone-sequential have besides drystone.h.
 *
 * libdrystone-tiny-check has dry_heap_check(), dry_cache_check(), dry_heap_slabinfo(), dry_heap_for_each_cache(),
 * dry_heap_owners(), dry_version(), dry_heap_min_pool(), dry_cache_zalloc_bulk() and dry_cache_alloc_node(); linked before
 * libdrystone-tiny, by any of these or by `-u dry_tiny_say_pointer`, it also makes reports of corruption and leaks lines of text.
 * Without it a corrupt argument just stops. Neither has dry_guard(), dry_profile_heap() and dry_profile_write().
 *
 * What drystone.h says does not hold in these points:
 *  - The archives have no lock and set no errno: what tiny_config.h has for these does nothing in them. Who calls from several
 *    threads, or from interrupts, builds the library with a tiny_config.h of their own.
 *  - The default heap is NULL where there is no memory for one, as with archives that nobody gave any.
 *  - There is one lock for all heaps, which is held while a constructor runs: it may call into no heap.
 *  - Walks and listings come to the heap's own classes first, the youngest of them before the others, and hold no lock between two
 *    caches: nobody may create or destroy caches meanwhile.
 *  - A cache cannot have (EINVAL) dtor, reclaim, source, or any flag but HWALIGN and NO_MERGE. A heap's grace and source are
 *    not looked at.
 *  - What a prefill reserved is the cache's until one of the slabs that count is wholly free again: that one is kept only
 *    until the heap is short of memory. Who needs n objects at a deadline keeps them, or reserves again.
 *  - A block is made bigger by moving it. Made smaller to half or less it moves, too, unless there is no memory for that.
 */
#ifndef DRYSTONE_TINY_H
#define DRYSTONE_TINY_H

#include <drystone/drystone.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * More memory for a heap (NULL: the default one): a further pool, which need not be near the others. No block lies in
 * two. A heap has at most 8 pools; one pool has at most 32255 pages, what is more becomes further pools,
 * and what is more than the eighth holds stays unused.
 * 0, -EINVAL (less than 2 KiB; or NULL: of a region that begins at address 0, hand in what is behind its first bytes),
 * -ENOMEM (8 pools).
 */
int dry_heap_add(dry_heap *heap, void *memory, size_t size);

/* Objects of one kind, of which a program never has more than `count` at once. */
struct dry_workload {
	size_t size, count;
	size_t align;  /* of a cache: as in struct dry_cache_attr; of blocks: 0, or as for dry_alloc_aligned() */
	unsigned flags; /* of a cache */
	bool constructed; /* the cache has a constructor */
	bool blocks;	  /* by dry_alloc(), not from a cache of their own */
};

/*
 * The bytes of a pool in which a program that has no more than these objects, in whatever order it
 * allocates and frees them, is never without memory (libdrystone-tiny; without dry_cache_prefill()). The caches' own memory
 * is counted, one cache for each kind that is not blocks. 0: no pool is large enough, or there are no such caches.
 *
 * With pages of P bytes: a class grows only while all its slabs are full, so of n objects it has at most
 *
 *	U = ((n - 1) * slot + s * (first + P)) / P + pages((n - 1) / 4 + 1)	pages, in s + 1 runs, s = (n - 1) / r
 *
 * where r objects fit in the smallest slab. A request of m pages can fail only if every free run is shorter than g, the
 * smallest power of two that is >= m + align / P - 1; free runs are separated by used ones. So it never fails with
 *
 *	U of all classes and blocks + (their runs + 1) * (g - 1)		pages, g of the largest request.
 */
size_t dry_heap_min_pool(const struct dry_workload *kinds, size_t n);

#ifdef __cplusplus
}
#endif
#endif
