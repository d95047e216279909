/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the simulated tasks work on: heaps and caches as a seed has them, what each task holds, and a
 * ledger outside of the library of who owns which object.
 *
 *   plan.c    seed -> machine, heaps, caches
 *   ledger.c  owned objects: each once, its payload intact
 *   grace.c   grace periods and their readers
 *   operate.c, lifetime.c   what tasks do
 *   rest.c    what must hold while nothing runs, and between two steps
 *   episode.c one run of one seed
 *   shrink.c  from a seed that fails to a short trace
 *
 * Everything here is plain data: tasks only switch inside of the library, so no lock is needed.
 */
#ifndef DRY_TESTS_SIM_WORLD_H
#define DRY_TESTS_SIM_WORLD_H

#include <drystone/drystone.h>
#include <string.h>

#include "heap/heap.h"
#include "port/sim/sim.h"
#include "support/random.h"

#define WORLD_HEAPS   3
#define WORLD_CACHES  10
#define WORLD_HELD    40
#define WORLD_BOXES   64
#define WORLD_PHASES  4
#define WORLD_GENERAL WORLD_CACHES /* kind of an object that is of no cache */

struct world_object {
	void *at; /* NULL: nothing here */
	uint32_t size;
	uint8_t heap, kind; /* kind: number of its cache, or WORLD_GENERAL */
	bool full;          /* all of it carries the pattern, not only both ends */
};

enum world_state { WORLD_ABSENT, WORLD_BUSY, WORLD_LIVE };

struct world_cache {
	dry_cache *cache;
	struct dry_cache_attr attr;
	char name[16];
	uint8_t heap;
	enum world_state state;
	unsigned users; /* calls under way */
	size_t live;    /* objects that tasks own */
	uint64_t given; /* objects that it has given out since it was made */
};

struct world_heap {
	dry_heap *heap;
	struct dry_heap_attr attr;
	struct dry_grace grace;
	bool may_refuse; /* memory may really run out */
};

/* What a seed stands for. */
struct world_plan {
	struct dry_sim_setup setup;
	uint64_t seed, steps; /* steps: about how many */
	unsigned phases, heaps, caches;
	unsigned general, extents; /* percent: of objects that are of no cache; of these, extents */
	bool plant, housekeeping;  /* housekeeping: much of it */
};

struct world {
	struct world_plan plan;
	struct world_heap heap[WORLD_HEAPS];
	struct world_cache cache[WORLD_CACHES];
	struct world_object held[DRY_SIM_TASKS][WORLD_HELD];
	struct world_object box[WORLD_BOXES]; /* on its way from task to task */
	size_t built; /* objects constructed and not yet destructed */
	unsigned phase;
};
extern struct world world;

/* Limits from the command line; 0: as the seed has it. */
struct world_wish {
	unsigned cpus, nodes, tasks;
	uint64_t steps;
	bool plant; /* a bug in the tasks, to see it found */
};

/* plan.c */
void world_plan(struct world_plan *plan, uint64_t seed, const struct world_wish *wish);
void world_plan_heap(struct world_heap *heap, struct rng *rng);
void world_plan_cache(struct world_cache *cache, unsigned number, unsigned heap, struct rng *rng);
/* "64 CPUs, 4 nodes, ..." */
void world_plan_print(const struct world_plan *plan, char *text, size_t size);

/* ledger.c */
void ledger_clear(void);
/* A new object comes to who asked for it: nobody else may have it; it gets its pattern. */
void ledger_add(struct world_object *object, bool full);
/* Its owner gives it back: the pattern must be there. */
void ledger_remove(struct world_object *object);
void ledger_verify(const struct world_object *object);
size_t ledger_each(void (*fn)(const struct world_object *object, void *arg), void *arg);
/* The constructor of all caches that have one, and what it promises. */
void ledger_construct(void *object, void *arg);
/* Its destructor. Both count in *arg, if there is one. */
void ledger_destruct(void *object, void *arg);

/* grace.c */
void grace_clear(void);
void grace_init(struct dry_grace *grace);
/* A read-side section of the current task. */
void grace_enter(void);
void grace_leave(void);
/* Run what no reader keeps back any more. */
void grace_poll(void);
void grace_barrier(void *arg);

/* operate.c */
void world_operate(unsigned task, uint32_t op);
void world_interrupt(uint32_t seed);
/* NULL is for those only who may run out of memory. */
void world_refused(const struct world_heap *heap, const char *what);
/* A cache to work with, held alive until world_put_cache(); NULL: the one chosen is not there. */
struct world_cache *world_get_cache(struct rng *rng);
void world_put_cache(struct world_cache *cache);
/* Give an object back, whoever held it. */
void world_give_back(struct world_object *object);

/* lifetime.c: operations on whole caches and heaps */
bool world_make_cache(struct world_cache *cache);
/* Whether its slabs may be, or come to be, those of others, too. */
bool world_shares(const struct world_cache *cache);
void op_make(unsigned task, struct rng *rng);
void op_own_cache(unsigned task, struct rng *rng);
void op_own_heap(unsigned task, struct rng *rng);
void op_prefill(unsigned task, struct rng *rng);
void op_lock_all(unsigned task, struct rng *rng);

/* rest.c */
void world_check_rest(void);
void world_check_between_steps(void);

/* episode.c: for a replay, which operations to run and which events to let happen. */
#define EPISODE_OPS 4096 /* of one task, at most */
struct episode {
	uint64_t seed;
	struct world_wish wish;
	bool replay, trace;
	uint32_t end[DRY_SIM_TASKS][WORLD_PHASES]; /* operations of a task up to the end of a phase */
	unsigned char skip[DRY_SIM_TASKS][EPISODE_OPS];
	struct dry_sim_event *events; /* replay: what happens; else room to write it down */
	size_t event_count, event_room;
	void (*failed)(const char *text);
};
/* Returns steps taken; does not return if something does not hold. */
uint64_t episode_run(struct episode *episode);
/* Orders events by task; for replay. */
void episode_sort(struct dry_sim_event *events, size_t count);

/* shrink.c: prints what it finds. */
void shrink_and_print(uint64_t seed, const struct world_wish *wish, unsigned seconds);

#endif
