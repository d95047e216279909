/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Walks over a set of caches, while others make and destroy them. */
#ifndef DRY_CORE_WALK_H
#define DRY_CORE_WALK_H

#include "core/cache.h"

/*
 * Calls fn for each cache that lives, oldest first, until it gives other than 0; that. Without the lock meanwhile: fn may
 * allocate, and others may destroy the cache that the walk stands on, and those behind it. Their structs stay as they
 * are until the last walk has ended, so that `next` leads on.
 */
int dry_caches_walk(struct dry_caches *caches, int (*fn)(dry_cache *cache, void *arg), void *arg);

#define DRY_RECLAIM_TRIES 64 /* for one request: what callbacks give may be of slabs that stay in use */

/* Asks the caches' callbacks for about so many bytes, no lock of ours held. false: none gave any, or they are being asked. */
bool dry_caches_reclaim(struct dry_caches *caches, size_t bytes);

/* How much a set of caches has for a cache's struct, its nodes included. */
static inline size_t dry_cache_struct_bytes(const struct dry_caches *caches)
{
	return sizeof(struct dry_cache) + caches->nodes * sizeof(struct dry_node);
}

#endif
