/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What tasks do with whole caches and heaps: make and destroy them, and fork the process that they are in. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world.h"

#include "base/error.h"
#include "port/contract.h"
#include "support/pattern.h"

#define OWN 192 /* objects of a task's own cache */

bool world_make_cache(struct world_cache *cache)
{
	struct world_heap *heap = &world.heap[cache->heap];

	cache->state = WORLD_BUSY;
	cache->given = 0;
	dry_port_set_errno(0);
	cache->cache = dry_cache_create(heap->heap, &cache->attr);
	dry_sim_say("== %s: create -> %p", cache->name, (void *)cache->cache);
	if (cache->cache == NULL) {
		/* Not every type fits every size. */
		if (dry_port_get_errno() != DRY_EINVAL)
			world_refused(heap, "create");
		cache->state = WORLD_ABSENT;
		return false;
	}
	cache->state = WORLD_LIVE;
	return true;
}

/* A cache of the task's own, from its first to its last moment; the others keep house meanwhile. */
void op_own_cache(unsigned task, struct rng *rng)
{
	struct world_cache own = { .live = 0 };
	void *at[OWN];
	size_t count = rng_below(rng, OWN);
	int rc;

	(void)task;
	world_plan_cache(&own, WORLD_CACHES + 1, (unsigned)rng_below(rng, world.plan.heaps), rng);
	own.attr.flags |= DRY_CACHE_NO_MERGE;
	if (rng_below(rng, 2) != 0) /* so that shared arrays get something, too */
		own.attr.limit = 1 + (unsigned)rng_below(rng, 16);
	if (!world_make_cache(&own))
		return;
	for (size_t i = 0; i < count; i++) {
		at[i] = dry_cache_alloc(own.cache);
		if (at[i] == NULL) {
			world_refused(&world.heap[own.heap], "own cache");
			count = i;
		} else if (own.attr.ctor == NULL) {
			pattern_fill(at[i], own.attr.size);
		}
	}
	for (size_t i = 0; i < count; i++) {
		if (at[i] != NULL && own.attr.ctor == NULL && !pattern_holds(at[i], own.attr.size))
			dry_sim_fail("payload: object %p of a task's own cache was changed", at[i]);
		dry_cache_free(own.cache, at[i]);
	}
	rc = dry_cache_destroy(own.cache);
	dry_sim_say("== own cache: %zu objects, destroy -> %d", count, rc);
	while (rc == -DRY_EBUSY && world.plan.setup.thread_slots) /* others are inside of a sequence */
		rc = dry_cache_destroy(own.cache);
	if (rc != 0)
		dry_sim_fail("destroy: %d of a cache with no objects out", rc);
}

/* Objects of a cache that shares slabs may outlive its name, but here they do not. */
bool world_shares(const struct world_cache *cache)
{
	return cache->cache->root != cache->cache || cache->cache->mergeable;
}

static void unmake_cache(struct world_cache *cache)
{
	int rc;

	cache->state = WORLD_BUSY;
	rc = dry_cache_destroy(cache->cache);
	dry_sim_say("== %s: destroy -> %d", cache->name, rc);
	/* A thread that stays inside of a sequence keeps objects from being found. */
	if (rc != (cache->live == 0 ? 0 : -DRY_EBUSY) && !(rc == -DRY_EBUSY && world.plan.setup.thread_slots))
		dry_sim_fail("destroy: %d with %zu objects out", rc, cache->live);
	cache->state = rc == 0 ? WORLD_ABSENT : WORLD_LIVE;
}

void op_make(unsigned task, struct rng *rng)
{
	struct world_cache *cache = &world.cache[rng_below(rng, world.plan.caches)];

	(void)task;
	if (cache->state == WORLD_ABSENT) {
		world_plan_cache(cache, (unsigned)(cache - world.cache), cache->heap, rng);
		world_make_cache(cache);
	} else if (cache->state == WORLD_LIVE && cache->users == 0 && (cache->live == 0 || !world_shares(cache))) {
		unmake_cache(cache);
	}
}

/* ---- a heap of its own ------------------------------------------------------------------- */

static void use_heap(dry_heap *heap, struct rng *rng, dry_cache *stable)
{
	void *at[OWN];
	size_t count = rng_below(rng, OWN);

	for (size_t i = 0; i < count; i++)
		at[i] = stable != NULL && i % 2 ? dry_cache_alloc(stable) : dry_alloc(heap, rng_size(rng, 13));
	for (size_t i = 0; i < count; i++) {
		if (at[i] == NULL || i % 8 == 0) /* a heap goes with what is in it */
			continue;
		if (stable != NULL && i % 2)
			dry_cache_free(stable, at[i]);
		else
			dry_free(heap, at[i]);
	}
	if (stable != NULL)
		dry_cache_shrink(stable);
	if (rng_below(rng, 2) == 0)
		dry_heap_reap(heap);
}

/* Made while memory may be refused; destroyed with objects in it and with slabs that wait for readers. */
void op_own_heap(unsigned task, struct rng *rng)
{
	struct dry_cache_attr stable = { .name = "stable", .size = 128, .ctor = ledger_construct };
	struct world_heap own;
	dry_heap *heap;
	size_t before = dry_sim_reserved();

	(void)task;
	world_plan_heap(&own, rng);
	own.attr.memory_size = 0;
	own.attr.page_size = 0;
	own.attr.limit = (size_t)4 << 20;
	stable.flags = DRY_CACHE_TYPESAFE_BY_RCU;
	/* As long as others find address space, too. */
	if (before > ((size_t)3 << 30))
		return;
	dry_port_set_errno(0);
	heap = dry_heap_create(&own.attr);
	dry_sim_say("== own heap -> %p", (void *)heap);
	if (heap == NULL) {
		if (dry_port_get_errno() != DRY_ENOMEM)
			dry_sim_fail("own heap: NULL and errno %d", dry_port_get_errno());
		return;
	}
	use_heap(heap, rng, dry_cache_create(heap, &stable));
	if (dry_heap_destroy(heap) != 0)
		dry_sim_fail("own heap: it cannot be destroyed");
}

/* ---- a promise -------------------------------------------------------------------------- */

/* While the page source refuses everything, the next n allocations succeed. */
static void keep_promise(struct world_cache *cache, size_t n)
{
	void *at[OWN];

	dry_sim_refuse(true);
	for (size_t i = 0; i < n; i++) {
		at[i] = dry_cache_alloc(cache->cache);
		if (at[i] == NULL)
			dry_sim_fail("prefill: object %zu of %zu is not there", i, n);
	}
	dry_sim_refuse(false);
	cache->given += n;
	for (size_t i = 0; i < n; i++)
		dry_cache_free(cache->cache, at[i]);
}

void op_prefill(unsigned task, struct rng *rng)
{
	struct world_cache *cache = world_get_cache(rng);
	size_t n = rng_below(rng, OWN);
	int rc;

	(void)task;
	if (cache == NULL)
		return;
	rc = dry_cache_prefill(cache->cache, n);
	dry_sim_say("== %s: prefill %zu -> %d", cache->name, n, rc);
	if (rc != 0 && (rc != -DRY_ENOMEM || !world.heap[cache->heap].may_refuse))
		dry_sim_fail("prefill: %d", rc);
	/* Only where nobody else can take what was promised. */
	if (rc == 0 && world.plan.setup.tasks == 1 && world.plan.setup.interrupt == NULL)
		keep_promise(cache, n);
	world_put_cache(cache);
}

/* ---- fork --------------------------------------------------------------------------------- */

static char *child_text; /* shared with the child */

static void child_failed(const char *text)
{
	snprintf(child_text, 256, "%s", text);
	_exit(1);
}

/* All that a child has to find in order: locks, equations, and memory to go on with. */
static void child_lives(struct rng *rng)
{
	dry_sim_alone(child_failed);
	dry_port_forked();
	dry_heaps_unlock_all(true);
	for (unsigned i = 0; i < world.plan.heaps; i++) {
		dry_heap *heap = world.heap[i].heap;

		if (dry_heap_check(heap) != 0)
			dry_sim_fail("%s", dry_sim_last_line());
		for (unsigned n = 0; n < 20; n++)
			dry_free(heap, dry_alloc(heap, rng_size(rng, 14)));
	}
	for (unsigned i = 0; i < world.plan.caches; i++) {
		if (world.cache[i].state != WORLD_LIVE)
			continue;
		dry_cache_free(world.cache[i].cache, dry_cache_alloc(world.cache[i].cache));
	}
	for (unsigned i = 0; i < world.plan.heaps; i++)
		dry_heap_trim(world.heap[i].heap);
	for (unsigned i = 0; i < world.plan.heaps; i++)
		if (dry_heap_check(world.heap[i].heap) != 0)
			dry_sim_fail("%s", dry_sim_last_line());
}

static void real_fork(struct rng *rng)
{
	int status = 0;
	pid_t child;

	if (child_text == NULL)
		child_text = mmap(NULL, 256, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (child_text == MAP_FAILED)
		dry_sim_fail("no memory for a fork");
	child_text[0] = '\0';
	fflush(stdout);
	child = fork();
	if (child == 0) {
		child_lives(rng);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		dry_sim_fail("fork does not work");
	if (status != 0)
		dry_sim_fail("in a fork's child: %s", child_text[0] != '\0' ? child_text : "signal");
}

/* What fork() does to the library; now and then with the fork. */
void op_lock_all(unsigned task, struct rng *rng)
{
	bool fork_too = rng_below(rng, 4) == 0;

	(void)task;
	dry_sim_say("== all locks%s", fork_too ? ", and fork" : "");
	dry_heaps_lock_all();
	if (fork_too)
		real_fork(rng);
	dry_heaps_unlock_all(false);
}
