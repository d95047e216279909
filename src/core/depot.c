/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The memory of a depot comes at its first use; small sets of caches and small machines go without. */
#include "core/depot.h"

#include "base/memory.h"
#include "base/rank.h"

/* How much more than usual depots may grow to hold: objects, in bytes, of all caches together; and pointers, of one. */
#ifndef DRY_DEPOTS_GROWN /* a backing may want less */
#define DRY_DEPOTS_GROWN ((size_t)32 << 20)
#endif
#define GROWN_LIMIT 131072u
#define ROOM 8 /* times what is needed there is memory for, once a depot grows */

static uint32_t avail_of(const struct dry_depot *depot)
{
	/* relaxed: exact under the lock, a hint without */
	return atomic_load_explicit(&depot->avail, memory_order_relaxed);
}

static void set_avail_locked(struct dry_depot *depot, uint32_t avail)
{
	atomic_store_explicit(&depot->avail, avail, memory_order_relaxed);
}

static bool move_locked(struct dry_cache *cache, struct dry_depot *depot, uint32_t room)
{
	void **entry = dry_backing_meta_raw(&cache->caches->backing, room * sizeof(void *));

	if (entry == NULL)
		return false;
	memcpy(entry, depot->entry, avail_of(depot) * sizeof(void *));
	dry_backing_meta_free(&cache->caches->backing, depot->entry, depot->room * sizeof(void *));
	depot->entry = entry;
	depot->room = room;
	return true;
}

static void set_limit_locked(struct dry_depot *depot, uint32_t limit)
{
	/* relaxed: exact under the lock, a hint without */
	__atomic_store_n(&depot->limit, limit, __ATOMIC_RELAXED);
}

/* Where it lies, if there is room; or else in memory for more than that, which takes no page before it is used. */
static bool double_locked(struct dry_cache *cache, struct dry_depot *depot)
{
	uint32_t limit = 2 * depot->limit, room = limit > GROWN_LIMIT / ROOM ? GROWN_LIMIT : limit * ROOM;

	if (depot->room < limit && !move_locked(cache, depot, room))
		return false;
	set_limit_locked(depot, limit);
	return true;
}

static void set_fits(struct dry_depot *depot, bool fits)
{
	/* relaxed: exact under the lock, a hint without */
	atomic_store_explicit(&depot->fits, fits, memory_order_relaxed);
}

/*
 * What found no room went into slabs, and was fetched from there after the depot had been emptied: twice as much is kept
 * from now on, until housekeeping finds that it is not needed.
 */
static void grow_locked(struct dry_cache *cache, struct dry_depot *depot)
{
	size_t more = depot->limit * cache->size;
	_Atomic size_t *grown = &cache->caches->depots_grown;

	if (depot->alien || 2 * depot->limit > GROWN_LIMIT)
		return;
	/* relaxed: nothing but a sum */
	if (atomic_fetch_add_explicit(grown, more, memory_order_relaxed) + more <= DRY_DEPOTS_GROWN &&
	    double_locked(cache, depot))
		depot->grown += more;
	else
		atomic_fetch_sub_explicit(grown, more, memory_order_relaxed);
}

/* The memory comes before the lock: who gives it may allocate here itself (Linux's page_owner does), from another depot. */
static void begin(struct dry_cache *cache, struct dry_depot *depot, uint32_t room)
{
	void **entry = dry_backing_meta_raw(&cache->caches->backing, room * sizeof(void *));

	dry_lock_acquire(&depot->lock);
	if (depot->limit == 0 && entry != NULL) {
		depot->entry = entry;
		depot->room = room;
		set_limit_locked(depot, room);
		entry = NULL;
	}
	set_fits(depot, depot->limit != 0);
	dry_lock_release(&depot->lock);
	if (entry != NULL) /* another thread was first */
		dry_backing_meta_free(&cache->caches->backing, entry, room * sizeof(void *));
}

void dry_depot_prepare(struct dry_cache *cache, struct dry_depot *depot, unsigned batches)
{
	if (DRY_LIKELY(atomic_load_explicit(&depot->fits, memory_order_relaxed)) || dry_caches_small(cache->caches))
		return;
	if (__atomic_load_n(&depot->limit, __ATOMIC_RELAXED) == 0) {
		begin(cache, depot, batches * cache->batchcount);
		return;
	}
	dry_lock_acquire(&depot->lock);
	if (depot->limit != 0)
		grow_locked(cache, depot);
	set_fits(depot, depot->limit != 0);
	dry_lock_release(&depot->lock);
}

static void **room_locked(struct dry_depot *depot, unsigned least, unsigned *room)
{
	uint32_t avail = avail_of(depot);

	*room = depot->limit - avail;
	if (*room >= least)
		return depot->entry + avail;
	depot->overflowed = true;
	depot->moves++;
	return NULL;
}

static void filled_locked(struct dry_depot *depot, unsigned count)
{
	set_avail_locked(depot, avail_of(depot) + count);
	depot->moves++;
}

bool dry_depot_put(struct dry_depot *depot, void *const *objects, unsigned count)
{
	unsigned room;

	dry_lock_acquire(&depot->lock);
	void **entries = room_locked(depot, count, &room);
	if (entries != NULL) {
		memcpy(entries, objects, count * sizeof(void *));
		filled_locked(depot, count);
	}
	dry_lock_release(&depot->lock);
	return entries != NULL;
}

void **dry_depot_room(struct dry_depot *depot, unsigned max, unsigned *count)
{
	void **entries;

	dry_lock_acquire(&depot->lock);
	entries = room_locked(depot, 1, count);
	if (*count > max)
		*count = max;
	if (entries == NULL)
		dry_lock_release(&depot->lock);
	return entries;
}

void dry_depot_filled(struct dry_depot *depot, unsigned count)
{
	filled_locked(depot, count);
	dry_lock_release(&depot->lock);
}

void **dry_depot_newest(struct dry_depot *depot, unsigned max, unsigned *count)
{
	if (avail_of(depot) == 0)
		return NULL;
	dry_lock_acquire(&depot->lock);
	uint32_t avail = avail_of(depot);
	*count = avail < max ? avail : max;
	if (avail != 0)
		return depot->entry + avail - *count;
	dry_lock_release(&depot->lock);
	return NULL;
}

static void leave_locked(struct dry_depot *depot, uint32_t left)
{
	set_avail_locked(depot, left);
	if (left < depot->low)
		depot->low = left;
	if (left == 0 && depot->overflowed) {
		set_fits(depot, false);
		depot->overflowed = false;
	}
	depot->moves++;
}

void dry_depot_taken(struct dry_depot *depot, void **entries, unsigned count, unsigned taken)
{
	if (DRY_UNLIKELY(taken < count))
		memmove(entries, entries + taken, (count - taken) * sizeof(void *));
	leave_locked(depot, avail_of(depot) - taken);
	dry_lock_release(&depot->lock);
}

void dry_depot_leaving(struct dry_depot *depot, unsigned count)
{
	set_avail_locked(depot, avail_of(depot) - count);
}

void dry_depot_replaced(struct dry_depot *depot, unsigned others)
{
	leave_locked(depot, avail_of(depot) + others);
	dry_lock_release(&depot->lock);
}

unsigned dry_depot_take(struct dry_depot *depot, void **objects, unsigned max)
{
	unsigned count = 0;
	void **entries = dry_depot_newest(depot, max, &count);

	if (entries == NULL)
		return 0;
	memcpy(objects, entries, count * sizeof(void *));
	dry_depot_taken(depot, entries, count, count);
	return count;
}

/* What it could hold beyond what is usual is for others to have. */
static void ungrow_locked(struct dry_cache *cache, struct dry_depot *depot)
{
	set_limit_locked(depot, depot->limit - (uint32_t)(depot->grown / cache->size));
	atomic_fetch_sub_explicit(&cache->caches->depots_grown, depot->grown, memory_order_relaxed);
	depot->grown = 0;
	depot->overflowed = false;
}

void dry_depot_close(struct dry_cache *cache, struct dry_depot *depot, bool soon)
{
	void **entry = NULL;
	size_t bytes = 0;

	dry_lock_acquire(&depot->lock);
	if (avail_of(depot) == 0)
		ungrow_locked(cache, depot);
	if (avail_of(depot) == 0 && !soon) {
		entry = depot->entry;
		bytes = depot->room * sizeof(void *);
		depot->entry = NULL;
		depot->room = 0;
		set_limit_locked(depot, 0);
		set_fits(depot, false);
	}
	dry_lock_release(&depot->lock);
	if (entry != NULL)
		dry_backing_meta_free(&cache->caches->backing, entry, bytes);
}

static size_t more_bytes(const struct dry_cache *cache)
{
	return dry_depots_more(cache->caches) * sizeof(struct dry_depot_line);
}

static void make_more_locked(struct dry_cache *cache, struct dry_node *node)
{
	struct dry_depot_line *more;

	if (atomic_load_explicit(&node->more, memory_order_relaxed) != NULL)
		return;
	more = dry_backing_meta_alloc(&cache->caches->backing, more_bytes(cache));
	for (uint32_t i = 0; more != NULL && i < dry_depots_more(cache->caches); i++) {
		more[i].depot.alien = i < cache->caches->nodes;
		dry_lock_init(&more[i].depot.lock, more[i].depot.alien ? DRY_RANK_ALIEN : DRY_RANK_SHARED);
	}
	atomic_store_explicit(&node->more, more, memory_order_release); /* pairs with the acquires below */
}

/* One of alien and local arrays. NULL: there are none, or no memory for them. */
static struct dry_depot *one_of_more(struct dry_cache *cache, struct dry_node *node, uint32_t index, bool make)
{
	struct dry_depot_line *more = atomic_load_explicit(&node->more, memory_order_acquire);

	/* The lock keeps a fork from locks that it has not taken. Only tried: it goes without, too. */
	if (DRY_UNLIKELY(more == NULL) && make && dry_lock_try(&cache->caches->lock)) {
		make_more_locked(cache, node);
		dry_lock_release(&cache->caches->lock);
		more = atomic_load_explicit(&node->more, memory_order_acquire);
	}
	return more != NULL ? &more[index].depot : NULL;
}

struct dry_depot *dry_depot_alien(struct dry_cache *cache, unsigned home, unsigned owner)
{
	return one_of_more(cache, &cache->node[home], owner, true);
}

/* Of the caller's slot, among the local arrays; 0 where there are none. */
static uint32_t local_number(void)
{
	return dry_percpu_slot() % (DRY_LOCALS | (DRY_LOCALS == 0));
}

struct dry_depot *dry_depot_local(struct dry_cache *cache, bool make)
{
	const struct dry_caches *caches = cache->caches;

	/* relaxed: whoever finds one slot too few goes without */
	if (DRY_LOCALS == 0 || caches->nodes != 1 || dry_caches_small(caches) ||
	    __atomic_load_n(&caches->slots_open, __ATOMIC_RELAXED) < 2)
		return NULL;
	return one_of_more(cache, &cache->node[0], 1 + local_number(), make);
}

struct dry_depot *dry_depot_own(struct dry_cache *cache)
{
	const struct dry_caches *caches = cache->caches;
	struct dry_depot *own = &cache->node[0].shared;

	if (caches->nodes != 1)
		return NULL;
	/* relaxed, both: hints, as in dry_depot_local() */
	if (__atomic_load_n(&caches->slots_open, __ATOMIC_RELAXED) > 1)
		own = dry_depot_local(cache, false);
	return own != NULL && __atomic_load_n(&own->limit, __ATOMIC_RELAXED) != 0 ? own : NULL;
}

struct dry_depot *dry_depot_apart(struct dry_cache *cache)
{
	uint32_t number = local_number();
	struct dry_depot *local = number != 0 ? one_of_more(cache, &cache->node[0], cache->caches->nodes + number, true) : NULL;

	return local != NULL ? local : &cache->node[0].shared;
}

void dry_depot_each(struct dry_cache *cache, struct dry_node *node, void (*fn)(struct dry_cache *, struct dry_depot *, unsigned),
		    unsigned arg)
{
	struct dry_depot *depot;

	for (uint32_t i = 0; (depot = dry_depot_at(cache, node, i)) != NULL; i++)
		fn(cache, depot, arg);
}

size_t dry_depots_avail(const struct dry_cache *cache, struct dry_node *node)
{
	struct dry_depot *depot;
	size_t sum = 0;

	for (uint32_t i = 0; (depot = dry_depot_at(cache, node, i)) != NULL; i++)
		sum += avail_of(depot);
	return sum;
}

static void close_one(struct dry_cache *cache, struct dry_depot *depot, unsigned unused)
{
	(void)unused;
	set_avail_locked(depot, 0); /* nobody else has the cache any more */
	dry_depot_close(cache, depot, false);
}

void dry_depots_release(struct dry_cache *cache, struct dry_node *node)
{
	struct dry_depot_line *more = atomic_load_explicit(&node->more, memory_order_relaxed);

	dry_depot_each(cache, node, close_one, 0);
	if (more != NULL)
		dry_backing_meta_free(&cache->caches->backing, more, more_bytes(cache));
	atomic_store_explicit(&node->more, NULL, memory_order_relaxed);
}
