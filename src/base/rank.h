/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Lock ranks. A thread that holds a lock may only acquire one of a higher
 * rank. Debug builds enforce it (dry_lock_acquire of each port).
 */
#ifndef DRY_BASE_RANK_H
#define DRY_BASE_RANK_H

enum dry_rank {
	DRY_RANK_METRICS = 1, /* metrics are being written */
	DRY_RANK_HEAPS,     /* the list of heaps */
	DRY_RANK_REAP,      /* one reap, drain or destroy of a heap at a time */
	DRY_RANK_CACHES,    /* a heap's list of caches, its slots */
	DRY_RANK_MAIN_REAP, /* the default heap's: a grace-period provider called under another heap's lock may */
	DRY_RANK_MAIN_CACHES, /* use malloc */
	DRY_RANK_ALIEN,     /* one alien array */
	DRY_RANK_SHARED,    /* one shared array */
	DRY_RANK_NODE,      /* slab lists of one cache on one node */
	DRY_RANK_GUARD,     /* guarded blocks */
	DRY_RANK_SITES,     /* sampled blocks */
	DRY_RANK_EXTENT,    /* the registry of extents */
	DRY_RANK_META,      /* memory for metadata */
	DRY_RANK_PAGE,      /* the arena */
	DRY_RANK_PORT,      /* inside a port: slots, registration */
	DRY_RANK_LIMIT,     /* who is asked at the limit of the process */
	DRY_RANK_COUNT
};

#endif
