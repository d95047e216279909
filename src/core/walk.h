/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Walks over a set of caches, while others make and destroy them. */
#ifndef DRY_CORE_WALK_H
#define DRY_CORE_WALK_H

#include "core/cache.h"

/*
 * Calls fn for each cache that lives, oldest first, until it gives other than 0; that. Without the lock meanwhile: fn may
 * allocate, and others may destroy the cache that the walk stands on, and those behind it. Their structs stay as they
 * are until the last walk has ended at least, so that `next` leads on.
 */
int dry_caches_walk(struct dry_caches *caches, int (*fn)(dry_cache *cache, void *arg), void *arg);

/* Those that were destroyed and need not be kept any more (core/cache.h, `forgotten`). They are freed without the lock. */
struct dry_cache *dry_caches_take_forgotten_locked(struct dry_caches *caches);
void dry_caches_free_forgotten(struct dry_caches *caches, struct dry_cache *forgotten);

#define DRY_RECLAIM_TRIES 64 /* for one request: what callbacks give may be of slabs that stay in use */

/*
 * Asks the caches' callbacks for about so many bytes, no lock of ours held. While another thread does so, it waits until that is
 * done. false: none gave any, or it is called by one, or waited too long (core/asking.h).
 */
bool dry_caches_reclaim(struct dry_caches *caches, size_t bytes);

/*
 * From now on the callback of a cache is not called, and it does not run any more, unless the caller is part of it. The callback,
 * for dry_cache_ask_again(). No lock is held.
 */
size_t (*dry_cache_stop_asking(struct dry_cache *cache))(void *arg, size_t bytes);
void dry_cache_ask_again(struct dry_cache *cache, size_t (*reclaim)(void *arg, size_t bytes));

/*
 * A fork, the list's lock held; and in its child, when no lock is any more. There walks and callbacks of the thread that forks go
 * on, and those of others have ended.
 */
void dry_caches_before_fork_locked(struct dry_caches *caches);
void dry_caches_forked(struct dry_caches *caches);

/* How much a set of caches has for a cache's struct, its nodes included. */
static inline size_t dry_cache_struct_bytes(const struct dry_caches *caches)
{
	return sizeof(struct dry_cache) + caches->nodes * sizeof(struct dry_node);
}

#endif
