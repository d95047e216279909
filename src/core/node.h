/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A cache on one memory node: slab lists, shared array, alien arrays; batches in
 * and out of them.
 *
 * Must not know: array caches of slots.
 */
#ifndef DRY_CORE_NODE_H
#define DRY_CORE_NODE_H

#include "core/heap.h"

void dry_node_init(struct dry_node *node);

/* Up to max objects for a slot of node `home`; 0: no memory anywhere. */
unsigned dry_node_refill(struct dry_cache *cache, unsigned home, void **objects, unsigned max);

/* Take objects back from a slot of node `home`. Reports invalid ones and drops them. */
void dry_node_flush(struct dry_cache *cache, unsigned home, void *const *objects, unsigned count);

/* As flush, but straight to the slabs. */
void dry_node_put_slabs(struct dry_cache *cache, void *const *objects, unsigned count);

/* Empty shared and alien arrays into the slabs; only those not used since the last call, unless `all`. */
void dry_node_drain_depots(struct dry_cache *cache, bool all);

/*
 * Give free slabs back: all but what is reserved, or (reap) those not needed since the last call.
 * The number of slabs.
 */
size_t dry_node_shrink(struct dry_cache *cache, bool all);

/* Slabs of the cache on all nodes. */
size_t dry_node_slabs(const struct dry_cache *cache);

/* Attach slabs until `count` objects are free in slabs, and keep them. 0 or -ENOMEM. */
int dry_node_reserve(struct dry_cache *cache, unsigned home, size_t count);

/*
 * slots.c: empty the array caches of one cache, or (NULL) of all; untouched_only: those not used since the
 * last such call. Caller holds reap_lock. false: a thread stayed inside of a sequence, so that they were
 * left as they are.
 */
bool dry_arrays_drain_locked(struct dry_heap *heap, struct dry_cache *cache, bool untouched_only);

#endif
