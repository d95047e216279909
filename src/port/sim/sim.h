/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The simulated machine, for the programs that drive it (tests/sim).
 *
 * Tasks are coroutines in one thread of the host. A task is on a CPU, ready, blocked on a lock, or done:
 *
 *            gets a CPU            lock held
 *   READY ---------------> ON_CPU -----------> BLOCKED
 *     ^                     | |  \                |
 *     +--- preempt, yield --+ |   +--> DONE       |
 *     +-----------------------+-------------------+ released
 *
 * Of the tasks on CPUs one takes steps until the scheduler, at a point (point.h), does something
 * else: an event. Events come from the seed, or from a list (replay). They are named by the task,
 * the number of its operation and the step in it, so that a list with some operations or
 * events taken out still means the same for what is left: that is what shrinking lives on.
 *
 * Must not know: heaps, caches, pages; what an operation does.
 */
#ifndef DRY_PORT_SIM_SIM_H
#define DRY_PORT_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/rank.h"

#define DRY_SIM_CPUS  64
#define DRY_SIM_TASKS 128                                /* that run operations */
#define DRY_SIM_ALL   (DRY_SIM_TASKS + DRY_SIM_CPUS + 2) /* and one interrupt a CPU, a helper thread, the driver */

enum dry_sim_kind {
	DRY_SIM_SWITCH = 1, /* go on with the task arg, on another CPU */
	DRY_SIM_STALL,      /* likewise, and this CPU stands still for some events */
	DRY_SIM_PREEMPT,    /* the ready task arg gets this CPU */
	DRY_SIM_MIGRATE,    /* to CPU arg; what runs there comes here */
	DRY_SIM_ABORT,      /* interrupted and gone on with: a sequence starts again */
	DRY_SIM_INTERRUPT,  /* a handler runs on this CPU; arg is its seed */
	DRY_SIM_CLOCK,      /* arg milliseconds pass at once */
	DRY_SIM_NEXT,       /* the task cannot go on: the task arg does */
	DRY_SIM_FAIL,       /* a request for pages is refused */
};

struct dry_sim_event {
	uint16_t task;
	uint16_t kind; /* enum dry_sim_kind */
	uint32_t op, step;
	uint32_t arg;
};

/* What holds for a run. Zero-initialise, then set what matters. */
struct dry_sim_setup {
	unsigned cpus, nodes, tasks;
	bool thread_slots;      /* a slot a task and no aborts, instead of a slot a CPU and sequences that restart */
	unsigned slot_distance; /* between the slots of neighbouring CPUs: ids may be sparse; 0: 1 */
	unsigned distance;      /* mean steps between events; 0: no events but those listed */
	unsigned fail_one_in;   /* requests for pages that fail; 0: none */
	bool lockstep;          /* no events: one step of each task in turn */
	bool strict_memory;     /* what is not committed faults */
	size_t address_room;    /* bytes of address space, 16 MiB to 4 GiB; 0: 4 GiB */
	uint64_t seed;
	uint64_t most_steps; /* beyond: reported as a task that never ends */
	bool trace;          /* print each step */
	/* replay: by task, in order of their time; NULL: from the seed */
	const struct dry_sim_event *events;
	size_t event_count;
	/* where what happens is written down; NULL: nowhere */
	struct dry_sim_event *record;
	size_t record_room;
	void (*interrupt)(uint32_t seed); /* body of a handler; NULL: no interrupts */
	void (*inspect)(void);            /* between two steps, every so many events */
	unsigned inspect_every;
	void (*failed)(const char *text); /* gets a line without the newline; does not return */
};

/* run.c: the machine is new; no task runs. */
void dry_sim_begin(const struct dry_sim_setup *setup);
/* Run body(task) as every task, until all have returned. */
void dry_sim_run(void (*body)(unsigned task));
/* The current task begins its operation number op. */
void dry_sim_operation(uint32_t op);
/* Its own number; the driver's is DRY_SIM_ALL - 1. */
unsigned dry_sim_task(void);
unsigned dry_sim_cpu(void);
/* Locks that it holds. */
unsigned dry_sim_locks_held(void);
/* Steps of all tasks, or of the current task, since dry_sim_begin(). */
uint64_t dry_sim_steps(void);
uint64_t dry_sim_own_steps(void);
/* Events written down so far. */
size_t dry_sim_recorded(void);
/* Let others run before the current task goes on. */
void dry_sim_yield(void);
/* In the child of a fork: the current task is the only one from here on. */
void dry_sim_alone(void (*failed)(const char *text));
/* Something does not hold: does not return. */
DRY_SLOW _Noreturn void dry_sim_fail(const char *format, ...) DRY_PRINTF(1, 2);
/* The last line that the library wrote. */
const char *dry_sim_last_line(void);
/* A line of the timeline, if there is one. */
void dry_sim_say(const char *format, ...) DRY_PRINTF(1, 2);

/* memory.c */
void dry_sim_memory_begin(size_t room, bool strict);
/* Refuse every request, or go on as before. */
void dry_sim_refuse(bool all);
/* Bytes reserved, and bytes committed, now. */
size_t dry_sim_reserved(void);
size_t dry_sim_committed(void);
/* The node, + 1, on which memory was placed; 0: none. */
unsigned dry_sim_node_of(const void *at);

/* lock.c: by rank, since dry_sim_begin(). */
struct dry_sim_lock_stats {
	uint64_t acquired, tried; /* got; asked for in vain by a try */
	uint64_t waits;           /* acquisitions that had to wait */
	uint64_t wait_steps;      /* of the whole machine */
	uint64_t hold_steps;      /* of the holder */
};
extern struct dry_sim_lock_stats dry_sim_lock_stats[DRY_RANK_COUNT];

#endif
