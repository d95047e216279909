/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "core/heap.h"

#include <string.h>

#include "base/annotate.h"
#include "base/error.h"
#include "base/fmt.h"
#include "core/cache.h"
#include "core/debug_ops.h"
#include "core/node.h"

#define MAIN_RESERVE    ((size_t)1 << 40)
#define PRIVATE_RESERVE ((size_t)1 << 34)
#define MIN_MEMORY      ((size_t)256 << 10)
#define EXTENT_CAP      ((size_t)64 << 20)
#define SMALL_HEAP      ((size_t)64 << 20)

/* Before it is ready its arena is empty and no class has a place: both fast paths turn slow. */
struct dry_main dry_main = { .heap = { .is_default = true } };

struct dry_heap *dry_heaps;
struct dry_lock dry_heaps_lock = DRY_LOCK_INIT(DRY_RANK_HEAPS);

_Static_assert(sizeof(struct dry_cache) == offsetof(struct dry_cache, node) &&
		       offsetof(struct dry_heap, cache_cache_nodes) ==
			       offsetof(struct dry_heap, cache_cache) + sizeof(struct dry_cache),
	       "the nodes of the first cache follow it");

static int init_cache_cache(struct dry_heap *heap)
{
	struct dry_cache_attr attr = {
		.name = "dry_cache",
		.size = sizeof(struct dry_cache) + heap->nodes * sizeof(struct dry_node),
		.flags = DRY_CACHE_NO_MERGE | DRY_CACHE_HWALIGN,
		.limit = 8,
	};

	return dry_cache_init(&heap->cache_cache, heap, &attr, false);
}

/* Everything but the arena and the number of nodes. */
static int init_rest(struct dry_heap *heap, const struct dry_heap_attr *attr)
{
	size_t bytes = heap->arena.granules << DRY_GRANULE_SHIFT;

	dry_format(heap->name, sizeof(heap->name), "%s", attr->name != NULL ? attr->name : "heap");
	heap->grace = attr->grace;
	heap->area_size = heap->is_default ? DRY_AREA_MAX : DRY_AREA_MAX / 4;
	if (attr->limit != 0 && attr->limit < bytes)
		bytes = attr->limit;
	if (bytes < SMALL_HEAP) {
		/* a small heap must not spend itself on array caches */
		size_t share = bytes / 64;
		heap->area_size = (size_t)1 << heap->arena.page_shift;
		while (heap->area_size * 2 <= share && heap->area_size < DRY_AREA_MAX / 16)
			heap->area_size *= 2;
		if (heap->area_size > DRY_AREA_MAX)
			heap->area_size = DRY_AREA_MAX;
	}
	dry_lock_init(&heap->lock, heap->is_default ? DRY_RANK_MAIN_CACHES : DRY_RANK_CACHES);
	dry_lock_init(&heap->reap_lock, heap->is_default ? DRY_RANK_MAIN_REAP : DRY_RANK_REAP);
	heap->caches_end = &heap->caches;
	if (dry_annotate != NULL)
		dry_annotate->heap(heap, true);
	dry_extents_init(&heap->extents, EXTENT_CAP, heap->nodes, attr->source);
	if (dry_slots_init(heap) != 0)
		return -DRY_ENOMEM;
	return init_cache_cache(heap);
}

static void enlist(struct dry_heap *heap)
{
	/* dry_heaps_lock is held */
	heap->next = dry_heaps;
	dry_heaps = heap;
	__atomic_store_n(&heap->ready, true, __ATOMIC_RELEASE); /* pairs with dry_heap_get() */
}

static DRY_SLOW struct dry_heap *init_main(void)
{
	struct dry_heap *heap = &dry_main_heap;
	struct dry_arena_attr arena = { .reserve = MAIN_RESERVE };
	struct dry_heap_attr attr = { .name = "main" };

	dry_port_init();
	arena.nodes = dry_port_nodes();
	dry_lock_acquire(&dry_heaps_lock);
	if (!heap->ready) {
		int rc = heap->arena.base == 0 ? dry_arena_init(&heap->arena, &arena) : 0;
		heap->nodes = heap->arena.nodes;
		if (rc == 0)
			rc = init_rest(heap, &attr);
		if (rc == 0)
			enlist(heap);
	}
	dry_lock_release(&dry_heaps_lock);
	return heap->ready ? heap : NULL;
}

struct dry_heap *dry_heap_get(struct dry_heap *heap)
{
	if (heap != NULL)
		return heap;
	if (DRY_LIKELY(__atomic_load_n(&dry_main_heap.ready, __ATOMIC_ACQUIRE)))
		return &dry_main_heap;
	heap = init_main();
	if (heap == NULL)
		dry_port_set_errno(DRY_ENOMEM);
	return heap;
}

DRY_EXPORT dry_heap *dry_heap_default(void)
{
	dry_heap_get(NULL);
	return &dry_main_heap;
}

unsigned dry_heap_node(const struct dry_heap *heap)
{
	if (heap->nodes == 1)
		return 0;
	/* More nodes than the system has: for trials. CPUs are dealt out to them. */
	if (heap->nodes > dry_port_nodes())
		return dry_percpu_slot() % heap->nodes;
	return dry_port_node() % heap->nodes;
}

static bool valid_source(const struct dry_page_source *source)
{
	return source->reserve != NULL && source->commit != NULL && source->purge != NULL && source->release != NULL &&
	       (source->unit == 0 || (dry_is_pow2(source->unit) && source->unit >= dry_port_page_size() &&
				      source->unit <= DRY_CHUNK_SIZE));
}

/* ---- private heaps: the struct lies in the first run of its own arena ------------- */

static bool valid(const struct dry_heap_attr *attr)
{
	size_t page = attr->page_size, system = dry_port_page_size();

	if (page != 0 && (page < system || (page != 4096 && page != 16384 && page != 65536)))
		return false;
	if (attr->nodes > DRY_MAX_NODES)
		return false;
	if (attr->source != NULL && (attr->memory != NULL || !valid_source(attr->source)))
		return false;
	return attr->memory == NULL ? attr->memory_size == 0 : attr->memory_size >= MIN_MEMORY;
}

DRY_EXPORT dry_heap *dry_heap_create(const struct dry_heap_attr *attr)
{
	static const struct dry_heap_attr defaults;
	struct dry_arena arena;
	int rc;

	if (attr == NULL)
		attr = &defaults;
	dry_port_init();
	if (!valid(attr)) {
		dry_port_set_errno(DRY_EINVAL);
		return NULL;
	}
	unsigned nodes = attr->nodes != 0 ? attr->nodes : dry_port_nodes();
	struct dry_arena_attr arena_attr = { attr->memory, attr->memory_size, PRIVATE_RESERVE, attr->limit,
					     attr->page_size, nodes, attr->source, false };
	rc = dry_arena_init(&arena, &arena_attr);
	if (rc != 0) {
		dry_port_set_errno(-rc);
		return NULL;
	}
	size_t bytes = sizeof(struct dry_heap) + dry_port_slots() * sizeof(char *);
	uint32_t pages = (uint32_t)((bytes + ((size_t)1 << arena.page_shift) - 1) >> arena.page_shift);
	struct dry_page *run = dry_arena_alloc(&arena, pages, 1, 0);
	if (run == NULL) {
		dry_arena_fini(&arena);
		dry_port_set_errno(DRY_ENOMEM);
		return NULL;
	}
	struct dry_heap *heap = dry_arena_address(&arena, dry_arena_index_of(&arena, run));
	memset(heap, 0, sizeof(*heap));
	heap->arena = arena;
	heap->nodes = nodes;
	rc = init_rest(heap, attr);
	if (rc != 0) {
		dry_slots_fini(heap);
		arena = heap->arena;
		dry_arena_fini(&arena);
		dry_port_set_errno(-rc);
		return NULL;
	}
	dry_lock_acquire(&dry_heaps_lock);
	enlist(heap);
	dry_lock_release(&dry_heaps_lock);
	return heap;
}

static bool deferred_left(const struct dry_heap *heap)
{
	for (const struct dry_cache *cache = heap->caches; cache != NULL; cache = cache->next)
		if (atomic_load_explicit(&cache->deferred, memory_order_acquire) != 0)
			return true;
	return false;
}

DRY_EXPORT int dry_heap_destroy(dry_heap *heap)
{
	struct dry_heap **link;
	struct dry_arena arena;

	if (heap == NULL || heap->is_default)
		return -DRY_EINVAL;
	dry_lock_acquire(&dry_heaps_lock);
	for (link = &dry_heaps; *link != heap; link = &(*link)->next)
		;
	*link = heap->next;
	dry_lock_release(&dry_heaps_lock);
	if (heap->grace != NULL && deferred_left(heap))
		heap->grace->barrier(heap->grace->arg);
	if (dry_annotate != NULL)
		dry_annotate->heap(heap, false);
	dry_extents_fini(&heap->extents);
	dry_slots_fini(heap);
	arena = heap->arena; /* the struct lies in the arena itself */
	dry_arena_fini(&arena);
	return 0;
}

/* ---- housekeeping ------------------------------------------------------------------ */

void dry_heap_return_objects(struct dry_heap *heap, bool all)
{
	/* Held throughout: objects on their way are nobody else's to miss (destroy counts them). */
	dry_lock_acquire(&heap->reap_lock);
	dry_arrays_drain_locked(heap, NULL, !all);
	dry_lock_acquire(&heap->lock);
	for (struct dry_cache *cache = heap->caches; cache != NULL; cache = cache->next) {
		if (cache->root != cache)
			continue;
		if (all && cache->debug != NULL && cache->debug->drain != NULL)
			cache->debug->drain(cache);
		dry_node_drain_depots(cache, all);
		dry_node_shrink(cache, all);
	}
	dry_lock_release(&heap->lock);
	dry_lock_release(&heap->reap_lock);
}

DRY_EXPORT void dry_heap_reap(dry_heap *heap)
{
	size_t left;

	heap = dry_heap_get(heap);
	if (heap == NULL)
		return;
	dry_heap_return_objects(heap, false);
	dry_arena_decay(&heap->arena, 1, &left);
	dry_extent_decay(&heap->extents, 1, &left);
}

#define EXCHANGE_BYTES ((size_t)1 << 20)  /* fresh memory between two looks */
#define EXCHANGE_KEEP  ((size_t)16 << 20) /* idle memory of either kind that is not worth it */

void dry_heap_exchange(struct dry_heap *heap)
{
	struct dry_arena *arena = &heap->arena;
	/* relaxed: two callers at a time share what there is to do somehow */
	size_t pages = atomic_load_explicit(&arena->fresh, memory_order_relaxed), done;

	if (DRY_LIKELY(pages < EXCHANGE_BYTES >> arena->page_shift))
		return;
	pages = atomic_exchange_explicit(&arena->fresh, 0, memory_order_relaxed);
	done = dry_extent_exchange(&heap->extents, pages << arena->page_shift, EXCHANGE_KEEP) >> arena->page_shift;
	if (done < pages)
		dry_arena_exchange(arena, pages - done, EXCHANGE_KEEP >> arena->page_shift);
}

DRY_EXPORT size_t dry_heap_trim(dry_heap *heap)
{
	size_t left, bytes;

	heap = dry_heap_get(heap);
	if (heap == NULL)
		return 0;
	dry_heap_return_objects(heap, true);
	bytes = dry_arena_purge_all(&heap->arena) << heap->arena.page_shift;
	return bytes + dry_extent_decay(&heap->extents, 0, &left);
}

static bool is_free(struct dry_lock *lock)
{
	bool free = dry_lock_try(lock);

	if (free)
		dry_lock_release(lock);
	return free;
}

bool dry_heap_is_quiet(struct dry_heap *heap)
{
	bool quiet = is_free(&heap->reap_lock) && is_free(&heap->extents.lock) && is_free(&heap->arena.lock);

	if (!dry_lock_try(&heap->lock))
		return false;
	for (struct dry_cache *cache = heap->caches; cache != NULL && quiet; cache = cache->next)
		for (uint32_t n = 0; cache->root == cache && n < heap->nodes; n++)
			quiet = quiet && is_free(&cache->node[n].shared.lock) && is_free(&cache->node[n].lock);
	dry_lock_release(&heap->lock);
	return quiet;
}

/* ---- fork ---------------------------------------------------------------------------- */

static void each_lock_of(struct dry_heap *heap, void (*fn)(struct dry_lock *lock))
{
	for (struct dry_cache *cache = heap->caches; cache != NULL; cache = cache->next) {
		for (uint32_t n = 0; cache->root == cache && n < heap->nodes; n++) {
			for (uint32_t i = 0; cache->node[n].alien != NULL && i < heap->nodes; i++)
				fn(&cache->node[n].alien[i].lock);
			fn(&cache->node[n].shared.lock);
			fn(&cache->node[n].lock);
		}
	}
	fn(&heap->extents.lock);
	fn(&heap->arena.lock);
}

/* heap->lock keeps the list of caches as it is, so it is the first to be taken and the last to be let go. */
static void each_lock(void (*fn)(struct dry_lock *lock), bool taking)
{
	for (struct dry_heap *heap = dry_heaps; heap != NULL; heap = heap->next) {
		if (taking) {
			fn(&heap->reap_lock);
			fn(&heap->lock);
		}
		each_lock_of(heap, fn);
		if (!taking) {
			fn(&heap->lock);
			fn(&heap->reap_lock);
		}
	}
}

/*
 * fork() needs everything at rest. All locks of one kind are taken together,
 * which the ranks do not allow for; nobody else ever holds two of a kind, so there is no cycle.
 */
void dry_heaps_lock_all(void)
{
	dry_lock_acquire(&dry_heaps_lock);
	each_lock(dry_lock_acquire_unranked, true);
}

void dry_heaps_unlock_all(bool in_child)
{
	for (struct dry_heap *heap = dry_heaps; heap != NULL && in_child; heap = heap->next)
		dry_arena_after_fork(&heap->arena);
	each_lock(in_child ? dry_lock_reinit : dry_lock_release, false);
	if (in_child)
		dry_lock_reinit(&dry_heaps_lock);
	else
		dry_lock_release(&dry_heaps_lock);
}
