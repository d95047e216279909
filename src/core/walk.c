/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "core/walk.h"

struct dry_cache *dry_caches_take_forgotten_locked(struct dry_caches *caches)
{
	struct dry_cache *taken = NULL, **end = &taken;

	while (caches->walks == NULL && caches->forgotten_count > DRY_FORGOTTEN) {
		struct dry_cache *oldest = caches->forgotten;
		caches->forgotten = oldest->alias;
		caches->forgotten_count--;
		oldest->alias = NULL;
		*end = oldest;
		end = &oldest->alias;
	}
	return taken;
}

void dry_caches_free_forgotten(struct dry_caches *caches, struct dry_cache *forgotten)
{
	while (forgotten != NULL) {
		struct dry_cache *next = forgotten->alias;
		dry_backing_meta_free(&caches->backing, forgotten, dry_cache_struct_bytes(caches));
		forgotten = next;
	}
}

static void end_walk(struct dry_caches *caches, struct dry_walk *walk)
{
	struct dry_walk **link = &caches->walks;

	dry_lock_acquire(&caches->lock);
	while (*link != walk)
		link = &(*link)->next;
	*link = walk->next;
	struct dry_cache *forgotten = dry_caches_take_forgotten_locked(caches);
	dry_lock_release(&caches->lock);
	dry_caches_free_forgotten(caches, forgotten);
}

int dry_caches_walk(struct dry_caches *caches, int (*fn)(dry_cache *, void *), void *arg)
{
	struct dry_walk walk = { .thread = dry_backing_self() };
	int rc = 0;

	dry_lock_acquire(&caches->lock);
	walk.next = caches->walks;
	caches->walks = &walk;
	for (struct dry_cache *cache = caches->first; cache != NULL && rc == 0; cache = cache->next) {
		if (cache->state != DRY_CACHE_LIVE)
			continue;
		dry_lock_release(&caches->lock);
		rc = fn(cache, arg);
		dry_lock_acquire(&caches->lock);
	}
	dry_lock_release(&caches->lock);
	end_walk(caches, &walk);
	return rc;
}

/* ---- memory from callbacks -------------------------------------------------------------- */

struct request {
	size_t wanted, got;
};

static int ask(dry_cache *cache, void *arg)
{
	struct dry_caches *caches = cache->caches;
	struct request *request = arg;

	/* whoever destroys it waits from here on */
	dry_lock_acquire(&caches->lock);
	size_t (*reclaim)(void *, size_t) = cache->state == DRY_CACHE_LIVE ? cache->reclaim : NULL;
	caches->asked = reclaim != NULL ? cache : NULL;
	dry_lock_release(&caches->lock);
	if (reclaim == NULL)
		return 0;
	request->got += reclaim(cache->arg, request->wanted - request->got);
	dry_lock_acquire(&caches->lock);
	caches->asked = NULL;
	dry_lock_release(&caches->lock);
	return request->got >= request->wanted;
}

bool dry_caches_reclaim(struct dry_caches *caches, size_t bytes)
{
	struct request request = { bytes, 0 };
	enum dry_asking_result asking = dry_asking_begin(&caches->reclaiming);

	/* Not one callback within another, nor by two threads: the second one may find what the first one got. */
	if (asking != DRY_ASKING_TAKEN)
		return asking == DRY_ASKING_WAITED;
	dry_caches_walk(caches, ask, &request);
	dry_asking_end(&caches->reclaiming);
	return request.got != 0;
}

static bool is_asked(struct dry_cache *cache)
{
	struct dry_caches *caches = cache->caches;

	dry_lock_acquire(&caches->lock);
	bool asked = caches->asked == cache;
	dry_lock_release(&caches->lock);
	return asked && !dry_asking_is_mine(&caches->reclaiming);
}

size_t (*dry_cache_stop_asking(struct dry_cache *cache))(void *, size_t)
{
	size_t (*reclaim)(void *, size_t) = cache->reclaim;

	if (reclaim == NULL)
		return NULL;
	dry_cache_ask_again(cache, NULL);
	while (is_asked(cache))
		dry_backing_pause();
	return reclaim;
}

void dry_cache_ask_again(struct dry_cache *cache, size_t (*reclaim)(void *, size_t))
{
	dry_lock_acquire(&cache->caches->lock);
	cache->reclaim = reclaim;
	dry_lock_release(&cache->caches->lock);
}

/* ---- fork --------------------------------------------------------------------------------- */

void dry_caches_before_fork_locked(struct dry_caches *caches)
{
	struct dry_walk *own = NULL, **own_end = &own, *others = NULL, *next;
	uintptr_t self = dry_backing_self();

	caches->own_walks = 0;
	for (struct dry_walk *walk = caches->walks; walk != NULL; walk = next) {
		next = walk->next;
		if (walk->thread == self) {
			*own_end = walk;
			own_end = &walk->next;
			caches->own_walks++;
		} else {
			walk->next = others;
			others = walk;
		}
	}
	*own_end = others;
	caches->walks = own;
}

void dry_caches_forked(struct dry_caches *caches)
{
	struct dry_walk **link = &caches->walks;

	dry_lock_acquire(&caches->lock);
	for (unsigned n = caches->own_walks; n > 0; n--)
		link = &(*link)->next;
	*link = NULL;
	if (!dry_asking_is_mine(&caches->reclaiming))
		caches->asked = NULL;
	dry_asking_forked(&caches->reclaiming);
	for (struct dry_cache *cache = caches->first; cache != NULL; cache = cache->next)
		for (uint32_t n = 0; cache->root == cache && n < caches->nodes; n++)
			cache->node[n].reserving = 0;
	struct dry_cache *forgotten = dry_caches_take_forgotten_locked(caches);
	dry_lock_release(&caches->lock);
	dry_caches_free_forgotten(caches, forgotten);
}
