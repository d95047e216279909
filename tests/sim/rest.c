/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What must hold while no task is inside of the library; and what holds between any two steps. */
#include "world.h"

#include "core/batch.h"
#include "core/slab.h"
#include "core/slots.h"
#include "core/walk.h"
#include "page/extent.h"

#define KNOWN 160 /* caches of a heap, at most: the general ones and ours */

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
	const struct dry_arena *arena = &tally->heap->heap->caches.backing.arena;
	struct dry_page *page;

	if (object->heap != tally->number)
		return;
	page = dry_arena_contains(arena, object->at) ? dry_arena_run_of(arena, object->at) : NULL;
	if (page != NULL && arena->nodes > 1 && page->node < dry_port_nodes() && dry_sim_node_of(object->at) != page->node + 1u)
		dry_sim_fail("rest: an object of node %u on node %d", page->node, (int)dry_sim_node_of(object->at) - 1);
	if (page == NULL)
		tally->extents++;
	else if (page->kind == DRY_PAGE_SLAB)
		count_of(tally, dry_slab_in(page)->cache)->objects++;
	else
		tally->run_pages += page->count;
}

static void list_caches(struct tally *tally)
{
	for (const struct dry_cache *cache = tally->heap->heap->caches.first; cache != NULL; cache = cache->next) {
		if (cache->root != cache)
			continue;
		if (tally->caches == KNOWN)
			dry_sim_fail("rest: more than %d caches", KNOWN);
		tally->count[tally->caches++] = (struct count){ cache, 0 };
	}
}

/* ---- metadata ---- */

/* As page/meta.c rounds: a power of two up to half a page, then pages. */
static size_t rounded(const struct dry_heap *heap, size_t bytes)
{
	size_t page = (size_t)1 << heap->caches.backing.arena.page_shift, piece = page / 256;

	while (piece < bytes && piece < page / 2)
		piece *= 2;
	return bytes <= piece ? piece : (bytes + page - 1) & ~(page - 1);
}

static size_t depot_bytes(const struct dry_heap *heap, const struct dry_depot *depot)
{
	return depot->entry != NULL ? rounded(heap, depot->room * sizeof(void *)) : 0;
}

/* Its struct, the arrays on nodes, and index arrays of slabs. */
static size_t cache_bytes(const struct dry_heap *heap, const struct dry_cache *cache)
{
	const struct dry_caches *caches = &heap->caches;
	size_t bytes = rounded(heap, sizeof(*cache) + caches->nodes * sizeof(struct dry_node));

	if (cache->root != cache)
		return bytes;
	if (cache->mgmt == DRY_MGMT_OFF_SLAB)
		bytes += dry_node_slabs(cache) * rounded(heap, cache->waste);
	for (uint32_t n = 0; n < caches->nodes; n++) {
		const struct dry_depot_line *more = cache->node[n].more;

		bytes += depot_bytes(heap, &cache->node[n].shared);
		if (more != NULL)
			bytes += rounded(heap, dry_depots_more(caches) * sizeof(*more));
		for (uint32_t i = 0; more != NULL && i < dry_depots_more(caches); i++)
			bytes += depot_bytes(heap, &more[i].depot);
	}
	return bytes;
}

static void check_metadata(const struct dry_heap *heap)
{
	const struct dry_caches *caches = &heap->caches;
	size_t bytes = rounded(heap, sizeof(struct dry_heap) + (caches->slot_count + 1) * sizeof(char *)) +
		       rounded(heap, caches->slot_count * sizeof(char *));

	for (uint32_t slot = 0; slot < caches->slot_count; slot++)
		if (caches->areas[slot] != dry_stopped_area)
			bytes += rounded(heap, caches->backing.arena.window ? caches->area_reach : caches->area_size);
	if (caches->nowhere != dry_stopped_area)
		bytes += rounded(heap, dry_slot_nowhere_bytes(caches));
	for (const struct dry_cache *cache = caches->first; cache != NULL; cache = cache->next)
		bytes += cache_bytes(heap, cache);
	bytes += caches->forgotten_count * rounded(heap, dry_cache_struct_bytes(caches));
	if (bytes != caches->backing.meta.bytes)
		dry_sim_fail("metadata: %zu bytes in use, %zu accounted for", caches->backing.meta.bytes, bytes);
}

/* Slabs, those waiting for readers, and runs. */
static void check_pages(const struct tally *tally)
{
	const struct dry_caches *caches = &tally->heap->heap->caches;
	const struct dry_arena *arena = &caches->backing.arena;
	size_t pages = tally->run_pages + dry_kept_pages(&tally->heap->heap->kept) +
		       (arena->owns_memory ? 0 : caches->backing.meta.pages);

	for (unsigned i = 0; i < tally->caches; i++) {
		const struct dry_cache *cache = tally->count[i].cache;
		pages += (dry_node_slabs(cache) + cache->deferred) << cache->order;
	}
	if (pages != arena->used)
		dry_sim_fail("pages: %zu in use, %zu accounted for", arena->used, pages);
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
		if (dry_slab_node(cache, dry_slab_of(cache, depot->entry[i])) != node)
			dry_sim_fail("%s: an object of another node in an array for node %u", cache->name, node);
}

static void check_depots(const struct dry_heap *heap)
{
	for (const struct dry_cache *cache = heap->caches.first; cache != NULL; cache = cache->next) {
		for (uint32_t n = 0; cache->root == cache && n < heap->caches.nodes; n++) {
			check_depot(cache, &cache->node[n].shared, n);
			for (uint32_t i = 0; cache->node[n].more != NULL && i < dry_depots_more(&heap->caches); i++)
				check_depot(cache, &cache->node[n].more[i].depot, i < heap->caches.nodes ? i : n);
		}
	}
}

/* What was promised by a prefill is there: in slabs, or in arrays. */
static void check_reserves(const struct dry_heap *heap)
{
	struct dry_cache_stats stats;

	for (struct dry_cache *cache = heap->caches.first; cache != NULL; cache = cache->next) {
		if (cache->root != cache)
			continue;
		dry_cache_stats(cache, &stats);
		for (uint32_t n = 0; n < heap->caches.nodes; n++) {
			const struct dry_node *node = &cache->node[n];
			uint64_t made = stats.allocs > node->reserved_at ? stats.allocs - node->reserved_at : 0;

			if (node->reserved > made + stats.objects - stats.active_objects)
				dry_sim_fail("%s: %zu objects reserved on node %u, %zu free", cache->name,
					     node->reserved, n, stats.objects - stats.active_objects);
		}
	}
}

/* Every unit of a slot's area is of an array of a cache, or the stopped array at its start. */
static void check_places(const struct dry_heap *heap)
{
	size_t used = 0, wanted = 1;

	for (size_t i = 0; i < sizeof(heap->caches.area_map) / sizeof(heap->caches.area_map[0]); i++)
		used += (size_t)__builtin_popcountll(heap->caches.area_map[i]);
	for (const struct dry_cache *cache = heap->caches.first; cache != NULL; cache = cache->next) {
		size_t bytes = sizeof(struct dry_array) + cache->room * sizeof(void *);

		if (cache->root == cache && cache->place != 0)
			wanted += (bytes + DRY_AREA_UNIT - 1) / DRY_AREA_UNIT;
	}
	if (used != wanted)
		dry_sim_fail("slots: %zu units of an area are used, %zu are of caches", used, wanted);
}

/*
 * Every object that was given out is counted, but what a countdown could not put back; where requests fail half way, some are
 * counted that were not.
 */
static void check_given(void)
{
	struct dry_cache_stats stats;

	for (unsigned i = 0; i < world.plan.caches; i++) {
		const struct world_cache *cache = &world.cache[i];

		if (cache->state != WORLD_LIVE || world_shares(cache) || world.heap[cache->heap].may_refuse)
			continue;
		dry_cache_stats(cache->cache, &stats);
		if (stats.allocs > cache->given || stats.allocs + dry_sim_uncounted < cache->given)
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
	check_counts(&tally);
	check_pages(&tally);
	check_metadata(heap);
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
	for (uint32_t n = 0; n < cache->caches->nodes; n++)
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

	if (heap->caches.lock.owner != 0)
		return;
	for (struct dry_cache *cache = heap->caches.first; cache != NULL; cache = cache->next)
		if (cache->root == cache && nodes_free(cache) && dry_cache_check(cache) != 0)
			dry_sim_fail("%s", dry_sim_last_line());
	check_depots(heap);
	if (heap->caches.backing.arena.lock.owner == 0)
		wrong = dry_arena_check(&heap->caches.backing.arena);
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
