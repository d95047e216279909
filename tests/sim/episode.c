/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* One run of one seed: a machine, heaps and caches, phases of work with a rest after each, and the end. */
#include "world.h"

#include "core/batch.h"
#include "port/contract.h"

#define TRIES 50 /* for the first heap: requests are refused by chance */

struct world world;

static struct episode *running;
static uint32_t next_op[DRY_SIM_TASKS];

/* false: the heaps before have left too little address space for another one. */
static bool make_heap(struct world_heap *heap, struct rng *rng)
{
	struct dry_heap_attr *attr = &heap->attr;

	world_plan_heap(heap, rng);
	if (attr->memory_size != 0) {
		attr->memory = dry_port_reserve(attr->memory_size, dry_port_page_size(), false);
		if (attr->memory == NULL)
			return false;
		dry_port_commit(attr->memory, attr->memory_size);
	}
	heap->heap = dry_heap_create(attr);
	if (heap->heap != NULL)
		return true;
	if (!heap->may_refuse || dry_port_get_errno() != 12)
		dry_sim_fail("heap: not created, errno %d", dry_port_get_errno());
	if (attr->memory != NULL)
		dry_port_release(attr->memory, attr->memory_size);
	return false;
}

static void make_world(struct rng *rng)
{
	unsigned made = 0;

	for (unsigned tries = 0; made < world.plan.heaps && (made == 0 ? tries < TRIES : tries < 1);)
		if (make_heap(&world.heap[made], rng))
			made++;
		else
			tries++;
	if (made == 0)
		dry_sim_fail("heap: not even one could be created");
	world.plan.heaps = made;
	for (unsigned i = 0; i < world.plan.caches; i++) {
		unsigned heap = (unsigned)rng_below(rng, world.plan.heaps);

		world_plan_cache(&world.cache[i], i, heap, rng);
		world_make_cache(&world.cache[i]);
	}
}

/* ---- the end: nothing may be left ----------------------------------------------------------- */

static void give_all_back(void)
{
	struct world_object *held = world.held[0];

	for (size_t i = 0; i < sizeof(world.held) / sizeof(*held); i++)
		world_give_back(&held[i]);
	for (size_t i = 0; i < WORLD_BOXES; i++)
		world_give_back(&world.box[i]);
}

static void nothing_left(const struct world_object *object, void *arg)
{
	(void)arg;
	dry_sim_fail("ledger: object %p was lost sight of", object->at);
}

static void destroy_caches(void)
{
	for (unsigned i = 0; i < world.plan.caches; i++) {
		int rc;

		if (world.cache[i].state != WORLD_LIVE)
			continue;
		rc = dry_cache_destroy(world.cache[i].cache);
		if (rc != 0)
			dry_sim_fail("end: %s cannot be destroyed: %d", world.cache[i].name, rc);
		world.cache[i].state = WORLD_ABSENT;
	}
}

/* Without objects, all that is left of a heap are its own parts and what arrays of caches need. */
static void check_empty(const struct world_heap *heap)
{
	for (const struct dry_cache *cache = heap->heap->caches.first; cache != NULL; cache = cache->next)
		if (cache->root == cache && dry_node_slabs(cache) != 0)
			dry_sim_fail("leak: %s has %zu slabs left", cache->name, dry_node_slabs(cache));
	if (heap->heap->extents.live != 0 || heap->heap->extents.cached != 0)
		dry_sim_fail("leak: %zu extents left", heap->heap->extents.live);
	if (heap->heap->caches.backing.arena.owns_memory && heap->heap->caches.backing.arena.free_dirty != 0)
		dry_sim_fail("leak: %zu dirty pages after a trim", heap->heap->caches.backing.arena.free_dirty);
}

static void end_world(void)
{
	give_all_back();
	ledger_each(nothing_left, NULL);
	grace_barrier(NULL);
	world_check_rest();
	destroy_caches();
	grace_barrier(NULL);
	for (unsigned i = 0; i < world.plan.heaps; i++) {
		struct world_heap *heap = &world.heap[i];

		dry_heap_trim(heap->heap);
		world_check_rest();
		check_empty(heap);
	}
	for (unsigned i = 0; i < world.plan.heaps; i++) {
		struct world_heap *heap = &world.heap[i];

		if (dry_heap_destroy(heap->heap) != 0)
			dry_sim_fail("end: a heap cannot be destroyed");
		if (heap->attr.memory != NULL)
			dry_port_release(heap->attr.memory, heap->attr.memory_size);
	}
	if (world.built != 0)
		dry_sim_fail("leak: %zu objects constructed and never destructed", world.built);
	if (dry_sim_reserved() != 0 || dry_sim_committed() != 0)
		dry_sim_fail("leak: %zu bytes reserved, %zu committed at the end", dry_sim_reserved(),
			     dry_sim_committed());
}

/* ---- phases ------------------------------------------------------------------------------------ */

static void work(unsigned task)
{
	uint64_t until = world.plan.steps * (world.phase + 1) / world.plan.phases;
	uint32_t *end = &running->end[task][world.phase], op = next_op[task];

	for (;; op++) {
		if (running->replay ? op >= *end : dry_sim_steps() >= until || op == EPISODE_OPS)
			break;
		if (running->replay && running->skip[task][op])
			continue;
		if (!running->replay)
			*end = op + 1;
		dry_sim_operation(op);
		world_operate(task, op);
	}
	next_op[task] = op;
	if (!running->replay)
		*end = op;
}

uint64_t episode_run(struct episode *episode)
{
	struct dry_sim_setup *setup = &world.plan.setup;
	struct rng rng;
	uint64_t steps;

	memset(&world, 0, sizeof(world));
	memset(next_op, 0, sizeof(next_op));
	ledger_clear();
	grace_clear();
	running = episode;
	world_plan(&world.plan, episode->seed, &episode->wish);
	setup->failed = episode->failed;
	setup->inspect = world_check_between_steps;
	setup->trace = episode->trace;
	if (episode->replay) {
		setup->events = episode->events;
		setup->event_count = episode->event_count;
	} else if (episode->events != NULL) {
		setup->record = episode->events;
		setup->record_room = episode->event_room;
	}
	dry_sim_begin(setup);
	rng.state = episode->seed ^ 0x3a11;
	make_world(&rng);
	for (world.phase = 0; world.phase < world.plan.phases; world.phase++) {
		dry_sim_say("== phase %u", world.phase);
		dry_sim_run(work);
		dry_sim_say("== rest");
		world_check_rest();
	}
	steps = dry_sim_steps();
	if (!episode->replay)
		episode->event_count = dry_sim_recorded();
	end_world();
	return steps;
}

/* Stable: within a task the order of time stays. */
void episode_sort(struct dry_sim_event *events, size_t count)
{
	struct dry_sim_event *copy = malloc(count * sizeof(*copy) + 1);
	size_t start[DRY_SIM_ALL + 1] = { 0 };

	if (copy == NULL)
		abort();
	for (size_t i = 0; i < count; i++)
		start[events[i].task % DRY_SIM_ALL + 1]++;
	for (size_t i = 0; i < DRY_SIM_ALL; i++)
		start[i + 1] += start[i];
	for (size_t i = 0; i < count; i++)
		copy[start[events[i].task % DRY_SIM_ALL]++] = events[i];
	memcpy(events, copy, count * sizeof(*copy));
	free(copy);
}
