/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Giving back: what arrays and depots hold into the slabs, free slabs into the backing. */
#ifndef DRY_CORE_REAP_H
#define DRY_CORE_REAP_H

#include "core/cache.h"

enum dry_reap {
	DRY_REAP_IDLE,    /* arrays that were not used since the last reap, or of a cache with next to no refill since and much
			   * free; of shared ones what was not needed since */
	DRY_REAP_ALL,
	DRY_REAP_UNUSED,  /* all but what waits in quarantines, or to be chosen */
	DRY_REAP_UNASKED, /* caches with arrays: as IDLE, and all of those with next to no refill since the last such look */
	DRY_REAP_SHARED,  /* such a look that leaves the arrays, for which CPUs are fenced */
};

/*
 * Empty the arrays of one cache, or (NULL) of all. Caller holds reap_lock. false: a thread stayed inside of a sequence, so
 * that they were left as they are.
 */
bool dry_arrays_drain_locked(struct dry_caches *caches, struct dry_cache *cache, enum dry_reap which);

/* Arrays, local, shared and alien ones into the slabs, free slabs into the backing. */
void dry_caches_reap(struct dry_caches *caches, enum dry_reap which);
/*
 * There was no memory for so many bytes: what arrays hold goes into the slabs; at later tries, from 1, after callbacks gave some.
 * false: they gave none, or were asked often enough.
 */
bool dry_caches_free_up(struct dry_caches *caches, size_t bytes, unsigned tries);
/* At the end of the process, so that each free is looked at: the same, but free slabs stay, and what waits to be chosen. */
void dry_caches_settle(struct dry_caches *caches);
/* All of it for a root. false: a thread stayed inside of a sequence, so that the arrays could not be emptied. */
bool dry_cache_empty(struct dry_cache *cache, size_t *freed);
/* What a root has counted is added to `sum`, [DRY_COUNTERS]. Caller holds the lock of the list. */
void dry_cache_add_counters_locked(struct dry_cache *cache, uint64_t *sum);
/* dry_node_reserve() of a root, with allocations counted up to now, and with what arrays hold and callbacks give. */
bool dry_cache_reserve(struct dry_cache *cache, unsigned home, size_t count);
/*
 * The arrays of a root, emptied, get other limits, while objects come and go: 0 < batchcount <= limit <= cache->room.
 * false: a thread stayed inside of a sequence.
 */
bool dry_cache_tune(struct dry_cache *cache, uint32_t limit, uint32_t batchcount);

#endif
