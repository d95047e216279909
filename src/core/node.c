/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "core/node.h"

#include <string.h>

#include "base/fatal.h"
#include "core/slab.h"

void dry_node_init(struct dry_node *node)
{
	memset(node, 0, sizeof(*node));
	dry_lock_init(&node->lock, DRY_RANK_NODE);
	dry_lock_init(&node->shared.lock, DRY_RANK_SHARED);
	for (unsigned i = 0; i < DRY_LISTS; i++)
		node->list[i] = DRY_PAGE_NIL;
}

/* For slabs, counted. */
static void node_acquire(struct dry_node *node)
{
	dry_lock_acquire(&node->lock);
	/* relaxed: exact under the lock, a figure without */
	atomic_store_explicit(&node->lock_rounds,
			      atomic_load_explicit(&node->lock_rounds, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* ---- slab lists; caller holds node->lock --------------------------------------- */

static void list_remove_locked(struct dry_arena *arena, struct dry_node *node, struct dry_page *slab)
{
	if (slab->prev != DRY_PAGE_NIL)
		arena->desc[slab->prev].next = slab->next;
	else
		node->list[slab->slab.list] = slab->next;
	if (slab->next != DRY_PAGE_NIL)
		arena->desc[slab->next].prev = slab->prev;
	if (slab->slab.list == DRY_LIST_FREE) {
		node->free_slabs--;
		if (node->free_slabs < node->free_low)
			node->free_low = node->free_slabs;
	}
	slab->slab.list = DRY_LIST_NONE;
}

static void list_add_locked(struct dry_arena *arena, struct dry_node *node, struct dry_page *slab, uint8_t list)
{
	uint32_t index = dry_arena_index_of(arena, slab);

	slab->prev = DRY_PAGE_NIL;
	slab->next = node->list[list];
	if (slab->next != DRY_PAGE_NIL)
		arena->desc[slab->next].prev = index;
	node->list[list] = index;
	slab->slab.list = list;
	if (list == DRY_LIST_FREE)
		node->free_slabs++;
}

static uint8_t list_of(const struct dry_cache *cache, const struct dry_page *slab)
{
	if (slab->slab.active == cache->num)
		return cache->debug ? DRY_LIST_FULL : DRY_LIST_NONE;
	if (slab->slab.active == 0)
		return DRY_LIST_FREE;
	/* active * DRY_PARTIAL_LISTS / num, without the division */
	uint32_t scaled = (uint32_t)slab->slab.active * DRY_PARTIAL_LISTS, list = 0;
	for (uint32_t bound = cache->num; scaled >= bound; bound += cache->num)
		list++;
	return (uint8_t)list;
}

/* Put the slab where its fill belongs. */
static void relist_locked(struct dry_cache *cache, struct dry_node *node, struct dry_page *slab)
{
	struct dry_arena *arena = &cache->heap->arena;
	uint8_t list = list_of(cache, slab);

	if (list == slab->slab.list)
		return;
	if (slab->slab.list != DRY_LIST_NONE)
		list_remove_locked(arena, node, slab);
	if (list != DRY_LIST_NONE)
		list_add_locked(arena, node, slab, list);
}

/* relaxed: the count is exact under the lock, and only a hint to readers without it. */
static void count_free_locked(struct dry_node *node, size_t plus, size_t minus)
{
	size_t value = atomic_load_explicit(&node->free_objects, memory_order_relaxed);

	atomic_store_explicit(&node->free_objects, value + plus - minus, memory_order_relaxed);
}

static void unreserve(struct dry_node *node, size_t count)
{
	size_t reserved = atomic_load_explicit(&node->reserved, memory_order_relaxed);

	while (reserved != 0 &&
	       !atomic_compare_exchange_weak_explicit(&node->reserved, &reserved,
						      reserved > count ? reserved - count : 0,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

/* ---- depots ------------------------------------------------------------------------ */

static size_t depot_pages(const struct dry_cache *cache)
{
	size_t bytes = (size_t)DRY_SHARED_FACTOR * cache->batchcount * sizeof(void *);
	size_t page = (size_t)1 << cache->heap->arena.page_shift;

	return (bytes + page - 1) / page;
}

/* Memory for a depot at its first use; small heaps and small machines go without. Caller holds its lock. */
static void depot_open_locked(struct dry_cache *cache, struct dry_depot *depot)
{
	struct dry_arena *arena = &cache->heap->arena;

	if (cache->heap->area_size < ((size_t)64 << 10))
		return;
	struct dry_page *run = dry_arena_alloc(arena, (uint32_t)depot_pages(cache), 1, 0);
	if (run == NULL)
		return;
	depot->entry = dry_arena_address(arena, dry_arena_index_of(arena, run));
	depot->limit = DRY_SHARED_FACTOR * cache->batchcount;
}

static bool depot_put(struct dry_cache *cache, struct dry_depot *depot, void *const *objects, unsigned count)
{
	dry_lock_acquire(&depot->lock);
	if (depot->limit == 0)
		depot_open_locked(cache, depot);
	uint32_t avail = atomic_load_explicit(&depot->avail, memory_order_relaxed);
	bool fits = avail + count <= depot->limit;
	if (fits) {
		memcpy(depot->entry + avail, objects, count * sizeof(void *));
		atomic_store_explicit(&depot->avail, avail + count, memory_order_relaxed);
	}
	depot->moves++;
	dry_lock_release(&depot->lock);
	return fits;
}

static unsigned depot_take(struct dry_depot *depot, void **objects, unsigned max)
{
	if (atomic_load_explicit(&depot->avail, memory_order_relaxed) == 0)
		return 0;
	dry_lock_acquire(&depot->lock);
	uint32_t avail = atomic_load_explicit(&depot->avail, memory_order_relaxed);
	unsigned count = avail < max ? avail : max;
	if (count != 0) {
		memcpy(objects, depot->entry + avail - count, count * sizeof(void *));
		atomic_store_explicit(&depot->avail, avail - count, memory_order_relaxed);
		depot->moves++;
	}
	dry_lock_release(&depot->lock);
	return count;
}

/* All of a depot into the slabs, in pieces. */
static void depot_drain(struct dry_cache *cache, struct dry_depot *depot)
{
	void *piece[128];
	unsigned count;

	while ((count = depot_take(depot, piece, 128)) != 0)
		dry_node_put_slabs(cache, piece, count);
}

/* Give an empty depot's memory back: a page of it would keep a whole chunk in use. */
static void depot_close(struct dry_cache *cache, struct dry_depot *depot)
{
	struct dry_arena *arena = &cache->heap->arena;
	void **entry = NULL;

	dry_lock_acquire(&depot->lock);
	if (atomic_load_explicit(&depot->avail, memory_order_relaxed) == 0) {
		entry = depot->entry;
		depot->entry = NULL;
		depot->limit = 0;
	}
	dry_lock_release(&depot->lock);
	if (entry != NULL)
		dry_arena_free(arena, dry_arena_run_of(arena, entry));
}

/* Housekeeping: empty and close a depot that was not used since the last call, or (all) in any case. */
static void depot_reap(struct dry_cache *cache, struct dry_depot *depot, bool all)
{
	dry_lock_acquire(&depot->lock);
	bool idle = depot->seen == depot->moves;
	dry_lock_release(&depot->lock);
	if (all || idle) {
		depot_drain(cache, depot);
		depot_close(cache, depot);
	}
	dry_lock_acquire(&depot->lock);
	depot->seen = depot->moves;
	dry_lock_release(&depot->lock);
}

void dry_node_drain_depots(struct dry_cache *cache, bool all)
{
	uint32_t nodes = cache->heap->nodes;

	for (uint32_t n = 0; n < nodes; n++) {
		depot_reap(cache, &cache->node[n].shared, all);
		for (uint32_t other = 0; cache->node[n].alien != NULL && other < nodes; other++)
			depot_reap(cache, &cache->node[n].alien[other], all);
	}
}

/* The alien arrays of a node: one page run, made at the first foreign free. Caller holds heap->lock. */
static void aliens_open_locked(struct dry_cache *cache, struct dry_node *node)
{
	struct dry_arena *arena = &cache->heap->arena;
	size_t page = (size_t)1 << arena->page_shift, bytes = cache->heap->nodes * sizeof(struct dry_depot);

	if (node->alien != NULL)
		return;
	struct dry_page *run = dry_arena_alloc(arena, (uint32_t)((bytes + page - 1) / page), 1, 0);
	if (run == NULL)
		return;
	struct dry_depot *alien = dry_arena_address(arena, dry_arena_index_of(arena, run));
	memset(alien, 0, bytes);
	for (uint32_t n = 0; n < cache->heap->nodes; n++)
		dry_lock_init(&alien[n].lock, DRY_RANK_ALIEN);
	__atomic_store_n(&node->alien, alien, __ATOMIC_RELEASE); /* pairs with the acquire in put_alien() */
}

/* ---- slabs ---------------------------------------------------------------------------- */

/* What the slab of an object says of it; UINT32_MAX after a report if it is not right. */
static uint32_t checked_index(struct dry_cache *cache, const struct dry_page *slab, void *object)
{
	uint32_t index;

	if (slab->kind != DRY_PAGE_SLAB) {
		dry_fatal(DRY_FATAL_DOUBLE_FREE, object, cache->name, "its slab is gone, freed twice");
		return UINT32_MAX;
	}
	if (slab->slab.cache != cache) {
		dry_fatal(DRY_FATAL_WRONG_CACHE, object, cache->name, slab->slab.cache->name);
		return UINT32_MAX;
	}
	index = dry_slab_index(cache, slab, object);
	if (index == UINT32_MAX)
		dry_fatal(DRY_FATAL_INTERIOR, object, cache->name, NULL);
	return index;
}

/* Free slabs above the limit leave the node, chained by `next`. */
static uint32_t trim_locked(struct dry_cache *cache, struct dry_node *node, size_t keep, uint32_t chain, size_t *count)
{
	struct dry_arena *arena = &cache->heap->arena;
	size_t reserved = atomic_load_explicit(&node->reserved, memory_order_relaxed);

	while (node->free_slabs > keep &&
	       atomic_load_explicit(&node->free_objects, memory_order_relaxed) >= reserved + cache->num) {
		uint32_t index = node->list[DRY_LIST_FREE];
		struct dry_page *slab = &arena->desc[index];
		list_remove_locked(arena, node, slab);
		count_free_locked(node, 0, cache->num);
		atomic_fetch_sub_explicit(&node->slabs, 1, memory_order_relaxed);
		slab->next = chain;
		chain = index;
		++*count;
	}
	return chain;
}

static void free_chain(struct dry_cache *cache, uint32_t chain)
{
	while (chain != DRY_PAGE_NIL) {
		struct dry_page *slab = &cache->heap->arena.desc[chain];
		chain = slab->next;
		dry_slab_free(cache, slab);
	}
}

/* DRY_CACHE_CHECKS: the equations of a slab that was worked on. */
static void check_slab_locked(const struct dry_cache *cache, const struct dry_page *slab)
{
	const char *wrong = cache->flags & DRY_CACHE_CHECKS ? dry_slab_check(cache, slab) : NULL;

	if (DRY_UNLIKELY(wrong != NULL))
		dry_fatal(DRY_FATAL_INTERNAL, dry_slab_objects(cache, slab), cache->name, wrong);
}

/* Objects of one slab, from objects[0] on; returns how many there were. */
static unsigned put_run_locked(struct dry_cache *cache, struct dry_node *node, struct dry_page *slab,
			       void *const *objects, unsigned count)
{
	unsigned i = 0, put = 0;

	do {
		uint32_t index = checked_index(cache, slab, objects[i]);
		if (index != UINT32_MAX && dry_slab_put(cache, slab, objects[i], index))
			put++;
		else if (index != UINT32_MAX)
			dry_fatal(DRY_FATAL_DOUBLE_FREE, objects[i], cache->name, NULL);
	} while (++i < count && dry_slab_of(cache, objects[i]) == slab);
	check_slab_locked(cache, slab);
	if (put != 0) {
		count_free_locked(node, put, 0);
		relist_locked(cache, node, slab);
	}
	return i;
}

void dry_node_put_slabs(struct dry_cache *cache, void *const *objects, unsigned count)
{
	uint32_t chain = DRY_PAGE_NIL;
	size_t freed = 0;

	for (unsigned i = 0; i < count;) {
		unsigned home = dry_slab_of(cache, objects[i])->node % cache->heap->nodes;
		struct dry_node *node = &cache->node[home];
		node_acquire(node);
		while (i < count) {
			struct dry_page *slab = dry_slab_of(cache, objects[i]);
			if (slab->node % cache->heap->nodes != home)
				break;
			i += put_run_locked(cache, node, slab, objects + i, count - i);
		}
		chain = trim_locked(cache, node, node->free_limit, chain, &freed);
		dry_lock_release(&node->lock);
	}
	free_chain(cache, chain);
}

static void put_alien(struct dry_cache *cache, unsigned home, unsigned owner, void *object)
{
	struct dry_node *node = &cache->node[home];
	struct dry_depot *alien = __atomic_load_n(&node->alien, __ATOMIC_ACQUIRE);

	/* Only tried: housekeeping, which frees index arrays of slabs, holds it already. */
	if (alien == NULL && dry_lock_try(&cache->heap->lock)) {
		aliens_open_locked(cache, node);
		dry_lock_release(&cache->heap->lock);
		alien = node->alien;
	}
	if (alien != NULL && depot_put(cache, &alien[owner], &object, 1))
		return;
	if (alien != NULL)
		depot_drain(cache, &alien[owner]);
	dry_node_put_slabs(cache, &object, 1);
}

void dry_node_flush(struct dry_cache *cache, unsigned home, void *const *objects, unsigned count)
{
	void *own[DRY_MAX_LIMIT];
	unsigned n = 0;

	if (cache->heap->nodes > 1) {
		for (unsigned i = 0; i < count; i++) {
			unsigned owner = dry_slab_of(cache, objects[i])->node % cache->heap->nodes;
			if (owner == home)
				own[n++] = objects[i];
			else
				put_alien(cache, home, owner, objects[i]);
		}
		objects = own;
		count = n;
	}
	if (count != 0 && !depot_put(cache, &cache->node[home].shared, objects, count))
		dry_node_put_slabs(cache, objects, count);
}

/* ---- refill ---------------------------------------------------------------------------- */

static struct dry_page *fullest_locked(struct dry_cache *cache, struct dry_node *node)
{
	for (unsigned list = DRY_PARTIAL_LISTS; list-- > 0;)
		if (node->list[list] != DRY_PAGE_NIL)
			return &cache->heap->arena.desc[node->list[list]];
	if (node->list[DRY_LIST_FREE] != DRY_PAGE_NIL)
		return &cache->heap->arena.desc[node->list[DRY_LIST_FREE]];
	return NULL;
}

static unsigned take_from_lists(struct dry_cache *cache, struct dry_node *node, void **objects, unsigned max)
{
	struct dry_page *slab;
	unsigned count = 0;
	bool restore = false;

	/* relaxed: a hint; whoever misses an object here makes a new slab or retries */
	if (atomic_load_explicit(&node->free_objects, memory_order_relaxed) == 0)
		return 0;
	node_acquire(node);
	while (count < max && (slab = fullest_locked(cache, node)) != NULL) {
		count += dry_slab_take(cache, slab, objects + count, max - count);
		restore = cache->debug && dry_slab_wrote_into(cache, slab);
		check_slab_locked(cache, slab);
		relist_locked(cache, node, slab);
	}
	count_free_locked(node, 0, count);
	dry_lock_release(&node->lock);
	if (restore) /* of a debugged cache one object is taken at a time */
		dry_slab_restore(cache, objects[0]);
	unreserve(node, count);
	return count;
}

/* To the node that it lies on. */
static void attach(struct dry_cache *cache, struct dry_page *slab)
{
	struct dry_node *node = &cache->node[slab->node];

	node_acquire(node);
	count_free_locked(node, cache->num - slab->slab.active, 0);
	relist_locked(cache, node, slab);
	dry_lock_release(&node->lock);
}

static struct dry_page *new_slab(struct dry_cache *cache, unsigned home)
{
	struct dry_node *node = &cache->node[home];
	uint32_t colour = atomic_fetch_add_explicit(&node->colour_next, 1, memory_order_relaxed);
	struct dry_page *slab = dry_slab_new(cache, home, colour);

	if (slab != NULL)
		atomic_fetch_add_explicit(&cache->node[slab->node].slabs, 1, memory_order_relaxed);
	return slab;
}

/* As it was before: others may take what the new slab holds, so it is done until some are left. */
static unsigned attach_first(struct dry_cache *cache, unsigned home, void **objects, unsigned max)
{
	struct dry_page *slab;
	unsigned count = 0;

	while (count == 0 && (slab = new_slab(cache, home)) != NULL) {
		attach(cache, slab);
		count = take_from_lists(cache, &cache->node[slab->node], objects, max);
	}
	return count;
}

/*
 * A new slab is its creator's alone, so the objects are taken before the node's
 * lock is touched, and the lock is not taken at all if none is left over
 * (Linux mm/slab, 2016).
 */
static unsigned take_from_new_slab(struct dry_cache *cache, unsigned home, void **objects, unsigned max)
{
	if (cache->flags & DRY_CACHE_ATTACH_FIRST)
		return attach_first(cache, home, objects, max);
	struct dry_page *slab = new_slab(cache, home);
	if (slab == NULL)
		return 0;
	unsigned count = dry_slab_take(cache, slab, objects, max);
	if (cache->debug && dry_slab_wrote_into(cache, slab))
		dry_slab_restore(cache, objects[0]);
	if (count < cache->num || cache->debug)
		attach(cache, slab);
	return count;
}

unsigned dry_node_refill(struct dry_cache *cache, unsigned home, void **objects, unsigned max)
{
	struct dry_node *node = &cache->node[home];
	unsigned count = depot_take(&node->shared, objects, max);

	if (count == 0)
		count = take_from_lists(cache, node, objects, max);
	if (count == 0)
		count = take_from_new_slab(cache, home, objects, max);
	for (unsigned n = 0; count == 0 && n < cache->heap->nodes; n++)
		count = take_from_lists(cache, &cache->node[n], objects, max);
	return count;
}

int dry_node_reserve(struct dry_cache *cache, unsigned home, size_t count)
{
	struct dry_node *node = &cache->node[home];

	if (count > (cache->heap->arena.granules << DRY_GRANULE_SHIFT) / cache->size)
		return -1;
	/* Reserved first, so that a concurrent shrink leaves what is already free. */
	atomic_fetch_add_explicit(&node->reserved, count, memory_order_relaxed);
	while (atomic_load_explicit(&node->free_objects, memory_order_relaxed) <
	       atomic_load_explicit(&node->reserved, memory_order_relaxed)) {
		struct dry_page *slab = new_slab(cache, home);
		if (slab != NULL)
			attach(cache, slab);
		if (slab == NULL || slab->node != home) {
			unreserve(node, count);
			return -1;
		}
	}
	return 0;
}

size_t dry_node_shrink(struct dry_cache *cache, bool all)
{
	size_t freed = 0;

	for (uint32_t n = 0; n < cache->heap->nodes; n++) {
		struct dry_node *node = &cache->node[n];
		dry_lock_acquire(&node->lock);
		size_t keep = all ? 0 : node->free_slabs - node->free_low;
		uint32_t chain = trim_locked(cache, node, keep, DRY_PAGE_NIL, &freed);
		node->free_low = node->free_slabs;
		dry_lock_release(&node->lock);
		free_chain(cache, chain);
	}
	return freed;
}

size_t dry_node_slabs(const struct dry_cache *cache)
{
	size_t slabs = 0;

	for (uint32_t n = 0; n < cache->heap->nodes; n++)
		slabs += atomic_load_explicit(&cache->node[n].slabs, memory_order_relaxed);
	return slabs;
}
