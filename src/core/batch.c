/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "core/batch.h"

#include <drystone/experiment.h>

#include "base/fatal.h"
#include "base/memory.h"
#include "base/rank.h"
#include "core/depot.h"
#include "core/slab.h"

#define DRAINED 128 /* objects of a depot that go into slabs at a time */

#ifdef DRY_GFP_HERE
#define HERE_FIRST true
#else
#define HERE_FIRST	   false
#define DRY_GFP_HERE(gfp)  (gfp)
#define DRY_GFP_STAYS(gfp) false
#endif

void dry_node_init(struct dry_node *node)
{
	memset(node, 0, sizeof(*node));
	dry_lock_init(&node->lock, DRY_RANK_NODE);
	dry_lock_init(&node->shared.lock, DRY_RANK_SHARED);
	for (unsigned i = 0; i < DRY_LISTS; i++)
		node->list[i] = DRY_SLAB_NIL;
}

/* relaxed, here and below: as dry_figure() */
static void add_locked(_Atomic size_t *figure, size_t plus)
{
	atomic_store_explicit(figure, dry_figure(figure) + plus, memory_order_relaxed);
}

/* For slabs, counted. */
static void node_acquire(struct dry_node *node)
{
	if (DRY_UNLIKELY(dry_lock_acquire_contended(&node->lock)))
		add_locked(&node->lock_waits, 1);
	add_locked(&node->lock_rounds, 1);
}

/* ---- slab lists; caller holds node->lock --------------------------------------- */

static void list_remove_locked(const struct dry_backing *backing, struct dry_node *node, struct dry_slab *slab)
{
	if (slab->prev != DRY_SLAB_NIL)
		dry_backing_deref(backing, slab->prev)->next = slab->next;
	else
		node->list[slab->list] = slab->next;
	if (slab->next != DRY_SLAB_NIL)
		dry_backing_deref(backing, slab->next)->prev = slab->prev;
	if (slab->list == DRY_LIST_FREE) {
		node->free_slabs--;
		if (node->free_slabs < node->free_low)
			node->free_low = node->free_slabs;
	}
	slab->list = DRY_LIST_NONE;
}

static void list_add_locked(const struct dry_backing *backing, struct dry_node *node, struct dry_slab *slab, uint8_t list)
{
	dry_slab_ref ref = dry_backing_ref(backing, slab);

	slab->prev = DRY_SLAB_NIL;
	slab->next = node->list[list];
	if (slab->next != DRY_SLAB_NIL)
		dry_backing_deref(backing, slab->next)->prev = ref;
	node->list[list] = ref;
	slab->list = list;
	if (list == DRY_LIST_FREE)
		node->free_slabs++;
}

static uint8_t list_with_free(const struct dry_cache *cache, const struct dry_slab *slab)
{
	return dry_slab_is_empty(cache, slab) ? DRY_LIST_FREE : (uint8_t)(slab->active * cache->fill_scale >> 16);
}

static uint8_t list_of(const struct dry_cache *cache, const struct dry_slab *slab)
{
	if (slab->active == cache->num)
		return cache->debug ? DRY_LIST_FULL : DRY_LIST_NONE;
	return list_with_free(cache, slab);
}

static DRY_NOINLINE void move_locked(struct dry_cache *cache, struct dry_node *node, struct dry_slab *slab, uint8_t list)
{
	const struct dry_backing *backing = &cache->caches->backing;

	if (slab->list != DRY_LIST_NONE)
		list_remove_locked(backing, node, slab);
	if (list != DRY_LIST_NONE)
		list_add_locked(backing, node, slab, list);
}

/* Put the slab where its fill belongs. */
static void relist_locked(struct dry_cache *cache, struct dry_node *node, struct dry_slab *slab, uint8_t list)
{
	if (DRY_UNLIKELY(list != slab->list))
		move_locked(cache, node, slab, list);
}

/* ---- slabs ---------------------------------------------------------------------------- */

/* Free slabs above `keep` leave the node, chained by `next`; of single pages so many `objects` stay in any case. */
static dry_slab_ref trim_locked(struct dry_cache *cache, struct dry_node *node, size_t keep, size_t objects, dry_slab_ref chain)
{
	const struct dry_backing *backing = &cache->caches->backing;

	while (node->free_slabs > keep) {
		dry_slab_ref ref = node->list[DRY_LIST_FREE];
		struct dry_slab *slab = dry_backing_deref(backing, ref);
		uint32_t num = dry_slab_num(cache, slab);
		if (num != cache->num && node->free_slabs * num <= objects)
			break;
		if (dry_figure(&node->free_objects) < dry_figure(&node->reserved) + node->reserving + num)
			break;
		list_remove_locked(backing, node, slab);
		add_locked(&node->free_objects, -(size_t)num);
		atomic_fetch_sub_explicit(&node->slabs, 1, memory_order_relaxed);
		if (num != cache->num)
			atomic_fetch_sub_explicit(&node->singles, 1, memory_order_relaxed);
		slab->next = chain;
		chain = ref;
	}
	return chain;
}

void dry_node_free_slabs(struct dry_cache *cache, dry_slab_ref chain)
{
	while (chain != DRY_SLAB_NIL) {
		struct dry_slab *slab = dry_backing_deref(&cache->caches->backing, chain);
		chain = slab->next;
		dry_slab_free(cache, slab);
	}
}

/* DRY_CACHE_CHECKS: the equations of a slab that was worked on. */
static void check_slab_locked(const struct dry_cache *cache, const struct dry_slab *slab)
{
	if (DRY_LIKELY(!(cache->flags & DRY_CACHE_CHECKS)))
		return;
	const char *wrong = dry_slab_check(cache, slab);
	if (wrong != NULL)
		dry_backing_corrupt(DRY_FATAL_INTERNAL, dry_slab_objects(cache, slab), cache->name, wrong);
}

/* Put objects back that lie in one slab; their number. */
static unsigned put_run_locked(struct dry_cache *cache, struct dry_slab *slab, void *const *objects, unsigned count)
{
	unsigned run = dry_slab_has_bits(cache, slab) ? dry_slab_put_bits(cache, slab, objects, count) : 0;

	return DRY_LIKELY(run != 0) ? run : dry_slab_put(cache, slab, objects, count);
}

/* Put objects back that lead the array and are of this node; their number. */
static DRY_NOINLINE unsigned put_locked(struct dry_cache *cache, struct dry_node *node, void *const *objects, unsigned count)
{
	const struct dry_locator locator = dry_backing_locator(&cache->caches->backing, cache->order);
	const bool one_node = cache->caches->nodes == 1;
	void *const *at = objects, *const *const end = objects + count;
	size_t free = 0, offset, next_offset = 0;
	struct dry_slab *slab = dry_backing_locate(&locator, *at, &offset), *next;

	for (; at != end && (one_node || &cache->node[dry_backing_node_of(slab)] == node); slab = next, offset = next_offset) {
		unsigned before = slab->active, run = 1;
		next = at + 1 != end ? dry_backing_locate(&locator, at[1], &next_offset) : NULL;
		/* one by itself is the usual thing where objects of a program's life come back */
		if (next == slab || !dry_slab_has_bits(cache, slab) || !dry_slab_put_bit(cache, slab, offset)) {
			run = put_run_locked(cache, slab, at, (unsigned)(end - at));
			next = at + run != end ? dry_backing_locate(&locator, at[run], &next_offset) : NULL;
		}
		at += run;
		if (DRY_LIKELY(slab->active != before)) {
			check_slab_locked(cache, slab);
			free += before - slab->active;
			relist_locked(cache, node, slab, list_with_free(cache, slab));
		}
	}
	add_locked(&node->free_objects, free);
	return (unsigned)(at - objects);
}

/* Inlined into both of its callers: below them there may be little stack left. */
DRY_FAST dry_slab_ref put_chained(struct dry_cache *cache, void *const *objects, unsigned count)
{
	dry_slab_ref chain = DRY_SLAB_NIL;

	for (unsigned i = 0; i < count;) {
		struct dry_node *node = &cache->node[dry_slab_node(cache, dry_slab_of(cache, objects[i]))];
		node_acquire(node);
		i += put_locked(cache, node, objects + i, count - i);
		chain = trim_locked(cache, node, node->free_limit, 2 * cache->limit, chain);
		dry_lock_release(&node->lock);
	}
	return chain;
}

dry_slab_ref dry_node_put_chained(struct dry_cache *cache, void *const *objects, unsigned count)
{
	return put_chained(cache, objects, count);
}

void dry_node_put_slabs(struct dry_cache *cache, void *const *objects, unsigned count)
{
	dry_node_free_slabs(cache, put_chained(cache, objects, count));
}

/* ---- flush -------------------------------------------------------------------------------- */

/* So many objects of a depot into the slabs, where they lie; in pieces, because it is locked meanwhile. */
static DRY_NOINLINE void drain(struct dry_cache *cache, struct dry_depot *depot, uint32_t most)
{
	void **entries;
	unsigned count;

	for (; most != 0 && (entries = dry_depot_newest(depot, most < DRAINED ? most : DRAINED, &count)) != NULL; most -= count) {
		dry_depot_leaving(depot, count);
		dry_slab_ref chain = dry_node_put_chained(cache, entries, count);
		dry_depot_replaced(depot, 0);
		dry_node_free_slabs(cache, chain);
	}
}

/*
 * Housekeeping. What was in the depot all the time since the last call is not needed; nor is the depot if it was not used at
 * all, or (ALL) in any case.
 */
static void reap(struct dry_cache *cache, struct dry_depot *depot, unsigned how)
{
	/* relaxed: one that has memory since a moment ago is not idle */
	if (__atomic_load_n(&depot->limit, __ATOMIC_RELAXED) == 0)
		return;
	dry_lock_acquire(&depot->lock);
	bool idle = depot->seen == depot->moves;
	uint32_t low = depot->low;
	dry_lock_release(&depot->lock);
	if ((how & DRY_DRAIN_ALL) || idle) {
		drain(cache, depot, UINT32_MAX);
		dry_depot_close(cache, depot, how & DRY_DRAIN_SOON);
	} else {
		drain(cache, depot, low);
	}
	dry_lock_acquire(&depot->lock);
	depot->seen = depot->moves;
	depot->low = atomic_load_explicit(&depot->avail, memory_order_relaxed);
	dry_lock_release(&depot->lock);
}

void dry_node_drain_depots(struct dry_cache *cache, unsigned how)
{
	for (uint32_t n = 0; n < cache->caches->nodes; n++)
		dry_depot_each(cache, &cache->node[n], reap, how);
}

static void put_alien(struct dry_cache *cache, unsigned home, unsigned owner, void *object)
{
	struct dry_depot *alien = dry_depot_alien(cache, home, owner);

	atomic_fetch_add_explicit(&cache->node[home].remote_frees, 1, memory_order_relaxed);
	if (alien != NULL) {
		dry_depot_prepare(cache, alien, DRY_SHARED_FACTOR);
		if (dry_depot_put(alien, &object, 1))
			return;
		drain(cache, alien, UINT32_MAX);
	}
	dry_node_put_slabs(cache, &object, 1);
}

void dry_node_flush(struct dry_cache *cache, unsigned home, void **objects, unsigned count)
{
	unsigned own = 0;

	if (cache->caches->nodes > 1) {
		for (unsigned i = 0; i < count; i++) {
			unsigned owner = dry_slab_node(cache, dry_slab_of(cache, objects[i]));
			if (owner == home)
				objects[own++] = objects[i];
			else
				put_alien(cache, home, owner, objects[i]);
		}
		count = own;
	}
	if (count != 0 && !dry_depot_put(&cache->node[home].shared, objects, count))
		dry_node_put_slabs(cache, objects, count);
}

/* ---- refill ---------------------------------------------------------------------------- */

static struct dry_slab *fullest_locked(const struct dry_backing *backing, const struct dry_node *node)
{
	for (unsigned list = DRY_PARTIAL_LISTS; list-- > 0;)
		if (node->list[list] != DRY_SLAB_NIL)
			return dry_backing_deref(backing, node->list[list]);
	return node->list[DRY_LIST_FREE] != DRY_SLAB_NIL ? dry_backing_deref(backing, node->list[DRY_LIST_FREE]) : NULL;
}

static unsigned take_from_lists(struct dry_cache *cache, struct dry_node *node, void **objects, unsigned max, unsigned more)
{
	struct dry_slab *slab;
	unsigned count = 0;
	bool restore = false, rest = false;

	/* whoever misses an object here makes a new slab or retries */
	if (dry_figure(&node->free_objects) == 0)
		return 0;
	node_acquire(node);
	while (count < max && !rest && (slab = fullest_locked(&cache->caches->backing, node)) != NULL) {
		count += dry_slab_take(cache, slab, objects + count, max - count, more);
		rest = more != 0 && slab->active < cache->num; /* for the next piece */
		restore = cache->debug && dry_slab_wrote_into(cache, slab);
		check_slab_locked(cache, slab);
		relist_locked(cache, node, slab, list_of(cache, slab));
	}
	add_locked(&node->free_objects, -(size_t)count);
	dry_lock_release(&node->lock);
	if (restore) /* of a debugged cache one object is taken at a time */
		dry_slab_restore(cache, objects[0]);
	return count;
}

/* Onto its node's lists, whichever node its memory was to be had on. */
static void attach(struct dry_cache *cache, struct dry_slab *slab)
{
	struct dry_node *node = &cache->node[dry_slab_node(cache, slab)];

	node_acquire(node);
	add_locked(&node->free_objects, cache->num - slab->active);
	relist_locked(cache, node, slab, list_of(cache, slab));
	dry_lock_release(&node->lock);
}

static void count_new_slab(struct dry_node *node, bool single)
{
	/* relaxed: figures */
	size_t slabs = atomic_fetch_add_explicit(&node->slabs, 1, memory_order_relaxed) + 1, peak = dry_figure(&node->peak_slabs);

	while (slabs > peak && !atomic_compare_exchange_weak_explicit(&node->peak_slabs, &peak, slabs, memory_order_relaxed,
								      memory_order_relaxed))
		;
	atomic_fetch_add_explicit(&node->slabs_made, 1, memory_order_relaxed);
	if (single)
		atomic_fetch_add_explicit(&node->singles, 1, memory_order_relaxed);
}

static struct dry_slab *new_slab(struct dry_cache *cache, unsigned home, dry_gfp gfp)
{
	uint32_t colour = atomic_fetch_add_explicit(&cache->node[home].colour_next, 1, memory_order_relaxed);
	struct dry_slab *slab = dry_slab_new(cache, home, gfp, colour);

	if (slab != NULL)
		count_new_slab(&cache->node[dry_slab_node(cache, slab)], dry_backing_is_single(slab, cache->order));
	return slab;
}

/* As it was before: it is on the lists. */
static DRY_NOINLINE struct dry_slab *attached_slab(struct dry_cache *cache, unsigned home, dry_gfp gfp)
{
	struct dry_slab *slab = new_slab(cache, home, gfp);

	if (slab != NULL)
		attach(cache, slab);
	return NULL;
}

/* Whether a slab of a node's own memory, at hand, is another wish than one of any. */
static bool here_first(const struct dry_cache *cache)
{
	return HERE_FIRST && cache->caches->nodes > 1;
}

struct dry_slab *dry_node_slab(struct dry_cache *cache, unsigned home, dry_gfp gfp)
{
	if (here_first(cache))
		gfp = DRY_GFP_HERE(gfp);
	return cache->flags & DRY_CACHE_ATTACH_FIRST ? attached_slab(cache, home, gfp) : new_slab(cache, home, gfp);
}

/*
 * A new slab is its creator's alone, so the objects are taken before the node's
 * lock is touched, and the lock is not taken at all if none is left over
 * (Linux mm/slab, 2016).
 */
unsigned dry_node_take_slab(struct dry_cache *cache, struct dry_slab *slab, void **objects, unsigned max, unsigned more)
{
	unsigned count = dry_slab_take(cache, slab, objects, max, more);

	if (cache->debug && dry_slab_wrote_into(cache, slab))
		dry_slab_restore(cache, objects[0]);
	if (slab->active < cache->num || cache->debug)
		attach(cache, slab);
	return count;
}

unsigned dry_node_take_slabs(struct dry_cache *cache, unsigned home, void **objects, unsigned max)
{
	return take_from_lists(cache, &cache->node[home], objects, max, 0);
}

unsigned dry_node_take_free(struct dry_cache *cache, unsigned home, void **objects, unsigned max, unsigned more)
{
	/* without arrays it may be a pool (debug/pool.h) */
	unsigned count = cache->place != 0 ? dry_depot_take(&cache->node[home].shared, objects, max) : 0;

	return count != 0 ? count : take_from_lists(cache, &cache->node[home], objects, max, more);
}

/* Where slabs are attached first, others may take what a new one holds: then it is done until some are left. */
static unsigned attach_first(struct dry_cache *cache, unsigned home, dry_gfp gfp, void **objects, unsigned max)
{
	struct dry_slab *slab;
	unsigned count = 0;

	while (count == 0 && (slab = new_slab(cache, home, gfp)) != NULL) {
		struct dry_node *node = &cache->node[dry_slab_node(cache, slab)];
		attach(cache, slab);
		count = take_from_lists(cache, node, objects, max, 0);
	}
	return count;
}

static unsigned take_from_new_slab(struct dry_cache *cache, unsigned home, dry_gfp gfp, void **objects, unsigned max)
{
	if (cache->flags & DRY_CACHE_ATTACH_FIRST)
		return attach_first(cache, home, gfp, objects, max);
	struct dry_slab *slab = new_slab(cache, home, gfp);
	return slab != NULL ? dry_node_take_slab(cache, slab, objects, max, 0) : 0;
}

unsigned dry_node_take_any(struct dry_cache *cache, void **objects, unsigned max, unsigned more)
{
	unsigned count = 0;

	for (unsigned n = 0; count == 0 && n < cache->caches->nodes; n++)
		count = dry_node_take_free(cache, n, objects, max, more);
	return count;
}

/* What is free elsewhere comes before a slab made elsewhere: for a node without memory each miss would make one. */
unsigned dry_node_refill(struct dry_cache *cache, unsigned home, dry_gfp gfp, void **objects, unsigned max)
{
	const bool first = here_first(cache), stays = first && DRY_GFP_STAYS(gfp);
	unsigned count = dry_node_take_free(cache, home, objects, max, 0);

	if (count == 0 && first)
		count = take_from_new_slab(cache, home, DRY_GFP_HERE(gfp), objects, max);
	if (count == 0 && first && !stays)
		count = dry_node_take_any(cache, objects, max, 0);
	if (count == 0)
		count = take_from_new_slab(cache, home, gfp, objects, max);
	if (count == 0 && !stays)
		count = dry_node_take_any(cache, objects, max, 0);
	return count;
}

bool dry_node_slabs_have_free(const struct dry_cache *cache, unsigned home)
{
	return dry_figure(&cache->node[home].free_objects) != 0; /* relaxed: a hint */
}

bool dry_node_has_free(const struct dry_cache *cache, unsigned home)
{
	/* relaxed: a hint */
	return dry_node_slabs_have_free(cache, home) ||
	       atomic_load_explicit(&cache->node[home].shared.avail, memory_order_relaxed) != 0;
}

/* ---- housekeeping ------------------------------------------------------------------------ */

/* What is left of the reserve, and counted from `allocs` on. */
static size_t settle_locked(struct dry_node *node, uint64_t allocs)
{
	size_t reserved = dry_figure(&node->reserved);

	if (allocs <= node->reserved_at) /* others have counted meanwhile */
		return reserved;
	reserved = allocs - node->reserved_at < reserved ? reserved - (size_t)(allocs - node->reserved_at) : 0;
	atomic_store_explicit(&node->reserved, reserved, memory_order_relaxed);
	node->reserved_at = allocs;
	return reserved;
}

void dry_node_settle_reserve(struct dry_cache *cache, uint64_t allocs)
{
	for (uint32_t n = 0; n < cache->caches->nodes; n++) {
		struct dry_node *node = &cache->node[n];
		dry_lock_acquire(&node->lock);
		settle_locked(node, allocs);
		dry_lock_release(&node->lock);
	}
}

bool dry_node_reserve(struct dry_cache *cache, unsigned home, size_t count, uint64_t allocs)
{
	struct dry_node *node = &cache->node[home];
	bool enough, here = true;

	if (count > dry_backing_bytes(&cache->caches->backing) / cache->size)
		return false;
	dry_lock_acquire(&node->lock);
	node->reserving += count; /* a concurrent shrink leaves what is free already */
	while (!(enough = dry_figure(&node->free_objects) >= count) && here) {
		dry_lock_release(&node->lock);
		struct dry_slab *slab = new_slab(cache, home, DRY_GFP_DEFAULT);
		here = slab != NULL && dry_slab_node(cache, slab) == home;
		if (slab != NULL)
			attach(cache, slab);
		dry_lock_acquire(&node->lock);
	}
	node->reserving -= count < node->reserving ? count : node->reserving; /* 0 in the child of a fork */
	/* Only now: what is promised can be had, whatever others reserved or counted meanwhile. */
	if (enough && (count == 0 || count > settle_locked(node, allocs))) {
		atomic_store_explicit(&node->reserved, count, memory_order_relaxed);
		node->reserved_at = allocs;
	}
	dry_lock_release(&node->lock);
	return enough;
}

void dry_node_shrink(struct dry_cache *cache, bool all)
{
	for (uint32_t n = 0; n < cache->caches->nodes; n++) {
		struct dry_node *node = &cache->node[n];
		dry_lock_acquire(&node->lock);
		size_t keep = all ? 0 : node->free_slabs - node->free_low;
		dry_slab_ref chain = trim_locked(cache, node, keep, 0, DRY_SLAB_NIL);
		node->free_low = node->free_slabs;
		dry_lock_release(&node->lock);
		dry_node_free_slabs(cache, chain);
	}
}

size_t dry_node_slabs(const struct dry_cache *cache)
{
	size_t slabs = 0;

	for (uint32_t n = 0; n < cache->caches->nodes; n++)
		slabs += dry_figure(&cache->node[n].slabs);
	return slabs;
}

size_t dry_node_singles(const struct dry_cache *cache)
{
	size_t singles = 0;

	for (uint32_t n = 0; n < cache->caches->nodes; n++)
		singles += dry_figure(&cache->node[n].singles);
	return singles;
}

size_t dry_node_objects(const struct dry_cache *cache)
{
	size_t slabs = dry_node_slabs(cache), singles = dry_node_singles(cache);

	return slabs * cache->num - (singles < slabs ? singles : slabs) * (cache->num - cache->num_single);
}
