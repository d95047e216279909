/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A cache on one memory node: slab lists, shared array, alien and local arrays.
 *
 * Concurrency: the node's lock guards its slabs and lists, a depot's lock the depot; counters written outside of a lock
 * are atomic and say so.
 */
#ifndef DRY_CORE_NODE_H
#define DRY_CORE_NODE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/backing.h"
#include "port_impl.h"

#define DRY_MAX_NODES     8
#define DRY_SHARED_FACTOR 8 /* batches that a shared or alien array holds, as published */
#ifndef DRY_LOCALS          /* a backing may want less */
#define DRY_LOCALS 8        /* local arrays, shared by slots of the same number modulo this */
#endif
#define DRY_LOCAL_FACTOR 2  /* as DRY_SHARED_FACTOR, until they grow */

/*
 * Objects that wait for the CPU they came from (local), on their way between CPUs of one node (shared), or to another node (alien).
 * 0 <= avail <= limit. Guarded by lock; avail may be read without, as a hint.
 */
struct dry_depot {
	struct dry_lock lock;
	_Atomic uint32_t avail;
	uint32_t limit; /* 0: none could be allocated yet */
	uint32_t room;  /* entries that there is memory for: what limit may grow to where it lies */
	uint32_t low;   /* fewest since the last reap */
	uint32_t seen;  /* reap: value of moves at the last reap */
	uint32_t moves; /* batches moved in or out, or that found no room: the lock's rounds */
	bool overflowed;   /* something found no room since it was last empty */
	bool alien;        /* emptied into slabs alone: more room would only be for more that nobody has. Immutable */
	_Atomic bool fits; /* it has memory, and was never empty after that */
	size_t grown;      /* bytes of objects that it holds beyond what is usual, if it is full */
	void **entry;      /* memory for metadata */
	/* Without arrays, `entry` may be a pool of `avail` objects (debug/pool.h). These are its calls, if it is a local one. */
	_Atomic size_t allocs, frees;
};

/* CPUs do not write to one cache line. */
struct dry_depot_line {
	struct dry_depot depot;
} DRY_ALIGNED(64);

/*
 * Lists of slabs. A partial slab is in the list of its fill, so that the
 * fullest can be used first; a full slab is on no list, unless its cache is debugged.
 */
enum dry_list {
	DRY_LIST_PARTIAL = 0,
	DRY_PARTIAL_LISTS = 4,
	DRY_LIST_FULL = DRY_PARTIAL_LISTS, /* of debugged caches only */
	DRY_LIST_FREE,
	DRY_LISTS,
	DRY_LIST_NONE = DRY_LISTS
};

/*
 * free_objects = sum over slabs on lists of (num - active)
 * free_slabs   = length of list[DRY_LIST_FREE]
 */
struct dry_node {
	struct dry_lock lock;
	dry_slab_ref list[DRY_LISTS]; /* guarded by lock */
	_Atomic size_t free_objects;  /* written under lock; read without, as a hint */
	size_t free_slabs;            /* guarded by lock */
	size_t free_limit;            /* most free slabs kept, of single pages more (batch.c); guarded by lock */
	size_t free_low;              /* fewest free slabs since the last reap; guarded by lock */
	_Atomic size_t lock_rounds;   /* for slabs: refill, flush, attach; written under lock, read without */
	_Atomic size_t lock_waits;    /* of them, those that found it held; likewise */
	_Atomic uint32_t colour_next; /* counts slabs made */
	_Atomic size_t slabs;         /* all of this cache on this node */
	_Atomic size_t singles;       /* of them, those of a single page where others have more */
	_Atomic size_t peak_slabs;    /* the most there were of them */
	_Atomic size_t slabs_made;    /* since the start */
	_Atomic size_t reserved;      /* prefill: free objects that may not be given back; written under lock */
	uint64_t reserved_at;         /* after so many allocations from the cache; guarded by lock */
	size_t reserving;             /* what calls under way are about to reserve, together; guarded by lock */
	_Atomic size_t slow_allocs, slow_frees;
	_Atomic size_t remote_frees;  /* objects of other nodes that were freed on this one */
	_Atomic size_t failures;      /* allocations for which there was no memory (node 0) */
	_Atomic size_t bulk_allocs;   /* objects that bulk calls took from arrays */
	_Atomic ptrdiff_t pops_apart; /* that words of arrays do not count, less those that they only seem to (node 0) */
	struct dry_depot shared;
	/* [nodes]: alien, objects of node i freed on this one; behind them [DRY_LOCALS]: local. NULL: none yet */
	struct dry_depot_line *_Atomic more;
};

/* relaxed: exact under the lock, a figure or a hint without. */
static inline size_t dry_figure(const _Atomic size_t *figure)
{
	return atomic_load_explicit(figure, memory_order_relaxed);
}

#endif
