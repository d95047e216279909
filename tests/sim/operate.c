/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What tasks do. An operation is chosen by seed, task and number alone; what it works on (which of the
 * objects at hand, say) depends on how things stand.
 */
#include "world.h"

#include "base/error.h"
#include "core/countdown.h"
#include "core/slab.h"
#include "port/contract.h"
#include "support/pattern.h"

#define BULK   48
#define EXTENT (1u << 20) /* above this size a block is an extent, where the heap has extents */
#define LOOKED 4096u      /* bytes of a block that are compared after a realloc */

struct world_cache *world_get_cache(struct rng *rng)
{
	struct world_cache *cache = &world.cache[rng_below(rng, world.plan.caches)];

	if (cache->state != WORLD_LIVE)
		return NULL;
	cache->users++;
	return cache;
}

void world_put_cache(struct world_cache *cache)
{
	cache->users--;
}

static struct world_heap *any_heap(struct rng *rng)
{
	return &world.heap[rng_below(rng, world.plan.heaps)];
}

/* NULL is for those only who may run out of memory. */
void world_refused(const struct world_heap *heap, const char *what)
{
	if (!heap->may_refuse)
		dry_sim_fail("%s: NULL, though there is memory", what);
	if (dry_port_get_errno() != DRY_ENOMEM)
		dry_sim_fail("%s: NULL and errno %d", what, dry_port_get_errno());
}

static bool zero(const void *at, size_t size)
{
	const unsigned char *bytes = at;

	return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* ---- one object ------------------------------------------------------------------------ */

static struct world_object from_cache(struct world_cache *cache, struct rng *rng)
{
	struct world_object object = { .size = (uint32_t)cache->attr.size, .heap = cache->heap };
	bool zeroed = cache->attr.ctor == NULL && rng_below(rng, 8) == 0;

	object.kind = (uint8_t)(cache - world.cache);
	dry_port_set_errno(0);
	object.at = zeroed ? dry_cache_zalloc(cache->cache) : dry_cache_alloc(cache->cache);
	dry_sim_say("== %s: alloc -> %p", cache->name, object.at);
	if (object.at == NULL) {
		world_refused(&world.heap[cache->heap], "cache");
		return object;
	}
	cache->given++;
	if (cache->attr.align != 0 && (uintptr_t)object.at % cache->attr.align != 0)
		dry_sim_fail("alignment: object %p of a cache aligned to %zu", object.at, cache->attr.align);
	if (zeroed && !zero(object.at, object.size))
		dry_sim_fail("zalloc: object %p is not zero", object.at);
	ledger_add(&object, object.size < 8192 && rng_below(rng, 16) == 0);
	return object;
}

/* Mostly small; runs of pages; and big ones that are extents of their own. */
static uint32_t block_size(struct rng *rng)
{
	size_t dice = rng_below(rng, 100);

	if (rng_below(rng, 100) < world.plan.extents)
		return EXTENT + (uint32_t)rng_below(rng, EXTENT);
	return (uint32_t)rng_size(rng, dice < 80 ? 10 : dice < 94 ? 15 : 18);
}

static struct world_object from_general(unsigned heap, struct rng *rng)
{
	struct world_object object = { .heap = (uint8_t)heap, .kind = WORLD_GENERAL };
	struct world_heap *from = &world.heap[heap];
	size_t align = rng_below(rng, 20) == 0 ? (size_t)16 << rng_below(rng, 10) : 1;
	bool zeroed = align == 1 && rng_below(rng, 8) == 0;

	object.size = block_size(rng);
	dry_port_set_errno(0);
	if (align != 1)
		object.at = dry_alloc_aligned(from->heap, align, object.size);
	else
		object.at = zeroed ? dry_zalloc(from->heap, object.size) : dry_alloc(from->heap, object.size);
	dry_sim_say("== heap %u: alloc %u aligned to %zu -> %p", heap, object.size, align, object.at);
	if (object.at == NULL) {
		world_refused(from, "general");
		return object;
	}
	if ((uintptr_t)object.at % align != 0)
		dry_sim_fail("alignment: block %p is not aligned to %zu", object.at, align);
	if (zeroed && !zero(object.at, object.size))
		dry_sim_fail("zalloc: block %p is not zero", object.at);
	if (dry_usable_size(from->heap, object.at) < object.size)
		dry_sim_fail("usable size: of %p below %u", object.at, object.size);
	ledger_add(&object, object.size < 8192 && rng_below(rng, 16) == 0);
	return object;
}

static void free_object(struct world_object *object)
{
	struct world_object gone = *object;

	dry_sim_say("== free %p", gone.at);
	object->at = NULL; /* from here on nobody else may find it */
	ledger_remove(&gone);
	if (gone.kind != WORLD_GENERAL)
		dry_cache_free(world.cache[gone.kind].cache, gone.at);
	else
		dry_free(world.heap[gone.heap].heap, gone.at);
}

void world_give_back(struct world_object *object)
{
	struct world_cache *cache = object->kind == WORLD_GENERAL ? NULL : &world.cache[object->kind];

	if (object->at == NULL || (cache != NULL && cache->state != WORLD_LIVE))
		return;
	if (cache != NULL)
		cache->users++;
	free_object(object);
	if (cache != NULL)
		world_put_cache(cache);
}

static struct world_object some_object(struct rng *rng)
{
	struct world_object object = { .at = NULL };
	struct world_cache *cache;

	if (rng_below(rng, 100) < world.plan.general)
		return from_general((unsigned)rng_below(rng, world.plan.heaps), rng);
	cache = world_get_cache(rng);
	if (cache == NULL)
		return object;
	object = from_cache(cache, rng);
	world_put_cache(cache);
	return object;
}

/* ---- operations -------------------------------------------------------------------------- */

/* A place in what the task holds: an empty one if it can be had quickly. */
static struct world_object *place(unsigned task, struct rng *rng, bool empty)
{
	struct world_object *held = world.held[task];
	size_t i = rng_below(rng, WORLD_HELD);

	for (unsigned tries = 0; tries < WORLD_HELD && (held[i].at == NULL) != empty; tries++)
		i = (i + 1) % WORLD_HELD;
	return &held[i];
}

static void op_alloc(unsigned task, struct rng *rng)
{
	struct world_object *to = place(task, rng, true);

	world_give_back(to);
	if (to->at == NULL)
		*to = some_object(rng);
}

static void op_free(unsigned task, struct rng *rng)
{
	world_give_back(place(task, rng, false));
}

/* Many of one kind, then all of them back: arrays run empty and full. */
static void op_burst(unsigned task, struct rng *rng)
{
	struct world_cache *cache = world_get_cache(rng);
	size_t count = 1 + rng_below(rng, WORLD_HELD);

	for (size_t i = 0; cache != NULL && i < count; i++)
		if (world.held[task][i].at == NULL && (world.held[task][i] = from_cache(cache, rng)).at == NULL)
			break;
	if (cache != NULL)
		world_put_cache(cache);
	if (rng_below(rng, 2) != 0)
		for (size_t i = 0; i < WORLD_HELD; i++)
			world_give_back(&world.held[task][i]);
}

/* To whoever looks into the box next, and what was in it for this task. */
static void op_exchange(unsigned task, struct rng *rng)
{
	struct world_object *box = &world.box[rng_below(rng, WORLD_BOXES)], *mine = place(task, rng, false);
	struct world_object taken = *box;

	*box = *mine;
	/* planted: the object is in the box and still with the task, which frees it twice in the end */
	if (!world.plan.plant || taken.at != NULL)
		*mine = taken;
}

static void op_bulk(unsigned task, struct rng *rng)
{
	struct world_cache *cache = world_get_cache(rng);
	struct world_object object[BULK];
	void *at[BULK];
	size_t n = 1 + rng_below(rng, BULK), got;

	(void)task;
	if (cache == NULL)
		return;
	dry_port_set_errno(0);
	got = dry_cache_alloc_bulk(cache->cache, n, at);
	dry_sim_say("== %s: bulk alloc %zu -> %zu", cache->name, n, got);
	if (got == 0)
		world_refused(&world.heap[cache->heap], "bulk");
	else if (got != n)
		dry_sim_fail("bulk: %zu of %zu objects", got, n);
	cache->given += got;
	for (size_t i = 0; i < got; i++) {
		object[i] = (struct world_object){ at[i], (uint32_t)cache->attr.size, cache->heap,
						   (uint8_t)(cache - world.cache), false };
		ledger_add(&object[i], false);
	}
	dry_port_yield();
	for (size_t i = 0; i < got; i++)
		ledger_remove(&object[i]);
	dry_cache_free_bulk(cache->cache, got, at);
	world_put_cache(cache);
}

/* Mostly to something of the same sort, because that is where blocks are resized in place. */
static uint32_t resized(uint32_t old, struct rng *rng)
{
	if (old > EXTENT && rng_below(rng, 4) != 0)
		return EXTENT + (uint32_t)rng_below(rng, EXTENT);
	if (old > 4096 && rng_below(rng, 2) != 0)
		return old / 2 - (uint32_t)rng_below(rng, old / 4);
	return block_size(rng);
}

static void op_realloc(unsigned task, struct rng *rng)
{
	struct world_object *object = place(task, rng, false), old = *object;
	uint32_t size = resized(old.size, rng), common = size < old.size ? size : old.size;
	struct world_heap *heap = &world.heap[old.heap];
	uint64_t key = pattern_key(old.at, old.size);
	void *at;

	if (old.at == NULL || old.kind != WORLD_GENERAL)
		return;
	object->at = NULL;
	ledger_remove(&old);
	common = common < LOOKED ? common : LOOKED;
	pattern_fill_key(old.at, common, key);
	dry_port_set_errno(0);
	at = dry_realloc(heap->heap, old.at, size);
	dry_sim_say("== realloc %p, %u to %u -> %p", old.at, old.size, size, at);
	if (at == NULL)
		world_refused(heap, "realloc");
	if (!pattern_holds_key(at != NULL ? at : old.at, common, key))
		dry_sim_fail("realloc: content lost, %u to %u bytes", old.size, size);
	if (at != NULL) {
		old.at = at;
		old.size = size;
	}
	ledger_add(&old, false);
	*object = old;
}

static void op_shrink(unsigned task, struct rng *rng)
{
	struct world_cache *cache = world_get_cache(rng);

	(void)task;
	if (cache == NULL)
		return;
	dry_sim_say("== %s: shrink", cache->name);
	dry_cache_shrink(cache->cache);
	world_put_cache(cache);
}

static void op_housekeeping(unsigned task, struct rng *rng)
{
	struct world_heap *heap = any_heap(rng);
	bool all = rng_below(rng, 4) < (world.plan.housekeeping ? 3 : 1);

	(void)task;
	dry_sim_say("== %s", all ? "trim" : "reap");
	if (all)
		dry_heap_trim(heap->heap);
	else
		dry_heap_reap(heap->heap);
}

/* An object of a type-stable cache that some task holds. */
static const struct world_object *find_stable(struct rng *rng)
{
	const struct world_object *held = world.held[rng_below(rng, world.plan.setup.tasks)];

	for (size_t i = 0; i < WORLD_HELD; i++)
		if (held[i].at != NULL && held[i].kind != WORLD_GENERAL &&
		    (world.cache[held[i].kind].attr.flags & DRY_CACHE_TYPESAFE_BY_RCU))
			return &held[i];
	return NULL;
}

/* A reader looks at it; it may be freed meanwhile, and the cache be shrunk or destroyed. */
static void op_read(unsigned task, struct rng *rng)
{
	const struct world_object *found;
	const struct dry_slab *slab;
	const dry_cache *cache;
	const char *at;
	uint64_t built, seen;

	(void)task;
	grace_enter();
	found = find_stable(rng);
	if (found != NULL) {
		at = found->at;
		cache = world.cache[found->kind].cache;
		slab = dry_slab_of(cache, at);
		ledger_construct(&built, NULL);
		dry_sim_say("== reads %p", (const void *)at);
		for (size_t looks = 1 + rng_below(rng, 20); looks > 0; looks--) {
			dry_port_yield();
			memcpy(&seen, at, sizeof(seen));
			if (seen != built || !dry_backing_is_slab(slab) || slab->cache != cache)
				dry_sim_fail("type-stable: object %p changed its type under a reader",
					     (const void *)at);
		}
	}
	grace_leave();
}

static void op_grace(unsigned task, struct rng *rng)
{
	(void)task;
	(void)rng;
	grace_poll();
}

static void op_look(unsigned task, struct rng *rng)
{
	struct world_heap *heap = any_heap(rng);
	struct dry_heap_stats stats;

	(void)task;
	dry_heap_stats(heap->heap, &stats);
	if (stats.in_use > stats.reserved)
		dry_sim_fail("stats: %zu bytes in use of %zu", stats.in_use, stats.reserved);
}

/* As where sampling is switched on or off. */
static void op_count(unsigned task, struct rng *rng)
{
	struct world_heap *heap = any_heap(rng);
	bool on = rng_below(rng, 2);

	(void)task;
	dry_sim_say("== %s: countdowns %s", heap->heap->name, on ? "on" : "off");
	dry_countdown_all(&heap->heap->caches, on);
}

/* As who samples. */
static void op_turn(unsigned task, struct rng *rng)
{
	struct world_heap *heap = any_heap(rng);
	struct dry_cache *cache = atomic_load(&heap->heap->general[rng_below(rng, DRY_GENERAL_CACHES)]);

	(void)task;
	if (cache == NULL || !dry_countdown_waits(cache))
		return;
	dry_sim_say("== %s: its turn", cache->name);
	dry_countdown_pass(cache);
	dry_countdown_take(cache, rng_below(rng, 20));
}

/* The last ones are what housekeeping is about. */
enum { TOTAL = 1000, HOUSEKEEPING = 66 };
static const struct {
	unsigned weight;
	void (*run)(unsigned task, struct rng *rng);
} operations[] = {
	{ 355, op_alloc }, { 300, op_free },        { 40, op_burst },   { 120, op_exchange }, { 1, op_count },   { 10, op_turn },
	{ 30, op_bulk },   { 30, op_realloc },      { 35, op_read },    { 8, op_grace },
	{ 3, op_look },    { 2, op_own_heap },      { 4, op_lock_all }, { 8, op_prefill },
	{ 10, op_shrink }, { 16, op_housekeeping }, { 14, op_make },    { 14, op_own_cache },
};

void world_operate(unsigned task, uint32_t op)
{
	struct rng rng = { (world.plan.seed << 32 ^ (uint64_t)task << 20 ^ op) * 0x9e3779b97f4a7c15u };
	size_t dice = rng_below(&rng, TOTAL);

	if (world.plan.housekeeping && rng_below(&rng, 4) == 0)
		dice = TOTAL - HOUSEKEEPING + rng_below(&rng, HOUSEKEEPING);
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		if (dice < operations[i].weight) {
			operations[i].run(task, &rng);
			break;
		}
		dice -= operations[i].weight;
	}
	if (dry_sim_locks_held() != 0)
		dry_sim_fail("%u locks held after an operation", dry_sim_locks_held());
}

/* A handler: a few objects into boxes, and what was in them goes back. */
void world_interrupt(uint32_t seed)
{
	struct rng rng = { seed };

	for (size_t n = 1 + rng_below(&rng, 3); n > 0; n--) {
		struct world_object *box = &world.box[rng_below(&rng, WORLD_BOXES)], fresh;

		world_give_back(box);
		if (box->at != NULL)
			continue;
		fresh = some_object(&rng);
		if (box->at == NULL) {
			*box = fresh;
			continue;
		}
		for (world_give_back(&fresh); fresh.at != NULL; world_give_back(&fresh))
			dry_port_yield(); /* its cache is being destroyed, or so it seems */
	}
}
