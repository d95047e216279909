/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The public calls on caches: what core does, with errno and the default heap. */
#include <drystone/experiment.h>
#include <string.h>

#include "base/error.h"
#include "base/fatal.h"
#include "core/alloc.h"
#include "core/check.h"
#include "core/create.h"
#include "core/fast.h"
#include "core/reap.h"
#include "core/walk.h"
#include "heap/heap.h"
#include "port/probe.h"

#define KNOWN_FLAGS                                                                                   \
	(DRY_CACHE_HWALIGN | DRY_CACHE_NO_MERGE | DRY_CACHE_TYPESAFE_BY_RCU | DRY_CACHE_DEBUG |       \
	 DRY_CACHE_TYPE_MASK | DRY_CACHE_SMALL_SLABS | DRY_CACHE_NO_ARRAYS | DRY_CACHE_ATTACH_FIRST)
#define MAX_SIZE  ((size_t)4 << 20)
#define MAX_ALIGN 65536u
#define CACHE_BYTES ((size_t)4096) /* about what one takes of metadata */

/* ---- caches ----------------------------------------------------------------------- */

static bool valid(const struct dry_heap *heap, const struct dry_cache_attr *attr)
{
	unsigned type = attr->flags & DRY_CACHE_TYPE_MASK;

	if (attr->name == NULL || attr->name[0] == '\0' || attr->size == 0 || attr->size > MAX_SIZE)
		return false;
	if ((attr->align & (attr->align - 1)) != 0 || attr->align > MAX_ALIGN || attr->limit > DRY_MAX_LIMIT)
		return false;
	if ((attr->flags & ~KNOWN_FLAGS) != 0 || type > DRY_CACHE_PUBLISHED_2015)
		return false;
	if ((attr->flags & DRY_CACHE_TYPESAFE_BY_RCU) && heap->caches.grace == NULL)
		return false;
	if ((attr->flags & DRY_CACHE_POISON) &&
	    (attr->ctor || attr->dtor || (attr->flags & DRY_CACHE_TYPESAFE_BY_RCU)))
		return false;
	return true;
}

/* A heap for one cache, which has a page source of its own. */
static struct dry_heap *make_own_heap(const struct dry_heap *heap, const struct dry_cache_attr *attr)
{
	struct dry_heap_attr own = { .name = attr->name, .nodes = heap->caches.nodes, .grace = heap->caches.grace,
				     .source = attr->source };
	struct dry_heap *made = dry_heap_create(&own);

	if (made != NULL)
		made->of_cache = true;
	return made;
}

DRY_EXPORT dry_cache *dry_cache_create(dry_heap *heap, const struct dry_cache_attr *attr)
{
	struct dry_cache *cache;
	int error;

	heap = dry_heap_get(heap);
	if (heap == NULL)
		return NULL;
	if (attr == NULL || !valid(heap, attr)) {
		dry_port_set_errno(DRY_EINVAL);
		return NULL;
	}
	if (attr->source != NULL) {
		heap = make_own_heap(heap, attr);
		if (heap == NULL)
			return NULL;
	}
	cache = dry_cache_make(&heap->caches, attr, &error);
	for (unsigned tries = 0; cache == NULL && error == DRY_ENOMEM && dry_heap_free_up(heap, CACHE_BYTES, tries); tries++)
		cache = dry_cache_make(&heap->caches, attr, &error);
	if (cache != NULL)
		DRY_PROBE_3(drystone, cache_made, (uintptr_t)cache, (uintptr_t)cache->name, cache->object_size);
	if (cache == NULL) {
		if (heap->of_cache)
			dry_heap_destroy(heap);
		dry_port_set_errno(error);
	}
	return cache;
}

DRY_EXPORT int dry_cache_destroy(dry_cache *cache)
{
	struct dry_heap *heap = cache != NULL && cache->state == DRY_CACHE_LIVE ? dry_heap_of(cache->caches) : NULL;
	int rc;

	if (heap != NULL)
		DRY_PROBE_2(drystone, cache_destroyed, (uintptr_t)cache, (uintptr_t)cache->name);
	rc = dry_cache_unmake(cache);

	if (rc == 0 && heap != NULL && heap->of_cache)
		dry_heap_destroy(heap);
	return rc;
}

struct visit {
	int (*fn)(dry_cache *, void *);
	void *arg;
};

/* Not one that was destroyed and lives on for its aliases; relaxed: it may be so at any time. */
static int visit(dry_cache *cache, void *arg)
{
	const struct visit *visit = arg;

	return atomic_load_explicit(&cache->orphan, memory_order_relaxed) ? 0 : visit->fn(cache, visit->arg);
}

DRY_EXPORT int dry_heap_for_each_cache(dry_heap *heap, int (*fn)(dry_cache *, void *), void *arg)
{
	struct visit visit_as = { fn, arg };

	heap = dry_heap_get(heap);
	return heap != NULL ? dry_caches_walk(&heap->caches, visit, &visit_as) : 0;
}

static int report(const char *name, const char *wrong)
{
	if (wrong == NULL)
		return 0;
	dry_warn("check of %s: does not hold: %s", name, wrong);
	return -DRY_EFAULT;
}

DRY_EXPORT int dry_cache_check(dry_cache *cache)
{
	return report(cache->root->name, dry_cache_find_wrong(cache->root));
}

static int check_caches(struct dry_heap *heap)
{
	int rc = 0;

	dry_lock_acquire(&heap->caches.lock);
	for (struct dry_cache *cache = heap->caches.first; cache != NULL && rc == 0; cache = cache->next)
		if (cache->root == cache)
			rc = dry_cache_check(cache);
	dry_lock_release(&heap->caches.lock);
	return rc;
}

static int check_heap(struct dry_heap *heap)
{
	int rc = check_caches(heap);
	const char *wrong;

	if (rc != 0)
		return rc;
	wrong = dry_arena_check(dry_heap_arena(heap));
	if (wrong == NULL)
		wrong = dry_meta_check(&heap->caches.backing.meta);
	return report(heap->name, wrong != NULL ? wrong : dry_extents_check(&heap->extents));
}

DRY_EXPORT int dry_heap_check(dry_heap *heap)
{
	int rc = 0;

	for (heap = dry_heap_get(heap); heap != NULL && rc == 0; heap = dry_heap_apart(heap))
		rc = check_heap(heap);
	return rc;
}

/* ---- objects ---------------------------------------------------------------------- */

/* Against the process's limit, for n objects. */
static DRY_SLOW bool make_room(const struct dry_cache *cache, size_t n, unsigned tries)
{
	size_t slab = (size_t)1 << (dry_backing_page_shift(&cache->caches->backing) + cache->root->order), bytes;

	return !__builtin_mul_overflow(n, cache->root->size, &bytes) &&
	       dry_heap_make_room(dry_heap_of(cache->caches), bytes > slab ? bytes : slab, tries);
}

/* What the system refuses to slabs, big blocks that were freed may still have. false: they have nothing. */
static DRY_SLOW bool drop_spares(const struct dry_cache *cache)
{
	return dry_extent_decay(&dry_heap_of(cache->caches)->extents, 0) != 0;
}

/* There was no memory for n objects, or it is to fail: whether it is worth another try. A dead cache was reported. */
static DRY_SLOW bool try_again(const struct dry_cache *cache, size_t n, unsigned tries)
{
	return cache->state == DRY_CACHE_LIVE && cache->caches->hooks->allows == NULL &&
	       ((tries == 0 && drop_spares(cache)) || make_room(cache, n, tries));
}

static DRY_SLOW void *alloc_hard(struct dry_cache *cache, int node)
{
	void *object = NULL;

	for (unsigned tries = 0; object == NULL && try_again(cache, 1, tries); tries++)
		object = dry_alloc_slow(cache, DRY_GFP_DEFAULT, node);
	return object;
}

DRY_SLOW void dry_heap_failed(struct dry_cache *cache)
{
	DRY_PROBE_1(drystone, failure, cache->object_size);
	atomic_fetch_add_explicit(&cache->root->node[0].failures, 1, memory_order_relaxed); /* a statistic */
	dry_port_set_errno(DRY_ENOMEM);
}

DRY_SLOW void *dry_heap_try_slow(struct dry_cache *cache)
{
	void *object = dry_alloc_slow(cache, DRY_GFP_DEFAULT, DRY_NODE_ANY);

	if (DRY_UNLIKELY(object == NULL))
		object = alloc_hard(cache, DRY_NODE_ANY);
	DRY_PROBE_2(drystone, refill, (uintptr_t)cache, (uintptr_t)object);
	dry_heap_balance(dry_heap_of(cache->caches));
	return object;
}

DRY_SLOW void *dry_heap_alloc_slow(struct dry_cache *cache)
{
	void *object = dry_heap_try_slow(cache);

	if (DRY_UNLIKELY(object == NULL))
		dry_heap_failed(cache);
	return object;
}

/* Whether there may be hits of a cache with DRY_CACHE_CHECKED: those below, for the usual ones are none (core/cache.h, `hits`). */
static bool has_checked_hits(const struct dry_cache *cache)
{
	return DRY_UNLIKELY(cache->flags & DRY_CACHE_CHECKED) && cache->state == DRY_CACHE_LIVE && cache->root->place != 0;
}

/* NULL: the slow path has to be taken. */
static void *checked_hit(struct dry_cache *root)
{
	void *object = dry_percpu_pop(DRY_SLOTS(root->caches), root->place);

	return object != NULL && DRY_LIKELY(root->caches->hooks->claim(root, object)) ? object : NULL;
}

/* false: as if it had not been called. */
static bool checked_free(struct dry_cache *root, void *object)
{
	const struct dry_debug_hooks *hooks = root->caches->hooks;

	if (!dry_backing_is_of(&root->caches->backing, object, root->place) || !hooks->release(root, object))
		return false;
	return DRY_LIKELY(dry_percpu_push(DRY_SLOTS(root->caches), root->place, object)) || !hooks->claim(root, object);
}

/* For the program; a cache of size classes is not asked for here. */
static DRY_SLOW void *alloc_missed(struct dry_cache *cache)
{
	const struct dry_secondary *secondary = dry_heap_secondary(dry_heap_of(cache->caches));
	void *object = has_checked_hits(cache) ? checked_hit(cache->root) : NULL;

	if (object != NULL)
		return object;
	dry_heap_takes(dry_heap_of(cache->caches));
	return DRY_UNLIKELY(secondary != NULL) ? secondary->object(cache) : dry_heap_alloc_slow(cache);
}

DRY_FAST void *alloc(struct dry_cache *cache)
{
	void *object = dry_fast_alloc(cache);

	return DRY_LIKELY(object != NULL) ? object : alloc_missed(cache);
}

static DRY_SLOW void free_missed(struct dry_cache *cache, void *object)
{
	const struct dry_secondary *secondary = dry_heap_secondary(&dry_main_heap);
	int saved;

	if (has_checked_hits(cache) && checked_free(cache->root, object))
		return;
	saved = dry_port_get_errno(); /* destructors may set it */
	dry_heap_gives(dry_heap_of(cache->caches));
	if (DRY_UNLIKELY(secondary != NULL))
		object = secondary->address(object);
	if (DRY_UNLIKELY(secondary != NULL) && cache->state == DRY_CACHE_LIVE && secondary->contains(object))
		secondary->free(cache, object);
	else
		dry_free_slow(cache, object);
	dry_port_set_errno(saved);
}

DRY_EXPORT void *dry_cache_alloc(dry_cache *cache)
{
	return alloc(cache);
}

DRY_EXPORT void *dry_cache_alloc_node(dry_cache *cache, unsigned node)
{
	int on = (int)(node % DRY_MAX_NODES);
	void *object;

	dry_heap_takes(dry_heap_of(cache->caches));
	object = dry_alloc_slow(cache, DRY_GFP_DEFAULT, on);
	if (DRY_UNLIKELY(object == NULL))
		object = alloc_hard(cache, on);
	if (DRY_UNLIKELY(object == NULL))
		dry_heap_failed(cache);
	dry_heap_balance(dry_heap_of(cache->caches));
	return object;
}

DRY_EXPORT void dry_cache_free(dry_cache *cache, void *object)
{
	if (DRY_UNLIKELY(!dry_fast_free(cache, object)))
		free_missed(cache, object);
}

DRY_EXPORT void *dry_cache_zalloc(dry_cache *cache)
{
	void *object;

	if (cache->root->ctor) {
		dry_port_set_errno(DRY_EINVAL);
		return NULL;
	}
	object = alloc(cache);
	return object != NULL ? memset(object, 0, cache->object_size) : NULL;
}

DRY_EXPORT size_t dry_cache_alloc_bulk(dry_cache *cache, size_t n, void **objects)
{
	size_t done = dry_alloc_bulk(cache, DRY_GFP_DEFAULT, n, objects);

	for (unsigned tries = 0; DRY_UNLIKELY(done < n) && try_again(cache, n, tries); tries++)
		done = dry_alloc_bulk(cache, DRY_GFP_DEFAULT, n, objects);
	dry_heap_balance(dry_heap_of(cache->caches));
	dry_heap_takes(dry_heap_of(cache->caches)); /* after them: they may be what makes the heap big */
	if (done < n)
		dry_heap_failed(cache);
	return done;
}

DRY_EXPORT size_t dry_cache_zalloc_bulk(dry_cache *cache, size_t n, void **objects)
{
	size_t done;

	if (cache->root->ctor) {
		dry_port_set_errno(DRY_EINVAL);
		return 0;
	}
	done = dry_cache_alloc_bulk(cache, n, objects);
	for (size_t i = 0; i < done; i++)
		memset(objects[i], 0, cache->object_size);
	return done;
}

#define FREED_OBJECTS ((size_t)4096)
#define FREED_BYTES   ((size_t)1 << 20)

/* Of n objects that are freed, those between two turns of the heap's keeper. No division for the few that most calls bring. */
static size_t freed_at_once(const struct dry_cache *cache, size_t n)
{
	size_t most = FREED_OBJECTS;

	if (DRY_LIKELY(n <= most && n * cache->object_size <= FREED_BYTES))
		return n;
	if (most > FREED_BYTES / cache->object_size)
		most = FREED_BYTES / cache->object_size;
	return n < most ? n : most | (most == 0);
}

DRY_EXPORT void dry_cache_free_bulk(dry_cache *cache, size_t n, void **objects)
{
	bool plain = DRY_LIKELY(dry_heap_secondary(&dry_main_heap) == NULL);
	int saved = dry_port_get_errno();

	for (size_t some; plain && n != 0; n -= some, objects += some) {
		some = freed_at_once(cache, n);
		dry_heap_gives(dry_heap_of(cache->caches));
		dry_free_bulk(cache, some, objects);
	}
	dry_port_set_errno(saved);
	for (size_t i = 0; i < n; i++)
		dry_cache_free(cache, objects[i]);
}

DRY_EXPORT int dry_cache_prefill(dry_cache *cache, size_t n)
{
	cache = cache->root;
	unsigned home = dry_caches_home(cache->caches);

	for (unsigned node = 0; n == 0 && node < cache->caches->nodes; node++) /* of whichever thread */
		dry_cache_reserve(cache, node, 0);
	bool done = dry_cache_reserve(cache, home, n);

	for (unsigned tries = 0; !done && try_again(cache, n, tries); tries++)
		done = dry_cache_reserve(cache, home, n);
	dry_heap_balance(dry_heap_of(cache->caches));
	return done ? 0 : -DRY_ENOMEM;
}

DRY_EXPORT size_t dry_cache_shrink(dry_cache *cache)
{
	size_t freed;

	dry_cache_empty(cache->root, &freed);
	if (dry_heap_of(cache->caches)->of_cache) /* which nobody else can trim */
		dry_arena_purge_all(dry_heap_arena(dry_heap_of(cache->caches)));
	return freed;
}
