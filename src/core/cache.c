/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Caches: creation, merging, aliases, destruction, figures. */
#include "core/cache.h"

#include <string.h>

#include "base/error.h"
#include "base/fatal.h"
#include "base/fmt.h"
#include "core/debug_ops.h"
#include "core/node.h"
#include "core/slab.h"

#define KNOWN_FLAGS                                                                                   \
	(DRY_CACHE_HWALIGN | DRY_CACHE_NO_MERGE | DRY_CACHE_TYPESAFE_BY_RCU | DRY_CACHE_DEBUG |       \
	 DRY_CACHE_TYPE_MASK | DRY_CACHE_SMALL_SLABS | DRY_CACHE_NO_ARRAYS | DRY_CACHE_ATTACH_FIRST)
/* No secure cache: memory that may be read after its free, or a type that was asked for. */
#define UNSUITED (DRY_CACHE_TYPESAFE_BY_RCU | DRY_CACHE_POISON | DRY_CACHE_TYPE_MASK)
#define MAX_SIZE  ((size_t)4 << 20)
#define MAX_ALIGN 65536u
#define EMPTY_TRIES 100 /* each waits some 20 ms for threads inside of a sequence */

bool dry_caches_plain, dry_caches_secure;

static bool valid(const struct dry_heap *heap, const struct dry_cache_attr *attr)
{
	unsigned type = attr->flags & DRY_CACHE_TYPE_MASK;

	if (attr->name == NULL || attr->name[0] == '\0' || attr->size == 0 || attr->size > MAX_SIZE)
		return false;
	if ((attr->align & (attr->align - 1)) != 0 || attr->align > MAX_ALIGN || attr->limit > DRY_MAX_LIMIT)
		return false;
	if ((attr->flags & ~KNOWN_FLAGS) != 0 || type > DRY_CACHE_PUBLISHED_2015)
		return false;
	if ((attr->flags & DRY_CACHE_TYPESAFE_BY_RCU) && heap->grace == NULL)
		return false;
	if ((attr->flags & DRY_CACHE_POISON) && (attr->ctor || (attr->flags & DRY_CACHE_TYPESAFE_BY_RCU)))
		return false;
	return true;
}

static void init_struct(struct dry_cache *cache, struct dry_heap *heap, const char *name)
{
	memset(cache, 0, sizeof(*cache));
	cache->heap = heap;
	cache->root = cache;
	dry_format(cache->name, sizeof(cache->name), "%s", name);
	for (uint32_t n = 0; n < heap->nodes; n++)
		dry_node_init(&cache->node[n]);
}

static void list_append_locked(struct dry_heap *heap, struct dry_cache *cache)
{
	cache->next = NULL;
	*heap->caches_end = cache;
	heap->caches_end = &cache->next;
	if (cache->root == cache)
		heap->cache_count++;
}

static void list_remove_locked(struct dry_heap *heap, struct dry_cache *cache)
{
	struct dry_cache **link = &heap->caches;

	while (*link != cache)
		link = &(*link)->next;
	*link = cache->next;
	if (heap->caches_end == &cache->next)
		heap->caches_end = link;
	if (cache->root == cache)
		heap->cache_count--;
}

/* Places for the arrays; without room the cache works without. Debugged caches never have any. */
static void place_locked(struct dry_cache *cache)
{
	if (cache->debug != NULL || cache->annotated || (cache->flags & DRY_CACHE_NO_ARRAYS) ||
	    (dry_caches_plain && cache->heap->is_default))
		return;
	cache->alloc_at = dry_slot_place_locked(cache, cache->split);
	cache->free_at = cache->alloc_at;
	if (cache->split && cache->alloc_at != 0) {
		cache->free_at = dry_slot_place_locked(cache, false);
		if (cache->free_at == 0) {
			dry_slot_unplace_locked(cache, cache->alloc_at);
			cache->alloc_at = 0;
		}
	}
	cache->pop_at = cache->split ? 0 : cache->alloc_at;
}

static void unplace_locked(struct dry_cache *cache)
{
	dry_slot_unplace_locked(cache, cache->alloc_at);
	if (cache->split)
		dry_slot_unplace_locked(cache, cache->free_at);
	cache->pop_at = cache->alloc_at = cache->free_at = 0;
}

int dry_cache_init(struct dry_cache *cache, struct dry_heap *heap, const struct dry_cache_attr *attr, bool split)
{
	int rc;

	init_struct(cache, heap, attr->name);
	rc = dry_cache_layout(cache, attr);
	if (rc != 0)
		return rc;
	cache->split = split;
	if (cache->mgmt == DRY_MGMT_OFF_SLAB) {
		cache->freelist_cache = dry_freelist_cache(heap, (size_t)cache->waste);
		if (cache->freelist_cache == NULL)
			return -DRY_ENOMEM;
	}
	for (uint32_t n = 0; n < heap->nodes; n++)
		/* A class's first objects come once. */
		cache->node[n].free_limit = (cache->flags & DRY_CACHE_SECURE) && !dry_caches_secure ?
						    0 :
						    1 + 2 * cache->limit / cache->num;
	dry_lock_acquire(&heap->lock);
	place_locked(cache);
	cache->state = DRY_CACHE_LIVE;
	list_append_locked(heap, cache);
	dry_lock_release(&heap->lock);
	return 0;
}

struct dry_cache *dry_freelist_cache(struct dry_heap *heap, size_t size)
{
	char name[] = "freelist-00000";
	struct dry_cache *found = NULL;
	size_t digits = size, page = (size_t)1 << heap->arena.page_shift;
	/* Never OFF_SLAB itself; a page of 16 KiB or more holds too many small arrays for a bitmap. */
	uint32_t flags = DRY_CACHE_NO_MERGE | (page / size <= 256 ? DRY_CACHE_BITMAP : DRY_CACHE_CHAIN);

	for (size_t i = sizeof(name) - 2; i >= 9; i--, digits /= 10)
		name[i] = (char)('0' + digits % 10);
	dry_lock_acquire(&heap->lock);
	for (struct dry_cache *cache = heap->caches; cache != NULL; cache = cache->next)
		if (memcmp(cache->name, name, sizeof(name)) == 0 && cache->root == cache && cache->object_size == size &&
		    cache->flags == flags && cache->ctor == NULL)
			found = cache;
	dry_lock_release(&heap->lock);
	if (found != NULL)
		return found;
	struct dry_cache_attr attr = { .name = name, .size = size, .flags = flags };
	return dry_cache_create(heap, &attr);
}

/* A root cache whose slabs will do; caller holds heap->lock. */
static struct dry_cache *mergeable_locked(struct dry_heap *heap, const struct dry_cache_attr *attr)
{
	size_t align = dry_cache_align(attr);

	if (attr->ctor || attr->limit != 0 || (attr->flags & ~DRY_CACHE_HWALIGN) != 0)
		return NULL;
	size_t size = (attr->size + align - 1) & ~(align - 1);
	for (struct dry_cache *cache = heap->caches; cache != NULL; cache = cache->next)
		if (cache->root == cache && cache->mergeable && cache->size == size && cache->align >= align)
			return cache;
	return NULL;
}

static struct dry_cache *make_alias(struct dry_heap *heap, struct dry_cache *alias, const struct dry_cache_attr *attr)
{
	dry_lock_acquire(&heap->lock);
	struct dry_cache *root = mergeable_locked(heap, attr);
	if (root != NULL) {
		init_struct(alias, heap, attr->name);
		alias->root = root;
		alias->pop_at = root->pop_at;
		alias->alloc_at = root->alloc_at;
		alias->free_at = root->free_at;
		alias->flags = attr->flags;
		alias->object_size = attr->size;
		alias->state = DRY_CACHE_LIVE;
		alias->alias = root->alias;
		root->alias = alias;
		list_append_locked(heap, alias);
	}
	dry_lock_release(&heap->lock);
	return root != NULL ? alias : NULL;
}

/* What the options ask for besides. Free objects that somebody may look at cannot be poisoned. */
static unsigned debug_flags(const struct dry_cache_attr *attr)
{
	unsigned flags = dry_debug_wanted(attr->name);

	if (attr->ctor || (attr->flags & DRY_CACHE_TYPESAFE_BY_RCU))
		flags &= ~DRY_CACHE_POISON;
	return flags & ~attr->flags;
}

struct dry_cache *dry_cache_create_split(struct dry_heap *heap, const struct dry_cache_attr *attr, bool split)
{
	struct dry_cache *cache = dry_cache_alloc(&heap->cache_cache);
	struct dry_cache_attr debugged = *attr;
	int rc = -DRY_EINVAL;

	if (cache == NULL) {
		dry_port_set_errno(DRY_ENOMEM);
		return NULL;
	}
	debugged.flags |= debug_flags(attr);
	if (!split && make_alias(heap, cache, &debugged) != NULL)
		return cache;
	if (debugged.flags != attr->flags)
		rc = dry_cache_init(cache, heap, &debugged, split);
	if (rc == -DRY_EINVAL) /* not debugged, or an object too big to be */
		rc = dry_cache_init(cache, heap, attr, split);
	if (rc != 0) {
		cache->state = DRY_CACHE_DEAD;
		dry_cache_free(&heap->cache_cache, cache);
		dry_port_set_errno(-rc);
		return NULL;
	}
	bool mergeable = !split && !cache->annotated && cache->debug == NULL && attr->ctor == NULL &&
			 attr->limit == 0 && (attr->flags & ~DRY_CACHE_HWALIGN) == 0;
	dry_lock_acquire(&heap->lock); /* it is on the list already */
	cache->mergeable = mergeable;
	dry_lock_release(&heap->lock);
	return cache;
}

DRY_EXPORT dry_cache *dry_cache_create(dry_heap *heap, const struct dry_cache_attr *attr)
{
	heap = dry_heap_get(heap);
	if (heap == NULL)
		return NULL;
	if (attr == NULL || !valid(heap, attr)) {
		dry_port_set_errno(DRY_EINVAL);
		return NULL;
	}
	if (DRY_UNLIKELY(dry_caches_secure) && heap->is_default && (attr->flags & UNSUITED) == 0) {
		struct dry_cache_attr secure = *attr;
		secure.flags |= DRY_CACHE_NO_MERGE | DRY_CACHE_SECURE;
		return dry_cache_create_split(heap, &secure, false);
	}
	return dry_cache_create_split(heap, attr, false);
}

/* ---- destroy ---------------------------------------------------------------------- */

/* Its struct is free, but not before every walk has left it. */
static void forget(struct dry_cache *cache)
{
	struct dry_heap *heap = cache->heap;
	bool walked;

	dry_lock_acquire(&heap->lock);
	cache->state = DRY_CACHE_DEAD;
	cache->pop_at = cache->alloc_at = cache->free_at = 0;
	walked = heap->walks != 0;
	if (walked) {
		cache->alias = heap->forgotten;
		heap->forgotten = cache;
	}
	dry_lock_release(&heap->lock);
	if (!walked)
		dry_cache_free(&heap->cache_cache, cache);
}

static int destroy_alias(struct dry_cache *alias)
{
	struct dry_heap *heap = alias->heap;
	struct dry_cache *root = alias->root, **link;
	bool last;

	dry_lock_acquire(&heap->lock);
	for (link = &root->alias; *link != alias; link = &(*link)->alias)
		;
	*link = alias->alias;
	list_remove_locked(heap, alias);
	last = root->orphan && root->alias == NULL;
	if (last)
		root->orphan = root->mergeable = false;
	dry_lock_release(&heap->lock);
	if (last) {
		int rc = dry_cache_destroy(root);
		if (rc != 0) {
			/* Objects are out: it stays what it was. */
			dry_lock_acquire(&heap->lock);
			root->orphan = true;
			alias->alias = root->alias;
			root->alias = alias;
			list_append_locked(heap, alias);
			dry_lock_release(&heap->lock);
			return rc;
		}
	}
	forget(alias);
	return 0;
}

/*
 * With aliases left, the slabs live on under the name of one of them. Without, no
 * new ones can come from here on.
 */
static bool orphaned(struct dry_cache *root)
{
	bool has_aliases;

	dry_lock_acquire(&root->heap->lock);
	has_aliases = root->alias != NULL;
	root->mergeable &= has_aliases;
	if (has_aliases) {
		root->orphan = true;
		memcpy(root->name, root->alias->name, sizeof(root->name));
	}
	dry_lock_release(&root->heap->lock);
	return has_aliases;
}

/* After a shrink: what is not in the slabs is with the program. */
static size_t objects_out(const struct dry_cache *cache)
{
	size_t objects = dry_node_slabs(cache) * cache->num;

	for (uint32_t n = 0; n < cache->heap->nodes; n++)
		objects -= atomic_load_explicit(&cache->node[n].free_objects, memory_order_relaxed);
	return objects;
}

void dry_cache_release_depots(struct dry_cache *cache)
{
	struct dry_arena *arena = &cache->heap->arena;

	for (uint32_t n = 0; n < cache->heap->nodes; n++) {
		struct dry_node *node = &cache->node[n];
		for (uint32_t i = 0; node->alien != NULL && i < cache->heap->nodes; i++)
			if (node->alien[i].entry != NULL)
				dry_arena_free(arena, dry_arena_run_of(arena, node->alien[i].entry));
		if (node->alien != NULL)
			dry_arena_free(arena, dry_arena_run_of(arena, node->alien));
		if (node->shared.entry != NULL)
			dry_arena_free(arena, dry_arena_run_of(arena, node->shared.entry));
		dry_node_init(node);
	}
}

DRY_EXPORT int dry_cache_destroy(dry_cache *cache)
{
	struct dry_heap *heap;
	size_t freed;

	if (cache == NULL)
		return 0;
	if (cache->state != DRY_CACHE_LIVE) {
		dry_fatal(DRY_FATAL_DEAD_CACHE, cache, NULL, "destroy");
		return -DRY_EINVAL;
	}
	if (cache->root != cache)
		return destroy_alias(cache);
	if (orphaned(cache))
		return 0;
	heap = cache->heap;
	for (uint32_t n = 0; n < heap->nodes; n++)
		atomic_store_explicit(&cache->node[n].reserved, 0, memory_order_relaxed);
	/* What array caches still hold must not be taken for objects in use. */
	for (unsigned tries = 0; tries < EMPTY_TRIES && !dry_cache_empty(cache, &freed);)
		tries++;
	if (dry_node_slabs(cache) != 0) {
		dry_warn("cache %s: %zu objects still allocated at destroy", cache->name, objects_out(cache));
		if (cache->debug != NULL && cache->debug->left_over != NULL)
			cache->debug->left_over(cache);
		return -DRY_EBUSY;
	}
	if (atomic_load_explicit(&cache->deferred, memory_order_acquire) != 0)
		heap->grace->barrier(heap->grace->arg);
	dry_lock_acquire(&heap->lock);
	list_remove_locked(heap, cache);
	unplace_locked(cache);
	cache->state = DRY_CACHE_DEAD; /* a walk may still stand on it: no more figures */
	dry_lock_release(&heap->lock);
	dry_cache_release_depots(cache);
	forget(cache);
	return 0;
}

static void end_walk(struct dry_heap *heap)
{
	struct dry_cache *forgotten = NULL;

	dry_lock_acquire(&heap->lock);
	if (--heap->walks == 0) {
		forgotten = heap->forgotten;
		heap->forgotten = NULL;
	}
	dry_lock_release(&heap->lock);
	while (forgotten != NULL) {
		struct dry_cache *next = forgotten->alias;
		dry_cache_free(&heap->cache_cache, forgotten);
		forgotten = next;
	}
}

/*
 * Without the lock while fn runs, which may allocate. Others may destroy the cache that the walk stands on, and those
 * behind it: their structs stay as they are, so that `next` leads on.
 */
DRY_EXPORT int dry_heap_for_each_cache(dry_heap *heap, int (*fn)(dry_cache *, void *), void *arg)
{
	struct dry_cache *cache;
	int rc = 0;

	heap = dry_heap_get(heap);
	if (heap == NULL)
		return 0;
	dry_lock_acquire(&heap->lock);
	heap->walks++;
	for (cache = heap->caches; cache != NULL && rc == 0; cache = cache->next) {
		if (cache->state != DRY_CACHE_LIVE)
			continue;
		dry_lock_release(&heap->lock);
		rc = fn(cache, arg);
		dry_lock_acquire(&heap->lock);
	}
	dry_lock_release(&heap->lock);
	end_walk(heap);
	return rc;
}
