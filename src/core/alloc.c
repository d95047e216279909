/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Objects in and out where there is no hit.
 *
 * A slow path never holds an array: it takes a piece out in one sequence, works on
 * its own copy, and puts a piece back in another. In between anybody may run on
 * the slot; what then finds no room goes on to the node.
 */
#include "core/alloc.h"

#include "base/fatal.h"
#include "core/batch.h"
#include "core/countdown.h"
#include "core/depot.h"
#include "core/fast.h"
#include "core/reap.h"
#include "core/slab.h"
#include "core/slots.h"
#include "core/walk.h"
#include "port/here.h"

#define LINE       64 /* bytes of a cache line */
#define FEW_SLOTS  8  /* that are filled at once */
#define MOST_WAITS 4  /* of a free, for arrays that are stopped again and again */

static void count_slow(_Atomic size_t *counter, size_t by)
{
	/* relaxed: a statistic */
	atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

/* There is no memory: with what arrays hold, then with what the program can do without. */
static DRY_SLOW bool try_harder(struct dry_cache *cache, dry_gfp gfp, unsigned node, void **object)
{
	size_t bytes = (size_t)1 << (dry_backing_page_shift(&cache->caches->backing) + cache->order);

	for (unsigned tries = 0; dry_backing_may_wait(gfp) && dry_caches_free_up(cache->caches, bytes, tries); tries++)
		if (dry_node_refill(cache, node, gfp, object, 1) != 0)
			return true;
	return false;
}

static DRY_NOINLINE void *take_one(struct dry_cache *cache, dry_gfp gfp, unsigned node)
{
	void *object;

	if (dry_node_refill(cache, node, gfp, &object, 1) == 0 && !try_harder(cache, gfp, node, &object))
		return NULL;
	count_slow(&cache->node[node].slow_allocs, 1);
	return object;
}

static DRY_NOINLINE void *alloc_debugged(struct dry_cache *cache, dry_gfp gfp, unsigned node)
{
	const struct dry_debug_ops *debug = cache->debug;
	void *object = debug->take != NULL ? debug->take(cache, gfp, node) : NULL;

	if (object == NULL)
		object = take_one(cache, gfp, node);
	if (object != NULL)
		debug->handed_out(cache, object);
	return object;
}

/* One object without arrays; counted as slow. */
static void *alloc_direct(struct dry_cache *cache, dry_gfp gfp, unsigned node)
{
	return cache->debug != NULL ? alloc_debugged(cache, gfp, node) : take_one(cache, gfp, node);
}

static void *pop(struct dry_cache *cache)
{
	return dry_percpu_pop(DRY_SLOTS(cache->caches), cache->place);
}

/* Into the array; what finds no room goes to the node. The number that found some. */
static size_t push_or_flush(struct dry_cache *cache, void **objects, size_t count)
{
	size_t placed = dry_percpu_push_batch(DRY_SLOTS(cache->caches), cache->place, objects, count);

	if (placed < count)
		dry_node_flush(cache, dry_caches_home(cache->caches), objects + placed, (unsigned)(count - placed));
	return placed;
}

static size_t pop_batch(struct dry_cache *cache, void **objects, size_t max)
{
	return dry_percpu_pop_batch(DRY_SLOTS(cache->caches), cache->place, objects, max);
}

/* Of a free that finds no room, the newest objects, which stay; and what leaves the array at a time: stacks are small. */
#define NEWEST  (DRY_PIECE / 8)
#define LEAVING (DRY_PIECE * 11 / 16)

/* ---- allocation ---------------------------------------------------------------------- */

/* The array full out of a local or shared one, without a copy in between, and one object. NULL: there is none. */
static DRY_NOINLINE void *refill_from(struct dry_cache *cache, struct dry_depot *depot)
{
	unsigned count;
	void **entries = dry_depot_newest(depot, cache->limit + 1, &count);

	if (entries == NULL)
		return NULL;
	size_t placed = dry_percpu_push_batch(DRY_SLOTS(cache->caches), cache->place, entries, count - 1);
	void *object = entries[placed];
	dry_depot_taken(depot, entries, count, (unsigned)placed + 1);
	return object;
}

/*
 * As much as a piece holds, of a new slab or else from the node, and the one of before; less the lowest, which is the first to be
 * handed out. What is left to get.
 */
static DRY_NOINLINE uint32_t refill_piece(struct dry_cache *cache, struct dry_slab *fresh, uint32_t left, void **first)
{
	unsigned home = dry_caches_home(cache->caches), want = left < DRY_PIECE ? left : DRY_PIECE;
	DRY_FILLED_LATER void *objects[DRY_PIECE];
	unsigned count = fresh != NULL ? dry_node_take_slab(cache, fresh, objects, want, left - want) :
					 dry_node_take_free(cache, home, objects, want, left - want);

	if (count == 0) /* no memory for a slab, or others were quicker */
		count = dry_node_take_any(cache, objects, want, left - want);
	if (count == 0)
		return 0;
	left -= count;
	if (*first != NULL) /* below the piece on the stack, for it is higher */
		push_or_flush(cache, first, 1);
	*first = objects[--count];
	return push_or_flush(cache, objects, count) == count ? left : 0;
}

/* As much into an own depot, from where it gets to the array in one batch. 0: nothing was done, for lack of room or objects. */
static DRY_NOINLINE uint32_t refill_own(struct dry_cache *cache, struct dry_slab *fresh, uint32_t left)
{
	struct dry_depot *own = dry_depot_own(cache);
	unsigned home = dry_caches_home(cache->caches), room;
	void **entries = own != NULL ? dry_depot_room(own, left, &room) : NULL;

	if (entries == NULL)
		return 0;
	unsigned count = fresh != NULL ? dry_node_take_slab(cache, fresh, entries, room, 0) :
					 dry_node_take_slabs(cache, home, entries, room);
	dry_depot_filled(own, count);
	return count;
}

/*
 * So many from slabs in use do for a refill. Where objects share cache lines, and threads may be on several CPUs, others have the
 * neighbours of a few: those of a new slab come on top.
 */
static uint32_t least_of(const struct dry_cache *cache)
{
	/* relaxed: a hint */
	bool several = __atomic_load_n(&cache->caches->slots_open, __ATOMIC_RELAXED) > 1;

	return several && cache->size < LINE ? DRY_PIECE / 4 : 1;
}

/*
 * How many a refill takes from slabs. Where there are many slots, each may be for a few objects of each cache: as many as were
 * popped from the array so far, an eighth of it at least.
 */
static uint32_t amount_of(struct dry_cache *cache)
{
	struct dry_caches *caches = cache->caches;
	uint32_t least = cache->limit / 8 + 1;

	/* relaxed: hints, also as the slot may be another one in a moment */
	if (__atomic_load_n(&caches->slots_open, __ATOMIC_RELAXED) <= FEW_SLOTS)
		return cache->limit;
	uint32_t slot = dry_percpu_slot();
	char *area = slot < caches->slot_count ? __atomic_load_n(&caches->areas[slot], __ATOMIC_RELAXED) : dry_stopped_area;
	if (area == dry_stopped_area)
		return cache->limit;
	int64_t pops = dry_word_pops(dry_peek64(&dry_area_array(area, cache->place)->word));
	return pops < 0 || pops >= cache->limit ? cache->limit : pops > least ? (uint32_t)pops : least;
}

/*
 * The array full from slabs, less one object, which is the caller's. After the first piece no slab is made for less than all of
 * its objects: a rest would have to be attached, and fetched again by the next refill. Nor is one that holds less than a piece,
 * but where the cache has many: one of DRY_GROWING may be for what nobody has asked for yet. A slab is made before there is a
 * piece on the stack, for that is a long way down (docs/design/stack.md).
 */
static void *refill_slabs(struct dry_cache *cache, unsigned home, dry_gfp gfp)
{
	/* relaxed: a hint */
	size_t ahead = atomic_load_explicit(&cache->node[home].slabs, memory_order_relaxed) / DRY_GROWING;
	struct dry_depot *own;
	void *object = NULL;

	for (uint32_t all = amount_of(cache), left = all; left > 0;) {
		bool makes = !dry_node_slabs_have_free(cache, home);
		if (makes && all - left >= least_of(cache) &&
		    (left < cache->num || (cache->num < DRY_PIECE && ahead-- == 0)))
			break;
		struct dry_slab *fresh = makes ? dry_node_slab(cache, home, gfp) : NULL;
		uint32_t count = refill_own(cache, fresh, left);
		left = count != 0 ? left - count : refill_piece(cache, fresh, left, &object);
	}
	if (object == NULL && (own = dry_depot_own(cache)) != NULL)
		object = refill_from(cache, own);
	return object;
}

/* From a local or shared array, or else from slabs. */
static DRY_NOINLINE void *refill(struct dry_cache *cache, dry_gfp gfp)
{
	unsigned home = dry_caches_home(cache->caches);
	struct dry_depot *local = dry_depot_local(cache, false);
	void *object = local != NULL ? refill_from(cache, local) : NULL;

	if (object == NULL)
		object = refill_from(cache, &cache->node[home].shared);
	if (object == NULL)
		object = refill_slabs(cache, home, gfp);
	if (object != NULL)
		count_slow(&cache->node[home].slow_allocs, 1);
	return object;
}

static void *get(struct dry_cache *cache, dry_gfp gfp, int node)
{
	void *object;

	if (DRY_UNLIKELY(node != DRY_NODE_ANY))
		return alloc_direct(cache, gfp, (unsigned)node % cache->caches->nodes);
	if (cache->place == 0 || !dry_slot_prepare(cache->caches, false))
		return alloc_direct(cache, gfp, dry_caches_home(cache->caches));
	/* The slot may be new to the thread, or the thread new to the slot. */
	object = pop(cache);
	if (object == NULL && dry_countdown_stop(cache))
		object = pop(cache);
	if (object == NULL && DRY_LIKELY(!cache->caches->hooks->no_refill))
		object = refill(cache, gfp);
	return object != NULL ? object : alloc_direct(cache, gfp, dry_caches_home(cache->caches));
}

DRY_SLOW void *dry_alloc_slow(struct dry_cache *cache, dry_gfp gfp, int node)
{
	void *object;

	if (cache->state != DRY_CACHE_LIVE) {
		dry_backing_corrupt(DRY_FATAL_DEAD_CACHE, cache, NULL, "allocation");
		return NULL;
	}
	cache = cache->root;
	const struct dry_debug_hooks *hooks = cache->caches->hooks;
	if (DRY_UNLIKELY(hooks->allows != NULL) && !hooks->allows(cache))
		return NULL;
	do
		object = get(cache, gfp, node);
	while (DRY_UNLIKELY(cache->flags & DRY_CACHE_CHECKED) && object != NULL && !hooks->claim(cache, object));
	return object;
}

/* ---- free ------------------------------------------------------------------------------- */

/*
 * Whether it is free already, where that can be told before it goes to its slab. A debugged object must be judged here:
 * then poison is written over it, and with it over the links or indices that a free one may hold.
 */
static bool is_free(struct dry_cache *cache, const struct dry_slab *slab, uint32_t index)
{
	bool result = false;

	if (cache->mgmt == DRY_MGMT_BITMAP)
		return dry_slab_is_free(cache, slab, index);
	if (cache->debug != NULL) {
		struct dry_node *node = &cache->node[dry_slab_node(cache, slab)];
		dry_lock_acquire(&node->lock);
		result = dry_slab_is_empty(cache, slab) || dry_slab_is_free(cache, slab, index);
		dry_lock_release(&node->lock);
	}
	return result;
}

/* false and a report if object is not a live object of this cache, as far as can be seen without a lock. */
static bool is_live(struct dry_cache *cache, void *object)
{
	struct dry_backing *backing = &cache->caches->backing;
	struct dry_slab *slab = dry_backing_find(backing, object);

	if (slab == NULL) {
		bool near = dry_backing_contains(backing, object);
		dry_backing_corrupt(DRY_FATAL_INVALID_POINTER, object, cache->name,
				    near ? "in no slab: never given out, or freed twice" : "never given out");
		return false;
	}
	if (dry_backing_cache_of(slab) != cache) {
		dry_backing_corrupt(DRY_FATAL_WRONG_CACHE, object, cache->name, dry_backing_cache_of(slab)->name);
		return false;
	}
	uint32_t index = dry_slab_index(cache, slab, object);
	if (index == UINT32_MAX) {
		dry_backing_corrupt(DRY_FATAL_INTERIOR, object, cache->name, NULL);
		return false;
	}
	if (is_free(cache, slab, index)) {
		dry_backing_corrupt(DRY_FATAL_DOUBLE_FREE, object, cache->name, NULL);
		return false;
	}
	return true;
}

/* Out of the array as far as there is room in a local or shared one, without a copy in between. What is left of as many. */
static unsigned spill_into(struct dry_cache *cache, struct dry_depot *depot, unsigned batches, unsigned left)
{
	unsigned room;
	void **entries;

	if (left == 0)
		return 0;
	dry_depot_prepare(cache, depot, batches);
	entries = dry_depot_room(depot, left, &room);
	if (entries == NULL)
		return left;
	size_t count = pop_batch(cache, entries, room);
	dry_depot_filled(depot, (unsigned)count);
	return count < room ? 0 : left - room;
}

/*
 * So many out of the array into an own depot that is full, of which as many go into slabs first; without a copy in between. What
 * is left.
 */
static DRY_NOINLINE unsigned spill_through(struct dry_cache *cache, struct dry_depot *own, unsigned left)
{
	unsigned count;
	void **entries = dry_depot_newest(own, left, &count);

	if (entries == NULL)
		return left;
	dry_depot_leaving(own, count);
	dry_slab_ref chain = dry_node_put_chained(cache, entries, count);
	unsigned popped = (unsigned)pop_batch(cache, entries, count);
	dry_depot_replaced(own, popped);
	dry_node_free_slabs(cache, chain);
	return popped == count ? left - count : 0;
}

/* So many out of the array to the node. Apart, because memory for depots is a long way down. */
static DRY_NOINLINE void spill_rest(struct dry_cache *cache, unsigned home, unsigned left)
{
	DRY_FILLED_LATER void *objects[LEAVING];
	size_t count;

	for (; left != 0 && (count = pop_batch(cache, objects, left < LEAVING ? left : LEAVING)) != 0; left -= count) {
		if (cache->caches->nodes == 1) /* for which there was no room */
			dry_node_put_slabs(cache, objects, (unsigned)count);
		else
			dry_node_flush(cache, home, objects, (unsigned)count);
	}
}

/*
 * A batch out of the array: to where this slot finds it again, then to where others do, then to the node. Objects that go
 * to other CPUs and back take their cache lines along, which neighbours in memory are on, too.
 */
static void spill(struct dry_cache *cache, unsigned home)
{
	struct dry_depot *local = dry_depot_local(cache, true), *own;
	unsigned left = cache->batchcount;

	if (local != NULL)
		left = spill_into(cache, local, DRY_LOCAL_FACTOR, left);
	if (cache->caches->nodes == 1)
		left = spill_into(cache, &cache->node[home].shared, DRY_SHARED_FACTOR, left);
	else
		dry_depot_prepare(cache, &cache->node[home].shared, DRY_SHARED_FACTOR);
	if (left != 0 && (own = dry_depot_own(cache)) != NULL)
		left = spill_through(cache, own, left);
	if (left != 0)
		spill_rest(cache, home, left);
}

/*
 * Back onto the array, with what is freed on top. Were the arrays stopped meanwhile, as soon as they go on; and what finds no room
 * then goes into slabs: a second free finds a full array, too, and asks them.
 */
static void push_newest(struct dry_cache *cache, void **objects, size_t count)
{
	size_t placed = 0;

	for (unsigned tries = 0; tries < 2 && placed < count; tries++) {
		dry_slots_wait(cache->caches);
		placed += dry_percpu_push_batch(DRY_SLOTS(cache->caches), cache->place, objects + placed, count - placed);
	}
	if (placed == count)
		return;
	dry_node_put_slabs(cache, objects + placed, (unsigned)(count - placed));
	dry_percpu_settle();
}

/* Onto a full array, or one that has the object already. false: it has none by now, it was stopped. */
static DRY_NOINLINE bool flush(struct dry_cache *cache, void *object)
{
	unsigned home = dry_caches_home(cache->caches), stay = cache->limit - cache->batchcount;
	DRY_FILLED_LATER void *newest[NEWEST];
	size_t count = pop_batch(cache, newest, stay == 0 ? 1 : stay < NEWEST ? stay : NEWEST - 1);
	bool twice = false;

	if (count == 0)
		return false;
	for (size_t i = 0; i < count; i++)
		twice |= newest[i] == object;
	if (twice) {
		dry_backing_corrupt(DRY_FATAL_DOUBLE_FREE, object, cache->name, NULL);
	} else {
		newest[count++] = object;
		spill(cache, home);
		count_slow(&cache->node[home].slow_frees, 1);
	}
	if (count > cache->limit) { /* an array of one */
		dry_node_flush(cache, home, newest, 1);
		newest[0] = newest[--count];
	}
	push_newest(cache, newest, count);
	return true;
}

/*
 * What a thread frees before all else was another's, and so are its neighbours in the cache line. In the array it would be the
 * first to be handed out, and two such threads would write to one line for good (passive false sharing: Berger and others,
 * Hoard, 2000). Objects of caches are pushed by threads that remember no area, too (core/fast.h): the array may have this one
 * already, and says so then.
 */
static bool is_others(struct dry_cache *cache, void *object)
{
	void *newest;

	if (DRY_LIKELY(!cache->caches->remembered || !dry_percpu_is_new()))
		return false;
	if (cache->size >= LINE || cache->mgmt != DRY_MGMT_BITMAP)
		return false;
	if (pop_batch(cache, &newest, 1) == 0)
		return true;
	push_or_flush(cache, &newest, 1);
	return newest != object;
}

/*
 * Onto the slot's array. false: there is none, or it is stopped and the caller cannot wait, or waited for others time and again.
 * After a wait the slab is asked anew: an array that had the object may have been emptied.
 */
static bool put(struct dry_cache *cache, void *object)
{
	for (unsigned waits = 0; waits < MOST_WAITS; waits++) {
		if (dry_slot_prepare(cache->caches, true) &&
		    (dry_percpu_push(DRY_SLOTS(cache->caches), cache->place, object) || flush(cache, object)))
			return true;
		if (!dry_slots_wait(cache->caches))
			return false;
		if (!is_live(cache, object))
			return true;
	}
	return false;
}

DRY_SLOW void dry_free_slow(struct dry_cache *cache, void *object)
{
	if (object == NULL)
		return;
	if (cache->state != DRY_CACHE_LIVE) {
		dry_backing_corrupt(DRY_FATAL_DEAD_CACHE, object, NULL, "free");
		return;
	}
	cache = cache->root;
	dry_slots_wait(cache->caches);
	if (!is_live(cache, object))
		return;
	if (DRY_UNLIKELY(cache->flags & DRY_CACHE_CHECKED) && !cache->caches->hooks->release(cache, object)) {
		dry_backing_corrupt(DRY_FATAL_DOUBLE_FREE, object, cache->name, NULL);
		return;
	}
	if (cache->place != 0 && !is_others(cache, object) && put(cache, object))
		return;
	if (cache->place != 0) /* the next free may be of the same object, which no array has */
		dry_percpu_settle();
	if (cache->debug == NULL || cache->debug->taken_back(cache, object))
		dry_node_put_slabs(cache, &object, 1);
	else if (cache->debug->take != NULL) /* it counts what it keeps */
		return;
	count_slow(&cache->node[dry_caches_home(cache->caches)].slow_frees, 1);
}

/* ---- many at once --------------------------------------------------------------------------- */

size_t dry_alloc_bulk(struct dry_cache *cache, dry_gfp gfp, size_t n, void **objects)
{
	struct dry_cache *root = cache->root;
	size_t done = 0;

	if (root->hits != 0 && n != 0)
		done = dry_percpu_pop_batch(DRY_SLOTS(root->caches), root->hits, objects, n);
	if (done != 0)
		count_slow(&root->node[0].bulk_allocs, done);
	while (done < n && cache->state == DRY_CACHE_LIVE && root->caches->hooks->allows == NULL && !root->debug &&
	       !(root->flags & DRY_CACHE_CHECKED)) {
		unsigned home = dry_caches_home(root->caches);
		unsigned want = n - done < 65536 ? (unsigned)(n - done) : 65536;
		unsigned got = dry_node_refill(root, home, gfp, objects + done, want);
		if (got == 0)
			break;
		count_slow(&root->node[home].slow_allocs, got);
		done += got;
	}
	while (done < n && (objects[done] = dry_alloc_slow(cache, gfp, DRY_NODE_ANY)) != NULL)
		done++;
	if (done == n)
		return n;
	dry_free_bulk(root, done, objects);
	return 0;
}

void dry_free_bulk(struct dry_cache *cache, size_t n, void *const *objects)
{
	for (size_t i = 0; i < n; i++)
		if (!dry_fast_free(cache, objects[i]))
			dry_free_slow(cache, objects[i]);
}
