/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "core/create.h"

#include <drystone/experiment.h>

#include "base/error.h"
#include "base/fatal.h"
#include "base/memory.h"
#include "base/rank.h"
#include "core/batch.h"
#include "core/countdown.h"
#include "core/depot.h"
#include "core/layout.h"
#include "core/reap.h"
#include "core/slots.h"
#include "core/walk.h"

#define EMPTY_TRIES 100 /* each waits a tenth of a second for threads inside of a sequence */

static const struct dry_debug_hooks no_hooks;

bool dry_caches_init(struct dry_caches *caches, unsigned slots, unsigned nodes, size_t area_size, bool main_heap)
{
	caches->areas = dry_backing_meta_alloc(&caches->backing, slots * sizeof(char *));
	if (caches->areas == NULL)
		return false;
	for (unsigned i = 0; i < slots; i++)
		caches->areas[i] = caches->slots[i] = dry_stopped_area;
	caches->slots[slots] = dry_stopped_area;
	caches->slot_count = slots;
	caches->remembered = main_heap;
	caches->nodes = nodes;
	caches->area_size = area_size;
	caches->area_reach = area_size < DRY_AREA_FIRST ? area_size : DRY_AREA_FIRST;
	caches->nowhere = dry_stopped_area;
	caches->area_map[0] = 1; /* place 0 is the stopped array */
	caches->end = &caches->first;
	caches->forgotten_end = &caches->forgotten;
	if (caches->hooks == NULL)
		caches->hooks = &no_hooks;
	dry_lock_init(&caches->lock, main_heap ? DRY_RANK_MAIN_CACHES : DRY_RANK_CACHES);
	dry_lock_init(&caches->reap_lock, main_heap ? DRY_RANK_MAIN_REAP : DRY_RANK_REAP);
	return true;
}

void dry_caches_fini(struct dry_caches *caches)
{
	for (struct dry_cache *cache = caches->first; cache != NULL; cache = cache->next)
		for (uint32_t n = 0; cache->root == cache && cache->place != 0 && n < caches->nodes; n++)
			dry_depots_release(cache, &cache->node[n]);
	for (uint32_t slot = 0; slot < caches->slot_count; slot++)
		if (caches->areas[slot] != dry_stopped_area)
			dry_backing_area_free(&caches->backing, caches->areas[slot], 0, caches->area_reach, caches->area_size);
	if (caches->nowhere != dry_stopped_area)
		dry_backing_meta_free(&caches->backing, caches->nowhere, dry_slot_nowhere_bytes(caches));
	dry_backing_meta_free(&caches->backing, caches->areas, caches->slot_count * sizeof(char *));
	dry_caches_free_forgotten(caches, caches->forgotten);
}

/* ---- making ------------------------------------------------------------------------- */

static void set_name(struct dry_cache *cache, const char *name)
{
	size_t n = 0;

	for (; n < sizeof(cache->name) - 1 && name[n] != '\0'; n++)
		cache->name[n] = name[n];
	memset(cache->name + n, 0, sizeof(cache->name) - n);
}

static void init_struct(struct dry_cache *cache, struct dry_caches *caches, const char *name)
{
	memset(cache, 0, sizeof(*cache));
	cache->caches = caches;
	cache->root = cache;
	set_name(cache, name);
	for (uint32_t n = 0; n < caches->nodes; n++)
		dry_node_init(&cache->node[n]);
}

static void list_append_locked(struct dry_caches *caches, struct dry_cache *cache)
{
	cache->next = NULL;
	cache->link = caches->end;
	*caches->end = cache;
	caches->end = &cache->next;
	if (cache->root == cache)
		caches->count++;
}

static void list_remove_locked(struct dry_caches *caches, struct dry_cache *cache)
{
	*cache->link = cache->next;
	if (cache->next != NULL)
		cache->next->link = cache->link;
	else
		caches->end = cache->link;
	if (cache->root == cache)
		caches->count--;
}

static void alias_add_locked(struct dry_cache *root, struct dry_cache *alias)
{
	alias->alias = root->alias;
	alias->alias_link = &root->alias;
	if (root->alias != NULL)
		root->alias->alias_link = &alias->alias;
	root->alias = alias;
}

static void alias_remove_locked(struct dry_cache *alias)
{
	*alias->alias_link = alias->alias;
	if (alias->alias != NULL)
		alias->alias->alias_link = alias->alias_link;
}

/* Places for the arrays; without room the cache works without. Debugged caches never have any. */
static void place_locked(struct dry_cache *cache)
{
	if (cache->debug != NULL || (cache->flags & DRY_CACHE_NO_ARRAYS) || cache->caches->hooks->no_arrays)
		return;
	cache->room = cache->limit;
	cache->countdowns = cache->caches->counted && dry_countdown_suits(cache) ? DRY_COUNTDOWNS_ON : DRY_COUNTDOWNS_NEVER;
	cache->place = dry_slot_place_locked(cache);
	cache->hits = cache->flags & DRY_CACHE_CHECKED ? 0 : cache->place;
}

static void unplace_locked(struct dry_cache *cache)
{
	dry_slot_unplace_locked(cache, cache->place);
	cache->hits = cache->place = 0;
}

/* Whether caches made with these may share slabs. */
static bool is_mergeable(const struct dry_cache_attr *attr)
{
	return attr->ctor == NULL && attr->dtor == NULL && attr->reclaim == NULL && attr->limit == 0 &&
	       (attr->flags & ~(DRY_CACHE_HWALIGN | DRY_CACHE_CHECKED)) == 0;
}

/* A root cache whose slabs will do; caller holds the lock. */
static struct dry_cache *find_root_locked(struct dry_caches *caches, const struct dry_cache_attr *attr)
{
	size_t align = dry_cache_align(attr), size = (attr->size + align - 1) & ~(align - 1);

	for (struct dry_cache *cache = caches->first; cache != NULL; cache = cache->next)
		if (cache->root == cache && cache->mergeable && cache->size == size && cache->align >= align)
			return cache;
	return NULL;
}

static bool make_alias(struct dry_cache *alias, struct dry_caches *caches, const struct dry_cache_attr *attr)
{
	if (!is_mergeable(attr))
		return false;
	dry_lock_acquire(&caches->lock);
	struct dry_cache *root = find_root_locked(caches, attr);
	if (root != NULL) {
		init_struct(alias, caches, attr->name);
		alias->root = root;
		alias->place = root->place;
		alias->hits = root->hits;
		alias->flags = attr->flags;
		alias->object_size = attr->size;
		alias->align = dry_cache_align(attr);
		alias->state = DRY_CACHE_LIVE;
		alias_add_locked(root, alias);
		list_append_locked(caches, alias);
	}
	dry_lock_release(&caches->lock);
	return root != NULL;
}

/* false: its layout cannot be. */
static bool make_root(struct dry_cache *cache, struct dry_caches *caches, const struct dry_cache_attr *attr)
{
	init_struct(cache, caches, attr->name);
	if (!dry_cache_layout(cache, attr))
		return false;
	for (uint32_t n = 0; n < caches->nodes; n++)
		cache->node[n].free_limit = 1 + 2 * cache->limit / cache->num;
	cache->mergeable = cache->debug == NULL && is_mergeable(attr);
	dry_lock_acquire(&caches->lock);
	place_locked(cache);
	cache->state = DRY_CACHE_LIVE;
	list_append_locked(caches, cache);
	dry_lock_release(&caches->lock);
	return true;
}

/* Not inlined: what it holds is not to lie below the memory for the cache, which may be new from the system. */
static DRY_NOINLINE struct dry_cache *make_in(struct dry_cache *cache, struct dry_caches *caches, const struct dry_cache_attr *attr,
					      int *error)
{
	struct dry_cache_attr more = *attr;

	if (caches->hooks->wanted != NULL)
		more.flags |= caches->hooks->wanted(attr);
	if (make_alias(cache, caches, &more) || make_root(cache, caches, &more))
		return cache;
	/* An object too big to be debugged: then without. */
	if (more.flags != attr->flags && make_root(cache, caches, attr))
		return cache;
	*error = DRY_EINVAL;
	dry_backing_meta_free(&caches->backing, cache, dry_cache_struct_bytes(caches));
	return NULL;
}

struct dry_cache *dry_cache_make(struct dry_caches *caches, const struct dry_cache_attr *attr, int *error)
{
	struct dry_cache *cache = dry_backing_meta_alloc(&caches->backing, dry_cache_struct_bytes(caches));

	*error = DRY_ENOMEM;
	return cache != NULL ? make_in(cache, caches, attr, error) : NULL;
}

/* ---- destroying --------------------------------------------------------------------- */

/* Its struct is free once it is the oldest, and every walk has left it. */
static void forget(struct dry_cache *cache)
{
	struct dry_caches *caches = cache->caches;
	struct dry_cache *free;

	dry_lock_acquire(&caches->lock);
	cache->state = DRY_CACHE_DEAD;
	cache->hits = cache->place = 0;
	cache->root = cache; /* the struct of another one may be free before */
	cache->alias = NULL;
	*caches->forgotten_end = cache;
	caches->forgotten_end = &cache->alias;
	caches->forgotten_count++;
	free = dry_caches_take_forgotten_locked(caches);
	dry_lock_release(&caches->lock);
	dry_caches_free_forgotten(caches, free);
}

/* relaxed: with the lock, or by who must not use it any more */
static bool is_orphan(const struct dry_cache *cache)
{
	return atomic_load_explicit(&cache->orphan, memory_order_relaxed);
}

/* With aliases left, the slabs live on under the name of one of them. Without, no new ones can come from here on. */
static bool has_aliases(struct dry_cache *root)
{
	bool left;

	dry_lock_acquire(&root->caches->lock);
	left = root->alias != NULL;
	root->mergeable &= left;
	if (left) {
		atomic_store_explicit(&root->orphan, true, memory_order_relaxed);
		memcpy(root->name, root->alias->name, sizeof(root->name));
	}
	dry_lock_release(&root->caches->lock);
	return left;
}

/* After a shrink: what is not in the slabs is with the program. */
static size_t objects_out(const struct dry_cache *cache)
{
	size_t objects = dry_node_objects(cache);

	for (uint32_t n = 0; n < cache->caches->nodes; n++)
		objects -= atomic_load_explicit(&cache->node[n].free_objects, memory_order_relaxed);
	return objects;
}

/* Alias: the last one of a root that was destroyed by name, which goes with it; or NULL. */
static int destroy_root(struct dry_cache *cache, struct dry_cache *alias)
{
	struct dry_caches *caches = cache->caches;
	size_t (*reclaim)(void *, size_t) = dry_cache_stop_asking(cache);
	size_t freed;

	for (uint32_t n = 0; n < caches->nodes; n++)
		atomic_store_explicit(&cache->node[n].reserved, 0, memory_order_relaxed);
	/* What arrays still hold must not be taken for objects in use. */
	for (unsigned tries = 0; tries < EMPTY_TRIES && !dry_cache_empty(cache, &freed);)
		tries++;
	if (dry_node_slabs(cache) != 0) {
		dry_backing_warn("cache %s: %zu objects still allocated at destroy", cache->name, objects_out(cache));
		if (cache->debug != NULL && cache->debug->left_over != NULL)
			cache->debug->left_over(cache);
		dry_cache_ask_again(cache, reclaim);
		return -DRY_EBUSY;
	}
	if (atomic_load_explicit(&cache->deferred, memory_order_acquire) != 0)
		(*caches->grace->barrier)(caches->grace->arg); /* a kernel has a macro of that name */
	dry_lock_acquire(&caches->lock);
	dry_cache_add_counters_locked(cache, caches->gone);
	list_remove_locked(caches, cache);
	if (alias != NULL) /* only now: until here it may turn out to stay, and its place is known to walks */
		list_remove_locked(caches, alias);
	unplace_locked(cache);
	cache->state = DRY_CACHE_DEAD; /* a walk may still stand on it: no more figures */
	dry_lock_release(&caches->lock);
	for (uint32_t n = 0; n < caches->nodes; n++)
		dry_depots_release(cache, &cache->node[n]);
	forget(cache);
	return 0;
}

static int destroy_alias(struct dry_cache *alias)
{
	struct dry_caches *caches = alias->caches;
	struct dry_cache *root = alias->root;
	bool last;
	int rc = 0;

	dry_lock_acquire(&caches->lock);
	last = is_orphan(root) && root->alias == alias && alias->alias == NULL;
	if (last) {
		root->mergeable = false;
	} else {
		alias_remove_locked(alias);
		list_remove_locked(caches, alias);
		if (is_orphan(root)) /* which may have had the name of this one */
			memcpy(root->name, root->alias->name, sizeof(root->name));
	}
	dry_lock_release(&caches->lock);
	if (last)
		rc = destroy_root(root, alias);
	if (rc == 0) /* else objects are out: it stays what it was */
		forget(alias);
	return rc;
}

int dry_cache_unmake(struct dry_cache *cache)
{
	if (cache == NULL)
		return 0;
	if (cache->state != DRY_CACHE_LIVE || is_orphan(cache)) {
		dry_backing_corrupt(DRY_FATAL_DEAD_CACHE, cache, NULL, "destroy");
		return -DRY_EINVAL;
	}
	if (cache->root != cache)
		return destroy_alias(cache);
	return has_aliases(cache) ? 0 : destroy_root(cache, NULL);
}
