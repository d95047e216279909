/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Making and unmaking heaps. */
#include "heap/heap.h"

#include "base/annotate.h"
#include "base/error.h"
#include "base/fatal.h"
#include "base/fmt.h"
#include "base/rank.h"
#include "core/create.h"
#include "core/reap.h"

#define MAIN_RESERVE    ((size_t)1 << 40)
#define MAIN_FIRST      ((size_t)2 << 20) /* of a small program that locks all it has (mlockall) */
#define PRIVATE_RESERVE ((size_t)1 << 34)
#define MIN_MEMORY      ((size_t)256 << 10)
#define EXTENT_CAP      ((size_t)64 << 20)
#define SMALL_HEAP      ((size_t)64 << 20)

/* Before it is ready its arena is empty and no class has a place: both fast paths turn slow. */
struct dry_main dry_main = { .heap = { .is_default = true } };

struct dry_heap *dry_heaps;
struct dry_lock dry_heaps_lock = DRY_LOCK_INIT(DRY_RANK_HEAPS);
uint64_t dry_heaps_gone[DRY_COUNTERS];
static const struct dry_debug_hooks *debug_hooks;

_Static_assert(offsetof(struct dry_main, slots) == offsetof(struct dry_heap, caches) + offsetof(struct dry_caches, slots),
	       "the slots of the default heap follow it");

/* A small heap must not spend itself on array caches. */
static size_t area_size(const struct dry_heap *heap, size_t bytes)
{
	size_t size = (size_t)1 << heap->caches.backing.arena.page_shift;

	if (bytes >= SMALL_HEAP)
		return heap->is_default ? DRY_AREA_MAX : DRY_AREA_MAX / 4;
	while (size * 2 <= bytes / 64 && size < DRY_AREA_MAX / 16)
		size *= 2;
	return size;
}

/* The arena and its metadata, where they will not stay. */
static int init_backing(struct dry_backing *backing, const struct dry_arena_attr *attr)
{
	int rc = dry_arena_init(&backing->arena, attr);

	backing->nodes = attr->nodes;
	backing->pages = NULL;
	if (rc != 0)
		return rc;
	rc = dry_meta_init(&backing->meta, &backing->arena);
	if (rc != 0)
		dry_arena_fini(&backing->arena);
	return rc;
}

static void fini_backing(struct dry_backing *backing)
{
	dry_meta_fini(&backing->meta);
	dry_arena_fini(&backing->arena);
}

static void move_backing(struct dry_backing *to, const struct dry_backing *from)
{
	*to = *from;
	to->meta.users = &to->arena;
}

static struct dry_extent_spare spares[DRY_EXTENT_CACHED_MOST]; /* the default heap's */

/* Everything but the backing. */
static bool init_rest(struct dry_heap *heap, const struct dry_heap_attr *attr)
{
	struct dry_backing *backing = &heap->caches.backing;
	size_t bytes = dry_backing_bytes(backing);

	dry_format(heap->name, sizeof(heap->name), "%s", attr->name != NULL ? attr->name : "heap");
	if (attr->limit != 0 && attr->limit < bytes)
		bytes = attr->limit;
	dry_extents_init(&heap->extents, EXTENT_CAP, backing->nodes, attr->source);
	if (heap->is_default)
		dry_extents_room(&heap->extents, spares, DRY_EXTENT_CACHED_MOST);
	heap->caches.grace = attr->grace;
	heap->caches.hooks = debug_hooks;
	if (!heap->is_default && debug_hooks != NULL && debug_hooks->heap != NULL)
		debug_hooks->heap(&heap->caches);
	if (!dry_caches_init(&heap->caches, dry_port_slots(), backing->nodes, area_size(heap, bytes), heap->is_default))
		return false;
	if (dry_annotate != NULL) /* last: of a heap that is not to be, nobody says that it goes */
		dry_annotate->heap(&heap->caches, true);
	return true;
}

/* Heaps by address, for who says that something is one. Guarded by dry_heaps_lock. */
static struct dry_heap **bucket_of(const struct dry_heap *heap)
{
	static struct dry_heap *buckets[256];

	return &buckets[(uint64_t)(uintptr_t)heap * 0x9e3779b97f4a7c15u >> 56];
}

/* dry_heaps_lock is held. */
static void enlist(struct dry_heap *heap)
{
	struct dry_heap **bucket = bucket_of(heap);

	heap->alike = *bucket;
	*bucket = heap;
	heap->next = dry_heaps;
	heap->link = &dry_heaps;
	if (heap->next != NULL)
		heap->next->link = &heap->next;
	dry_heaps = heap;
	__atomic_store_n(&heap->ready, true, __ATOMIC_RELEASE); /* pairs with dry_heap_get() */
}

static DRY_SLOW struct dry_heap *init_main(void)
{
	struct dry_heap *heap = &dry_main_heap;
	struct dry_arena_attr arena = { .reserve = MAIN_RESERVE, .first = MAIN_FIRST };
	struct dry_heap_attr attr = { .name = "main" };

	dry_port_init();
	arena.nodes = dry_port_nodes();
	dry_lock_acquire(&dry_heaps_lock);
	if (!heap->ready) {
		struct dry_backing *backing = &heap->caches.backing;
		if ((backing->arena.base != 0 || init_backing(backing, &arena) == 0) && init_rest(heap, &attr))
			enlist(heap);
	}
	dry_lock_release(&dry_heaps_lock);
	return heap->ready ? heap : NULL;
}

struct dry_heap *dry_heap_get(struct dry_heap *heap)
{
	if (heap != NULL && heap != &dry_main_heap) /* dry_heap_default() gives that one before it could be made, too */
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

void dry_heaps_debug(const struct dry_debug_hooks *hooks)
{
	dry_lock_acquire(&dry_heaps_lock);
	debug_hooks = hooks;
	for (struct dry_heap *heap = dry_heaps; heap != NULL; heap = heap->next)
		heap->caches.hooks = hooks;
	dry_lock_release(&dry_heaps_lock);
}

/* ---- private heaps: the struct lies in its own metadata ---------------------------- */

static bool valid_source(const struct dry_page_source *source)
{
	return source->reserve != NULL && source->commit != NULL && source->purge != NULL && source->release != NULL &&
	       (source->unit == 0 || (dry_is_pow2(source->unit) && source->unit >= dry_port_page_size() &&
				      source->unit <= DRY_CHUNK_SIZE));
}

static bool valid(const struct dry_heap_attr *attr)
{
	if (dry_arena_page_size(attr->page_size, attr->memory) == 0)
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
	struct dry_backing backing;
	struct dry_heap *heap;
	int rc;

	if (attr == NULL)
		attr = &defaults;
	dry_port_init();
	if (!valid(attr)) {
		dry_port_set_errno(DRY_EINVAL);
		return NULL;
	}
	size_t bytes = sizeof(struct dry_heap) + (dry_port_slots() + 1) * sizeof(char *);
	struct dry_arena_attr arena_attr = {
		.memory = attr->memory, .memory_size = attr->memory_size, .reserve = PRIVATE_RESERVE, .limit = attr->limit,
		.page_size = attr->page_size, .nodes = attr->nodes != 0 ? attr->nodes : dry_port_nodes(),
		.source = attr->source,
	};
	rc = init_backing(&backing, &arena_attr);
	heap = rc == 0 ? dry_meta_alloc(&backing.meta, bytes) : NULL;
	if (heap == NULL) {
		if (rc == 0)
			fini_backing(&backing);
		dry_port_set_errno(rc != 0 ? -rc : DRY_ENOMEM);
		return NULL;
	}
	move_backing(&heap->caches.backing, &backing);
	if (!init_rest(heap, attr)) {
		move_backing(&backing, &heap->caches.backing);
		fini_backing(&backing);
		dry_port_set_errno(DRY_ENOMEM);
		return NULL;
	}
	dry_lock_acquire(&dry_heaps_lock);
	enlist(heap);
	dry_lock_release(&dry_heaps_lock);
	return heap;
}

static bool deferred_left(const struct dry_heap *heap)
{
	for (const struct dry_cache *cache = heap->caches.first; cache != NULL; cache = cache->next)
		if (atomic_load_explicit(&cache->deferred, memory_order_acquire) != 0)
			return true;
	return false;
}

/* relaxed: nobody uses it any more */
static void count_gone_locked(struct dry_heap *heap)
{
	struct dry_caches *caches = &heap->caches;
	struct dry_arena *arena = dry_heap_arena(heap);

	dry_lock_acquire(&caches->lock);
	for (struct dry_cache *cache = caches->first; cache != NULL; cache = cache->next)
		if (cache->root == cache)
			dry_cache_add_counters_locked(cache, dry_heaps_gone);
	for (unsigned i = 0; i < DRY_COUNTERS; i++)
		dry_heaps_gone[i] += caches->gone[i];
	dry_lock_release(&caches->lock);
	dry_heaps_gone[DRY_COUNTER_FAILURES] += atomic_load_explicit(&heap->failures, memory_order_relaxed);
	dry_heaps_gone[DRY_COUNTER_REAPS] += caches->reaps;
	dry_heaps_gone[DRY_COUNTER_PURGED] += heap->extents.purged + (arena->purged << arena->page_shift);
}

/* Off the list. false: it is not there; what lies at a heap that is gone may not even be read. */
static bool delist(struct dry_heap *heap)
{
	struct dry_heap **at = bucket_of(heap);
	bool listed;

	dry_lock_acquire(&dry_heaps_lock);
	while (*at != NULL && *at != heap)
		at = &(*at)->alike;
	listed = *at != NULL;
	if (listed) {
		*at = heap->alike;
		*heap->link = heap->next;
		if (heap->next != NULL)
			heap->next->link = heap->link;
		count_gone_locked(heap);
	}
	dry_lock_release(&dry_heaps_lock);
	return listed;
}

DRY_EXPORT int dry_heap_destroy(dry_heap *heap)
{
	const struct dry_grace *grace;
	struct dry_backing backing;

	if (heap == NULL || heap == &dry_main_heap)
		return -DRY_EINVAL;
	if (!delist(heap)) {
		dry_fatal(DRY_FATAL_INVALID_POINTER, heap, NULL, "no heap, or destroyed already");
		return -DRY_EINVAL;
	}
	grace = heap->caches.grace;
	if (grace != NULL && deferred_left(heap))
		grace->barrier(grace->arg);
	if (dry_annotate != NULL)
		dry_annotate->heap(&heap->caches, false);
	if (heap->caches.hooks->heap_gone != NULL)
		heap->caches.hooks->heap_gone(&heap->caches);
	dry_extents_fini(&heap->extents);
	dry_caches_fini(&heap->caches);
	move_backing(&backing, &heap->caches.backing); /* which holds the heap itself */
	fini_backing(&backing);
	return 0;
}
