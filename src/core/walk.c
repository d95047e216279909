/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "core/walk.h"

static void end_walk(struct dry_caches *caches)
{
	struct dry_cache *forgotten = NULL;

	dry_lock_acquire(&caches->lock);
	if (--caches->walks == 0) {
		forgotten = caches->forgotten;
		caches->forgotten = NULL;
	}
	dry_lock_release(&caches->lock);
	while (forgotten != NULL) {
		struct dry_cache *next = forgotten->alias;
		dry_backing_meta_free(&caches->backing, forgotten, dry_cache_struct_bytes(caches));
		forgotten = next;
	}
}

int dry_caches_walk(struct dry_caches *caches, int (*fn)(dry_cache *, void *), void *arg)
{
	int rc = 0;

	dry_lock_acquire(&caches->lock);
	caches->walks++;
	for (struct dry_cache *cache = caches->first; cache != NULL && rc == 0; cache = cache->next) {
		if (cache->state != DRY_CACHE_LIVE)
			continue;
		dry_lock_release(&caches->lock);
		rc = fn(cache, arg);
		dry_lock_acquire(&caches->lock);
	}
	dry_lock_release(&caches->lock);
	end_walk(caches);
	return rc;
}

struct request {
	size_t wanted, got;
};

static int ask(dry_cache *cache, void *arg)
{
	struct request *request = arg;

	if (cache->reclaim != NULL)
		request->got += cache->reclaim(cache->arg, request->wanted - request->got);
	return request->got >= request->wanted;
}

bool dry_caches_reclaim(struct dry_caches *caches, size_t bytes)
{
	struct request request = { bytes, 0 };

	/* Not one callback within another, nor by two threads: the second one may find what the first one got. */
	if (atomic_exchange_explicit(&caches->reclaiming, true, memory_order_acquire))
		return false;
	dry_caches_walk(caches, ask, &request);
	atomic_store_explicit(&caches->reclaiming, false, memory_order_release);
	return request.got != 0;
}
