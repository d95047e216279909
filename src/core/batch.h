/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Batches of objects in and out of a cache's nodes. Who calls holds no lock of a node, and none of a depot but where that is said.
 *
 * Must not know: arrays of slots.
 */
#ifndef DRY_CORE_BATCH_H
#define DRY_CORE_BATCH_H

#include "core/cache.h"

void dry_node_init(struct dry_node *node);

/*
 * A new slab, its caller's alone; NULL: no memory, or it is on its node's lists, where the cache wants that. Of several nodes it is
 * of `home`'s memory, and of what is at hand, where the backing can ask for that (DRY_GFP_HERE).
 */
struct dry_slab *dry_node_slab(struct dry_cache *cache, unsigned home, dry_gfp gfp);

/* Up to max of its objects, as dry_slab_take(); then it goes onto its node's lists if any are left. A depot may be locked. */
unsigned dry_node_take_slab(struct dry_cache *cache, struct dry_slab *slab, void **objects, unsigned max, unsigned more);

/* Up to max objects that are free on node `home`, of which so many more will be asked for; 0: there are none. No slab is made. */
unsigned dry_node_take_free(struct dry_cache *cache, unsigned home, void **objects, unsigned max, unsigned more);

/* As that, of the first node by number that has some. */
unsigned dry_node_take_any(struct dry_cache *cache, void **objects, unsigned max, unsigned more);

/* As take_free, but of slabs alone; a depot may be locked. */
unsigned dry_node_take_slabs(struct dry_cache *cache, unsigned home, void **objects, unsigned max);

/* As take_free, or of a new slab, or of another node; 0: no memory anywhere, or none here and the gfp stays (DRY_GFP_STAYS). */
unsigned dry_node_refill(struct dry_cache *cache, unsigned home, dry_gfp gfp, void **objects, unsigned max);

/* A hint: whether there are some. */
bool dry_node_has_free(const struct dry_cache *cache, unsigned home);

/* The same of its slabs alone. */
bool dry_node_slabs_have_free(const struct dry_cache *cache, unsigned home);

/* Take objects back from a slot of node `home`; which of the array are which is lost. Reports invalid ones and drops them. */
void dry_node_flush(struct dry_cache *cache, unsigned home, void **objects, unsigned count);

/* As flush, any number, straight to the slabs. */
void dry_node_put_slabs(struct dry_cache *cache, void *const *objects, unsigned count);

/* The same while a depot is locked. What is returned is for dry_node_free_slabs(), once it is not: free slabs that are to go. */
dry_slab_ref dry_node_put_chained(struct dry_cache *cache, void *const *objects, unsigned count);
void dry_node_free_slabs(struct dry_cache *cache, dry_slab_ref chain);

/* How, combined. ALL: or else what was not used since the last call. SOON: they may fill again, and keep their memory. */
enum dry_drain { DRY_DRAIN_ALL = 1, DRY_DRAIN_SOON = 2 };
/* Empty local, shared and alien arrays into the slabs. */
void dry_node_drain_depots(struct dry_cache *cache, unsigned how);

/* Give free slabs back: all but what is reserved, or (not all) those not needed since the last call. */
void dry_node_shrink(struct dry_cache *cache, bool all);

/* Slabs of the cache on all nodes. */
size_t dry_node_slabs(const struct dry_cache *cache);

/* Those that have a single page where others have more. While slabs come and go it may be more than that. */
size_t dry_node_singles(const struct dry_cache *cache);

/* Objects that these have, free or not. */
size_t dry_node_objects(const struct dry_cache *cache);

/*
 * Attach slabs until `count` objects are free in slabs, and keep as many, less those allocated from now on. allocs: how many
 * there were so far. What is left of an earlier reserve is part of it, and stays if it is more; 0 ends it. false: no memory, and
 * nothing more is kept than before.
 */
bool dry_node_reserve(struct dry_cache *cache, unsigned home, size_t count, uint64_t allocs);

/* Of what nodes keep in reserve, what was allocated since need not be kept. allocs: as above, read before. */
void dry_node_settle_reserve(struct dry_cache *cache, uint64_t allocs);

#endif
