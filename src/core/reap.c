/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "core/reap.h"

#include "core/batch.h"
#include "core/depot.h"
#include "core/slots.h"
#include "core/walk.h"

#define FEW_REFILLS 2 /* a thread that goes to another CPU makes one */
#define FEW_SLABS   2 /* of a cache in use: it would make them anew at once */

struct drain {
	struct dry_caches *caches;
	struct dry_cache *only; /* NULL: all */
	enum dry_reap which;
	bool empties;           /* or else it looks, and leaves */
	bool marks;             /* this pass is the last: touched arrays count as seen */
	bool found;
};

static size_t refills_of(const struct dry_cache *cache)
{
	size_t refills = 0;

	for (uint32_t n = 0; n < cache->caches->nodes; n++)
		refills += dry_figure(&cache->node[n].slow_allocs);
	return refills;
}

/* Objects that are in no array. */
static size_t free_of(struct dry_cache *cache)
{
	size_t free = 0;

	for (uint32_t n = 0; n < cache->caches->nodes; n++) {
		struct dry_node *node = &cache->node[n];
		free += dry_figure(&node->free_objects) + dry_depots_avail(cache, node);
	}
	return free;
}

static bool is_all(enum dry_reap which)
{
	return which == DRY_REAP_ALL || which == DRY_REAP_UNUSED;
}

static bool is_look(enum dry_reap which)
{
	return which == DRY_REAP_UNASKED || which == DRY_REAP_SHARED;
}

/*
 * Next to nobody missed an object since the last such round or look, and half of what there is, or more, is free: slabs may come
 * free.
 */
static bool is_unasked(struct dry_cache *cache, enum dry_reap which)
{
	size_t slabs = dry_node_slabs(cache);

	return slabs > FEW_SLABS && refills_of(cache) - cache->refills_seen[is_look(which)] <= FEW_REFILLS &&
	       free_of(cache) >= slabs * cache->num / 2;
}

/* Of a stopped array into the slabs. It is empty before that: who leaves a report by a jump leaves nothing in two places. */
static void empty_array(struct dry_cache *cache, struct dry_array *array, unsigned avail)
{
	/* relaxed: statistics look at any time */
	dry_poke64(&array->word, array->word & ~(uint64_t)0xffff);
	array->seen = dry_array_seen(array->word);
	dry_node_put_slabs(cache, array->entry, avail);
}

static void drain_array(struct drain *drain, struct dry_cache *cache, struct dry_array *array, bool unasked)
{
	unsigned avail = dry_array_avail(array);
	uint32_t now = dry_array_seen(dry_peek64(&array->word)); /* a hint where it is not stopped */

	if (!unasked && array->seen != now) {
		if (drain->marks) /* relaxed: a push may look at the word that it is in */
			__atomic_store_n(&array->seen, now, __ATOMIC_RELAXED);
		return;
	}
	if (avail == 0)
		return;
	drain->found = true;
	if (drain->empties)
		empty_array(cache, array, avail);
}

static void drain_cache(struct drain *drain, struct dry_cache *cache)
{
	struct dry_caches *caches = drain->caches;
	bool unasked = is_all(drain->which) || is_unasked(cache, drain->which);

	for (uint32_t slot = 0; slot < caches->slots_open; slot++)
		if (caches->areas[slot] != dry_stopped_area)
			drain_array(drain, cache, dry_area_array(caches->areas[slot], cache->place), unasked);
}

/* Cache after cache: there may be thousands of them, most without arrays. */
static void drain_slots(struct drain *drain)
{
	struct dry_cache *cache = drain->only != NULL ? drain->only : drain->caches->first;

	for (; cache != NULL; cache = drain->only != NULL ? NULL : cache->next)
		if (cache->root == cache && cache->place != 0)
			drain_cache(drain, cache);
}

bool dry_arrays_drain_locked(struct dry_caches *caches, struct dry_cache *cache, enum dry_reap which)
{
	struct drain drain = { .caches = caches, .only = cache, .which = which };
	bool found;

	dry_lock_acquire(&caches->lock); /* keeps the list of caches and the slots as they are */
	drain_slots(&drain);
	found = drain.found;
	drain.empties = found && dry_slots_stop_locked(caches);
	drain.marks = true;
	if (drain.empties || !is_all(which))
		drain_slots(&drain);
	if (drain.empties)
		dry_slots_start_locked(caches);
	dry_lock_release(&caches->lock);
	return drain.empties || !found;
}

bool dry_cache_tune(struct dry_cache *cache, uint32_t limit, uint32_t batchcount)
{
	struct dry_caches *caches = cache->caches;
	struct drain drain = { .caches = caches, .only = cache, .which = DRY_REAP_ALL, .empties = true };
	bool quiet;

	dry_lock_acquire(&caches->reap_lock);
	dry_lock_acquire(&caches->lock);
	quiet = dry_slots_stop_locked(caches);
	if (quiet) {
		drain_slots(&drain);
		cache->limit = limit;
		cache->batchcount = batchcount;
		dry_slot_renew_locked(cache);
		dry_slots_start_locked(caches);
	}
	dry_lock_release(&caches->lock);
	dry_lock_release(&caches->reap_lock);
	return quiet;
}

static void drain_quarantine(struct dry_cache *cache)
{
	if (cache->debug != NULL && cache->debug->drain != NULL)
		cache->debug->drain(cache);
}

/* Depots and free slabs. */
static void reap_nodes(struct dry_cache *cache, enum dry_reap which)
{
	bool look = is_look(which), all = is_all(which) || (look && is_unasked(cache, which));

	cache->refills_seen[look] = refills_of(cache);
	/* an empty depot's memory can wait; what has no arrays has no more than free slabs, and to make them anew may cost more:
	 * fences (debug/fence.h) */
	if (look && (cache->place == 0 || dry_node_slabs(cache) == 0))
		return;
	dry_node_drain_depots(cache, (all ? DRY_DRAIN_ALL : 0) | (look ? DRY_DRAIN_SOON : 0));
	dry_node_shrink(cache, all);
}

/* Allocations so far: what the arrays' words count, and what goes by them. */
static uint64_t allocs_locked(struct dry_cache *cache)
{
	const struct dry_caches *caches = cache->caches;
	struct dry_depot *depot;
	uint64_t allocs = 0;

	/* relaxed: statistics */
	for (uint32_t n = 0; n < caches->nodes; n++) {
		struct dry_node *node = &cache->node[n];
		allocs += dry_figure(&node->slow_allocs);
		allocs += dry_figure(&node->bulk_allocs);
		allocs += (uint64_t)(int64_t)atomic_load_explicit(&node->pops_apart, memory_order_relaxed);
		for (uint32_t i = 0; (depot = dry_depot_at(cache, node, i)) != NULL; i++)
			allocs += dry_figure(&depot->allocs);
	}
	for (uint32_t slot = 0; cache->place != 0 && slot < caches->slots_open; slot++)
		if (caches->areas[slot] != dry_stopped_area)
			allocs += (uint64_t)dry_word_pops(dry_peek64(&dry_area_array(caches->areas[slot], cache->place)->word));
	return (int64_t)allocs < 0 ? 0 : allocs; /* the arrays were read later than what they do not count */
}

static void add_depot(struct dry_depot *depot, uint64_t *sum)
{
	sum[DRY_COUNTER_SLOW_ALLOCS] += dry_figure(&depot->allocs);
	sum[DRY_COUNTER_SLOW_FREES] += dry_figure(&depot->frees);
	dry_lock_acquire(&depot->lock);
	sum[DRY_COUNTER_BATCHES] += depot->moves;
	dry_lock_release(&depot->lock);
}

void dry_cache_add_counters_locked(struct dry_cache *cache, uint64_t *sum)
{
	for (uint32_t n = 0; n < cache->caches->nodes; n++) {
		struct dry_node *node = &cache->node[n];
		struct dry_depot *depot;

		sum[DRY_COUNTER_SLOW_ALLOCS] += dry_figure(&node->slow_allocs);
		sum[DRY_COUNTER_SLOW_FREES] += dry_figure(&node->slow_frees);
		sum[DRY_COUNTER_FAILURES] += dry_figure(&node->failures);
		sum[DRY_COUNTER_LOCK_ROUNDS] += dry_figure(&node->lock_rounds);
		sum[DRY_COUNTER_LOCK_WAITS] += dry_figure(&node->lock_waits);
		sum[DRY_COUNTER_SLABS_MADE] += dry_figure(&node->slabs_made);
		sum[DRY_COUNTER_REMOTE_FREES] += dry_figure(&node->remote_frees);
		for (uint32_t i = 0; (depot = dry_depot_at(cache, node, i)) != NULL; i++)
			add_depot(depot, sum);
	}
	sum[DRY_COUNTER_ALLOCS] += allocs_locked(cache); /* last, so that the slow ones are not more */
}

static void settle_reserve_locked(struct dry_cache *cache)
{
	bool reserved = false;

	for (uint32_t n = 0; n < cache->caches->nodes; n++)
		reserved |= atomic_load_explicit(&cache->node[n].reserved, memory_order_relaxed) != 0;
	if (reserved)
		dry_node_settle_reserve(cache, allocs_locked(cache));
}

static bool reserve(struct dry_cache *cache, unsigned home, size_t count)
{
	dry_lock_acquire(&cache->caches->lock);
	uint64_t allocs = allocs_locked(cache);
	dry_lock_release(&cache->caches->lock);
	return dry_node_reserve(cache, home, count, allocs);
}

static void reap_one(struct dry_cache *cache, enum dry_reap which)
{
	if (which == DRY_REAP_ALL)
		drain_quarantine(cache);
	settle_reserve_locked(cache);
	reap_nodes(cache, which);
}

static void settle_one(struct dry_cache *cache, enum dry_reap which)
{
	(void)which;
	if (cache->debug == NULL || cache->debug->take == NULL)
		drain_quarantine(cache);
	dry_node_drain_depots(cache, DRY_DRAIN_ALL);
}

static void each_root(struct dry_caches *caches, enum dry_reap which, void (*fn)(struct dry_cache *, enum dry_reap))
{
	/* Held throughout: objects on their way are nobody else's to miss (destroy counts them). */
	dry_lock_acquire(&caches->reap_lock);
	if (which != DRY_REAP_SHARED)
		dry_arrays_drain_locked(caches, NULL, which);
	dry_lock_acquire(&caches->lock);
	caches->reaps++;
	for (struct dry_cache *cache = caches->first; cache != NULL; cache = cache->next)
		if (cache->root == cache)
			fn(cache, which);
	dry_lock_release(&caches->lock);
	dry_lock_release(&caches->reap_lock);
}

void dry_caches_reap(struct dry_caches *caches, enum dry_reap which)
{
	each_root(caches, which, reap_one);
}

bool dry_caches_free_up(struct dry_caches *caches, size_t bytes, unsigned tries)
{
	if (tries > DRY_RECLAIM_TRIES || (tries != 0 && !dry_caches_reclaim(caches, bytes)))
		return false;
	dry_caches_reap(caches, DRY_REAP_ALL);
	return true;
}

/* Whatever is put into slabs from now on, none goes: destructors are not called any more. */
static void keep_slabs(struct dry_caches *caches)
{
	dry_lock_acquire(&caches->lock);
	for (struct dry_cache *cache = caches->first; cache != NULL; cache = cache->next)
		for (uint32_t n = 0; cache->root == cache && n < caches->nodes; n++) {
			dry_lock_acquire(&cache->node[n].lock);
			cache->node[n].free_limit = SIZE_MAX;
			dry_lock_release(&cache->node[n].lock);
		}
	dry_lock_release(&caches->lock);
}

void dry_caches_settle(struct dry_caches *caches)
{
	keep_slabs(caches);
	each_root(caches, DRY_REAP_ALL, settle_one);
}

bool dry_cache_empty(struct dry_cache *cache, size_t *freed)
{
	size_t before, after;
	bool quiet;

	dry_lock_acquire(&cache->caches->reap_lock);
	before = dry_node_slabs(cache);
	drain_quarantine(cache);
	quiet = dry_arrays_drain_locked(cache->caches, cache, DRY_REAP_ALL);
	dry_lock_acquire(&cache->caches->lock);
	settle_reserve_locked(cache);
	dry_lock_release(&cache->caches->lock);
	dry_node_drain_depots(cache, DRY_DRAIN_ALL);
	dry_node_shrink(cache, true);
	after = dry_node_slabs(cache);
	dry_lock_release(&cache->caches->reap_lock);
	*freed = before > after ? before - after : 0;
	return quiet;
}

bool dry_cache_reserve(struct dry_cache *cache, unsigned home, size_t count)
{
	struct dry_caches *caches = cache->caches;
	bool done = reserve(cache, home, count);

	if (done || count > dry_backing_bytes(&caches->backing) / cache->size || !dry_backing_may_wait(DRY_GFP_DEFAULT))
		return done;
	for (unsigned tries = 0; !done && dry_caches_free_up(caches, count * cache->size, tries); tries++)
		done = reserve(cache, home, count);
	return done;
}
