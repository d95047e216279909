/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Slots: their areas, the places of arrays in them, stopping. */
#ifndef DRY_CORE_SLOTS_H
#define DRY_CORE_SLOTS_H

#include "core/cache.h"

/* Of a stopped area for all places that there may be. */
static inline size_t dry_slot_nowhere_bytes(const struct dry_caches *caches)
{
	return caches->area_size + sizeof(struct dry_array);
}

/*
 * What was read from slots[] (acquire) is no area. relaxed: who finds another stopped area there sees that it is one; it was
 * written before.
 */
static inline bool dry_slot_is_nowhere(const struct dry_caches *caches, const char *area)
{
	return area == dry_stopped_area || area == __atomic_load_n(&caches->nowhere, __ATOMIC_RELAXED);
}

/* Whether the caller's slot has an area, which is made if need be; frees: for a free. Only a hint: the caller may move. */
bool dry_slot_prepare(struct dry_caches *caches, bool frees);
/* Give the slot an area with the arrays of all caches, if there is memory for it. */
void dry_slot_open_locked(struct dry_caches *caches, uint32_t slot);
/* A place for an array of the cache in every slot. 0: none left, nor memory for more. */
uint32_t dry_slot_place_locked(struct dry_cache *cache);
void dry_slot_unplace_locked(struct dry_cache *cache, uint32_t place);
/* The cache's arrays, which are empty and stopped, get its limits. */
void dry_slot_renew_locked(struct dry_cache *cache);
/*
 * While the arrays are stopped, wait until they go on; not where the caller holds a lock, as a signal handler may that interrupted
 * a call of ours, nor for long: it goes on without arrays. Whether they went on.
 */
bool dry_slots_wait(struct dry_caches *caches);
/* Stop and start all arrays; caller holds reap_lock and lock. false: not stopped. */
bool dry_slots_stop_locked(struct dry_caches *caches);
void dry_slots_start_locked(struct dry_caches *caches);

#endif
