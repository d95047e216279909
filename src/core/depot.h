/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Local, shared and alien arrays. */
#ifndef DRY_CORE_DEPOT_H
#define DRY_CORE_DEPOT_H

#include "core/cache.h"

/* How many a node has beside the shared one, if it has them. */
static inline uint32_t dry_depots_more(const struct dry_caches *caches)
{
	return caches->nodes + DRY_LOCALS;
}

/*
 * Before a put: memory for it, of so many batches at first, and more if it was too small. Apart from put, which is called with
 * much of the stack in use.
 */
void dry_depot_prepare(struct dry_cache *cache, struct dry_depot *depot, unsigned batches);
/* false: it does not fit, or there is no memory for the depot yet. */
bool dry_depot_put(struct dry_depot *depot, void *const *objects, unsigned count);
/* The newest ones, at most max; their number. */
unsigned dry_depot_take(struct dry_depot *depot, void **objects, unsigned max);

/*
 * The same without a copy in between. Each gives entries, and how many, at most max; from then on the depot is locked until the
 * second call, which is told how many of them were filled, or how many of the first were taken. NULL: none, and not locked.
 */
void **dry_depot_room(struct dry_depot *depot, unsigned max, unsigned *count);
void dry_depot_filled(struct dry_depot *depot, unsigned count);
void **dry_depot_newest(struct dry_depot *depot, unsigned max, unsigned *count);
void dry_depot_taken(struct dry_depot *depot, void **entries, unsigned count, unsigned taken);
/*
 * Instead of taken, where slabs get them: they are the depot's no more before the first one is in its slab, for who leaves a
 * report by a jump leaves nothing in two places. Then others, so many, stand in place of the first of them.
 */
void dry_depot_leaving(struct dry_depot *depot, unsigned count);
void dry_depot_replaced(struct dry_depot *depot, unsigned others);
/* The alien array on node `home` for objects of node `owner`; NULL: no memory. */
struct dry_depot *dry_depot_alien(struct dry_cache *cache, unsigned home, unsigned owner);
/*
 * The local array of the caller's slot, which may be another one's in a moment: a hint. NULL: only one slot is in use, which has
 * the shared array; or there is more than one node; or it was not made yet, and is not to be made or there is no memory.
 */
struct dry_depot *dry_depot_local(struct dry_cache *cache, bool make);
/*
 * The one of which the caller's slot need not wait for others to get a batch through it: its local array, or the shared one while
 * only one slot is in use. NULL: there is none that has memory.
 */
struct dry_depot *dry_depot_own(struct dry_cache *cache);
/* The same for a cache without arrays, and however many slots or nodes there are; of slots of one number the shared array. */
struct dry_depot *dry_depot_apart(struct dry_cache *cache);
/* The depots of a node by number: the shared array, the alien ones by their nodes, local ones. NULL: that was the last. */
static inline struct dry_depot *dry_depot_at(const struct dry_cache *cache, struct dry_node *node, uint32_t number)
{
	struct dry_depot_line *more = atomic_load_explicit(&node->more, memory_order_acquire);

	if (number == 0)
		return &node->shared;
	return more != NULL && number <= dry_depots_more(cache->caches) ? &more[number - 1].depot : NULL;
}

/* Calls fn for each depot of the node. */
void dry_depot_each(struct dry_cache *cache, struct dry_node *node, void (*fn)(struct dry_cache *, struct dry_depot *, unsigned),
		    unsigned arg);
/* Objects in all of them; a figure. */
size_t dry_depots_avail(const struct dry_cache *cache, struct dry_node *node);
/*
 * An empty depot holds what it held at first. Its memory goes, for a page of it would keep a whole segment in use; unless it may
 * fill again soon.
 */
void dry_depot_close(struct dry_cache *cache, struct dry_depot *depot, bool soon);
/* Give back the memory of all depots of a node, for good: what they hold goes with its slabs. */
void dry_depots_release(struct dry_cache *cache, struct dry_node *node);

#endif
