/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What must hold while no task is inside of the library; and what holds between any two steps. */
#include "world.h"

#include "core/node.h"
#include "core/slab.h"
#include "page/extent.h"

#define KNOWN 160 /* caches of a heap, at most: the general ones, ours, those of index arrays */

struct count {
	const struct dry_cache *cache;
	size_t objects;
};

struct tally {
	const struct world_heap *heap;
	unsigned number, caches;
	struct count count[KNOWN];
	size_t run_pages, extents;
};

static struct count *count_of(struct tally *tally, const struct dry_cache *cache)
{
	for (unsigned i = 0; i < tally->caches; i++)
		if (tally->count[i].cache == cache)
			return &tally->count[i];
	dry_sim_fail("rest: an object of a cache that is not on its heap's list");
	return NULL;
}

static void count_object(const struct world_object *object, void *arg)
{
	struct tally *tally = arg;
	const struct dry_arena *arena = &tally->heap->heap->arena;
	const struct dry_page *page;

	if (object->heap != tally->number)
		return;
	page = dry_arena_contains(arena, object->at) ? dry_arena_run_of(arena, object->at) : NULL;
	if (page != NULL && arena->nodes > 1 && page->node < dry_port_nodes() && dry_sim_node_of(object->at) != page->node + 1u)
		dry_sim_fail("rest: an object of node %u on node %d", page->node, (int)dry_sim_node_of(object->at) - 1);
	if (page == NULL)
		tally->extents++;
	else if (page->kind == DRY_PAGE_SLAB)
		count_of(tally, page->slab.cache)->objects++;
	else
		tally->run_pages += page->count;
}

/* What the library itself holds in caches: caches, and index arrays of slabs. */
static void count_own(struct tally *tally)
{
	const struct dry_heap *heap = tally->heap->heap;

	for (const struct dry_cache *cache = heap->caches; cache != NULL; cache = cache->next) {
		if (cache != &heap->cache_cache)
			count_of(tally, &heap->cache_cache)->objects++;
		if (cache->root == cache && cache->mgmt == DRY_MGMT_OFF_SLAB)
			count_of(tally, cache->freelist_cache)->objects += dry_node_slabs(cache);
	}
	/* A root that was destroyed by its own name lives on for its aliases; it is on the list. */
}

static void list_caches(struct tally *tally)
{
	for (const struct dry_cache *cache = tally->heap->heap->caches; cache != NULL; cache = cache->next) {
		if (cache->root != cache)
			continue;
		if (tally->caches == KNOWN)
			dry_sim_fail("rest: more than %d caches", KNOWN);
		tally->count[tally->caches++] = (struct count){ cache, 0 };
	}
}

static size_t pages_of(const struct dry_heap *heap, size_t bytes)
{
	return (bytes + ((size_t)1 << heap->arena.page_shift) - 1) >> heap->arena.page_shift;
}

/* Slabs, those waiting for readers, and the arrays on nodes. */
static size_t cache_pages(const struct dry_heap *heap, const struct dry_cache *cache)
{
	size_t pages = (dry_node_slabs(cache) + cache->deferred) << cache->order;

	for (uint32_t n = 0; n < heap->nodes; n++) {
		const struct dry_node *node = &cache->node[n];

		if (node->shared.entry != NULL)
			pages += dry_arena_run_of(&heap->arena, node->shared.entry)->count;
		if (node->alien == NULL)
			continue;
		pages += dry_arena_run_of(&heap->arena, node->alien)->count;
		for (uint32_t i = 0; i < heap->nodes; i++)
			if (node->alien[i].entry != NULL)
				pages += dry_arena_run_of(&heap->arena, node->alien[i].entry)->count;
	}
	return pages;
}

static void check_pages(const struct tally *tally)
{
	const struct dry_heap *heap = tally->heap->heap;
	size_t pages = tally->run_pages + pages_of(heap, sizeof(struct dry_heap) + heap->slot_count * sizeof(char *));

	for (uint32_t slot = 0; slot < heap->slot_count; slot++)
		if (heap->areas[slot] != dry_stopped_area)
			pages += pages_of(heap, heap->area_size);
	for (unsigned i = 0; i < tally->caches; i++)
		pages += cache_pages(heap, tally->count[i].cache);
	if (pages != heap->arena.used)
		dry_sim_fail("pages: %zu in use, %zu accounted for", heap->arena.used, pages);
}

static void check_counts(const struct tally *tally)
{
	struct dry_cache_stats stats;

	for (unsigned i = 0; i < tally->caches; i++) {
		dry_cache *cache = (dry_cache *)(uintptr_t)tally->count[i].cache;

		dry_cache_stats(cache, &stats);
		if (stats.active_objects != tally->count[i].objects)
			dry_sim_fail("counts: %s: %zu objects are out, the cache says %zu", stats.name,
				     tally->count[i].objects, stats.active_objects);
		if (stats.objects != stats.slabs * stats.objects_per_slab || stats.cached_objects > stats.objects)
			dry_sim_fail("counts: %s: figures contradict each other", stats.name);
	}
}

/* Objects on their way are of the node that the array is for. */
static void check_depot(const struct dry_cache *cache, const struct dry_depot *depot, uint32_t node)
{
	uint32_t avail = depot->avail;

	if (depot->lock.owner != 0)
		return;
	if (avail > depot->limit)
		dry_sim_fail("%s: shared or alien array: avail %u above its limit %u", cache->name, avail,
			     depot->limit);
	for (uint32_t i = 0; i < avail; i++)
		if (dry_slab_of(cache, depot->entry[i])->node % cache->heap->nodes != node)
			dry_sim_fail("%s: an object of another node in an array for node %u", cache->name, node);
}

static void check_depots(const struct dry_heap *heap)
{
	for (const struct dry_cache *cache = heap->caches; cache != NULL; cache = cache->next) {
		for (uint32_t n = 0; cache->root == cache && n < heap->nodes; n++) {
			check_depot(cache, &cache->node[n].shared, n);
			for (uint32_t i = 0; cache->node[n].alien != NULL && i < heap->nodes; i++)
				check_depot(cache, &cache->node[n].alien[i], i);
		}
	}
}

/* What was promised by a prefill is there. */
static void check_reserves(const struct dry_heap *heap)
{
	for (const struct dry_cache *cache = heap->caches; cache != NULL; cache = cache->next)
		for (uint32_t n = 0; cache->root == cache && n < heap->nodes; n++)
			if (cache->node[n].reserved > cache->node[n].free_objects)
				dry_sim_fail("%s: %zu objects reserved on node %u, %zu free", cache->name,
					     cache->node[n].reserved, n, cache->node[n].free_objects);
}

/* Every unit of a slot's area is of an array of a cache, or the stopped array at its start. */
static void check_places(const struct dry_heap *heap)
{
	size_t used = 0, wanted = 1;

	for (size_t i = 0; i < sizeof(heap->area_map) / sizeof(heap->area_map[0]); i++)
		used += (size_t)__builtin_popcountll(heap->area_map[i]);
	for (const struct dry_cache *cache = heap->caches; cache != NULL; cache = cache->next) {
		size_t bytes = sizeof(struct dry_array) + (cache->limit + 1) * sizeof(void *);

		if (cache->root == cache && cache->alloc_at != 0)
			wanted += (bytes + DRY_AREA_UNIT - 1) / DRY_AREA_UNIT * (cache->split ? 2 : 1);
	}
	if (used != wanted)
		dry_sim_fail("slots: %zu units of an area are used, %zu are of caches", used, wanted);
}

/* Every object that was given out is counted; where requests fail half way, some are counted that were not. */
static void check_given(void)
{
	struct dry_cache_stats stats;

	for (unsigned i = 0; i < world.plan.caches; i++) {
		const struct world_cache *cache = &world.cache[i];

		if (cache->state != WORLD_LIVE || world_shares(cache) || world.heap[cache->heap].may_refuse)
			continue;
		dry_cache_stats(cache->cache, &stats);
		if (stats.allocs != cache->given)
			dry_sim_fail("counts: %s: %llu allocations, the cache says %llu", cache->name,
				     (unsigned long long)cache->given, (unsigned long long)stats.allocs);
	}
}

static void check_heap(unsigned number)
{
	struct tally tally = { .heap = &world.heap[number], .number = number };
	struct dry_heap *heap = tally.heap->heap;
	const char *wrong = dry_extents_check(&heap->extents);

	if (wrong != NULL)
		dry_sim_fail("%s", wrong);
	if (dry_heap_check(heap) != 0)
		dry_sim_fail("%s", dry_sim_last_line());
	list_caches(&tally);
	ledger_each(count_object, &tally);
	count_own(&tally);
	check_counts(&tally);
	check_pages(&tally);
	check_depots(heap);
	check_reserves(heap);
	check_places(heap);
	if (tally.extents != heap->extents.live || tally.extents != heap->extents.promised)
		dry_sim_fail("extents: %zu live, %zu promised, %zu owned", heap->extents.live, heap->extents.promised,
			     tally.extents);
}

static void verify(const struct world_object *object, void *arg)
{
	(void)arg;
	ledger_verify(object);
}

void world_check_rest(void)
{
	ledger_each(verify, NULL);
	check_given();
	for (unsigned i = 0; i < world.plan.heaps; i++)
		check_heap(i);
}

/* ---- between two steps ------------------------------------------------------------------- */

static bool nodes_free(const struct dry_cache *cache)
{
	for (uint32_t n = 0; n < cache->heap->nodes; n++)
		if (cache->node[n].lock.owner != 0)
			return false;
	return true;
}

/*
 * What a lock guards is in order while nobody holds it. Arrays change in one step, so they always
 * are; the list of caches is read here without its lock only while nobody has it.
 */
static void check_now(struct dry_heap *heap)
{
	const char *wrong = NULL;

	if (heap->lock.owner != 0)
		return;
	for (struct dry_cache *cache = heap->caches; cache != NULL; cache = cache->next)
		if (cache->root == cache && nodes_free(cache) && dry_cache_check(cache) != 0)
			dry_sim_fail("%s", dry_sim_last_line());
	check_depots(heap);
	if (heap->arena.lock.owner == 0)
		wrong = dry_arena_check(&heap->arena);
	if (wrong == NULL && heap->extents.lock.owner == 0)
		wrong = dry_extents_check(&heap->extents);
	if (wrong != NULL)
		dry_sim_fail("%s", wrong);
}

void world_check_between_steps(void)
{
	for (unsigned i = 0; i < world.plan.heaps; i++)
		check_now(world.heap[i].heap);
}
