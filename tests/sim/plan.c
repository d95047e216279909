/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* From a seed to a machine, its heaps and its caches. */
#include <drystone/experiment.h>
#include "world.h"

/* What debugging does to a cache; not the lines of DRY_CACHE_TRACE. */
#define DEBUGGED       (DRY_CACHE_DEBUG & ~DRY_CACHE_TRACE)

/* Steps of the fine machine for one of the other: an event each 2 of these would never let a handler end. */
#ifdef DRY_SIM_FINE
#define STEPS_OF_ONE 4
#else
#define STEPS_OF_ONE 1
#endif

#define OF(rng, array) ((array)[rng_below((rng), sizeof(array) / sizeof((array)[0]))])

/* Every eighth machine is a big one: 64 CPUs, 4 to 8 nodes. */
static void plan_size(struct world_plan *plan, struct rng *rng, const struct world_wish *wish)
{
	static const unsigned cpus[] = { 1, 1, 2, 2, 2, 3, 4, 4, 5, 8, 16, 32 };
	struct dry_sim_setup *setup = &plan->setup;
	bool big = plan->seed % 8 == 0;

	setup->cpus = big ? 64 : OF(rng, cpus);
	setup->nodes = big ? 4 + (unsigned)rng_below(rng, 5) : 1 + (unsigned)(rng_below(rng, 2) * rng_below(rng, 8));
	setup->tasks = big ? 64 + (unsigned)rng_below(rng, 33) : 1 + (unsigned)rng_below(rng, 2 * setup->cpus + 2);
	if (wish->cpus != 0)
		setup->cpus = wish->cpus;
	if (wish->nodes != 0)
		setup->nodes = wish->nodes;
	if (wish->tasks != 0)
		setup->tasks = wish->tasks;
}

void world_plan(struct world_plan *plan, uint64_t seed, const struct world_wish *wish)
{
	static const unsigned distance[] = { 2, 5, 10, 20, 40, 100, 300 }, refused[] = { 0, 0, 0, 3, 20, 100 };
	static const size_t room[] = { 0, 0, 0, 0, (size_t)32 << 20, (size_t)64 << 20, (size_t)256 << 20 };
	static const unsigned look[] = { 4, 400, 1500, 5000, 5000 }, general[] = { 0, 25, 25, 80 },
			      extents[] = { 2, 2, 40 };
	struct dry_sim_setup *setup = &plan->setup;
	struct rng rng = { seed * 0x9e3779b97f4a7c15u + 1 };

	*plan = (struct world_plan){ .seed = seed, .plant = wish->plant };
	plan_size(plan, &rng, wish);
	setup->seed = seed;
	setup->thread_slots = rng_below(&rng, 5) == 0;
	setup->slot_distance = rng_below(&rng, 4) == 0 ? 3 : 1;
	setup->distance = OF(&rng, distance) * STEPS_OF_ONE;
	setup->fail_one_in = OF(&rng, refused);
	setup->strict_memory = rng_below(&rng, 24) == 0;
	setup->address_room = OF(&rng, room);
	setup->inspect_every = OF(&rng, look);
	if (rng_below(&rng, 2) != 0)
		setup->interrupt = world_interrupt;
	plan->steps = setup->inspect_every < 100 ? 4000 : rng_below(&rng, 4) == 0 ? 10000 : 80000;
	if (wish->steps != 0)
		plan->steps = wish->steps;
	/* Without memory each request empties all arrays first: long, but not for ever. */
	setup->most_steps = plan->steps * 20 + 300000000;
	plan->phases = 1 + (unsigned)rng_below(&rng, WORLD_PHASES);
	plan->heaps = 1 + (unsigned)(rng_below(&rng, 2) * rng_below(&rng, WORLD_HEAPS));
	plan->housekeeping = rng_below(&rng, 4) == 0;
	plan->general = OF(&rng, general);
	plan->extents = OF(&rng, extents);
	/* few: all tasks at the same slabs */
	plan->caches = 1 + (unsigned)rng_below(&rng, rng_below(&rng, 3) == 0 ? 2 : WORLD_CACHES);
}

void world_plan_heap(struct world_heap *heap, struct rng *rng)
{
	static const size_t pages[] = { 0, 0, 0, 16384, 65536 };

	heap->attr = (struct dry_heap_attr){ .name = "sim", .nodes = world.plan.setup.nodes };
	heap->attr.page_size = OF(rng, pages);
	if (rng_below(rng, 6) == 0)
		heap->attr.nodes = 1 + (unsigned)rng_below(rng, DRY_MAX_NODES);
	switch (rng_below(rng, 6)) {
	case 0:
		heap->attr.limit = (size_t)(10 + rng_size(rng, 8)) << 16;
		break;
	case 1:
		heap->attr.memory_size = (size_t)(10 + rng_size(rng, world.plan.setup.address_room != 0 ? 6 : 9)) << 16;
		break;
	default:
		break;
	}
	grace_init(&heap->grace);
	heap->attr.grace = &heap->grace;
	heap->may_refuse = heap->attr.limit != 0 || heap->attr.memory_size != 0 || world.plan.setup.fail_one_in != 0 ||
			   world.plan.setup.address_room != 0;
}

static size_t plan_object_size(struct rng *rng)
{
	static const size_t usual[] = { 8, 16, 24, 64, 100, 192, 256, 512, 1000, 2048, 4096, 5000 };
	size_t size = rng_below(rng, 3) != 0 ? OF(rng, usual) : rng_size(rng, 12);

	return size < 8 ? 8 : size;
}

void world_plan_cache(struct world_cache *cache, unsigned number, unsigned heap, struct rng *rng)
{
	static const unsigned types[] = { 0,
					  0,
					  0,
					  DRY_CACHE_OBJFREELIST,
					  DRY_CACHE_NORMAL,
					  DRY_CACHE_OFF_SLAB,
					  DRY_CACHE_BITMAP,
					  DRY_CACHE_CHAIN,
					  DRY_CACHE_PUBLISHED };
	struct dry_cache_attr *attr = &cache->attr;

	snprintf(cache->name, sizeof(cache->name), "cache-%u", number);
	cache->heap = (uint8_t)heap;
	*attr = (struct dry_cache_attr){ .name = cache->name, .size = plan_object_size(rng) };
	if (rng_below(rng, 5) == 0) {
		attr->size = 384; /* likes of it, to be merged; some want more alignment */
		attr->align = rng_below(rng, 3) == 0 ? 128 : 0;
		return;
	}
	attr->flags = OF(rng, types) | (rng_below(rng, 3) ? DRY_CACHE_NO_MERGE : 0);
	if (rng_below(rng, 4) == 0)
		attr->limit = 1 + (unsigned)rng_below(rng, rng_below(rng, 2) ? 8 : 200);
	if (rng_below(rng, 6) == 0)
		attr->align = (size_t)8 << rng_below(rng, 8);
	switch (rng_below(rng, 9)) {
	case 0:
		attr->flags |= DRY_CACHE_HWALIGN;
		break;
	case 1:
	case 4:
		attr->flags |= DRY_CACHE_TYPESAFE_BY_RCU;
		attr->ctor = ledger_construct;
		break;
	case 2:
		attr->ctor = ledger_construct;
		break;
	case 3:
		attr->flags |= rng_below(rng, 2) ? DRY_CACHE_POISON : (unsigned)rng_next(rng) & DEBUGGED;
		break;
	case 5:
		attr->flags |= rng_below(rng, 2) ? DRY_CACHE_NO_ARRAYS : DRY_CACHE_ATTACH_FIRST;
		break;
	default:
		break;
	}
	if (attr->ctor != NULL) {
		attr->dtor = ledger_destruct;
		attr->arg = &world.built;
		if (attr->size < 16)
			attr->size = 16;
	}
}

void world_plan_print(const struct world_plan *plan, char *text, size_t size)
{
	const struct dry_sim_setup *setup = &plan->setup;

	snprintf(text, size, "%u CPUs, %u nodes, %u tasks, %s, an event each %u steps, %u heaps, %u caches",
		 setup->cpus, setup->nodes, setup->tasks, setup->thread_slots ? "slots by thread" : "slots by CPU",
		 setup->distance, plan->heaps, plan->caches);
}
