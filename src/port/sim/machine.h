/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the files of the simulated machine share among themselves.
 *
 * Equations: a task is ON_CPU if and only if cpu[task->cpu].current == task; a CPU with an
 * interrupted task runs that task's handler. running[] holds the tasks ON_CPU, ready[] those READY,
 * idle[] the CPUs without a task.
 */
#ifndef DRY_PORT_SIM_MACHINE_H
#define DRY_PORT_SIM_MACHINE_H

#include "base/bits.h"
#include "port/contract.h"
#include "port/sim/point.h"
#include "port/sim/sim.h"

enum dry_sim_state {
	DRY_SIM_UNUSED,
	DRY_SIM_READY,
	DRY_SIM_ON_CPU,
	DRY_SIM_BLOCKED,
	DRY_SIM_INTERRUPTED,
	DRY_SIM_DONE
};

struct dry_sim_context {
	void *stack_pointer;
	char *stack; /* lowest byte; NULL: the host's */
	size_t size;
	void *fake; /* address sanitizer's */
};

struct dry_sim_one {
	struct dry_sim_context context;
	struct dry_sim_sequence sequence;
	enum dry_sim_state state;
	uint16_t id;
	uint16_t cpu;                 /* ON_CPU: where; else where it was last */
	uint32_t place;               /* in running[] or ready[] */
	uint32_t op, step;            /* step within op, up to the last grant */
	uint64_t steps;               /* all of its steps, up to the last grant */
	uint32_t held;                /* locks */
	uint8_t rank[DRY_RANK_COUNT]; /* of them, those that count */
	struct dry_lock *waits;       /* BLOCKED: for what */
	int error;                    /* its errno */
	uint32_t seed;                /* handler: of its interrupt */
	size_t event, event_end;      /* replay: its part of the list */
};

struct dry_sim_processor {
	struct dry_sim_one *current;
	struct dry_sim_one *interrupted;
	uint64_t stalled_until; /* events */
	uint32_t place;         /* in idle[] */
};

struct dry_sim_machine {
	struct dry_sim_setup setup;
	struct dry_sim_one task[DRY_SIM_ALL];
	struct dry_sim_processor cpu[DRY_SIM_CPUS];
	struct dry_sim_one *current, *driver;
	struct dry_sim_one *running[DRY_SIM_ALL], *ready[DRY_SIM_ALL];
	uint16_t idle[DRY_SIM_CPUS];
	uint32_t running_count, ready_count, idle_count;
	uint32_t left; /* tasks that have to return before dry_sim_run() does */
	void (*body)(unsigned task);
	void (*helper)(void);    /* dry_port_thread_start() */
	uint64_t random, secret; /* states of the scheduler's stream and of dry_port_random()'s */
	uint64_t steps, events;
	long granted; /* what dry_sim_budget was at the last grant */
	long ahead;   /* trace only: steps until the next decision */
	size_t recorded;
	uint64_t clock;
};
extern struct dry_sim_machine dry_sim;
#define DRY_SIM_DRIVER (DRY_SIM_ALL - 1)

/* random.c is not worth a file: SplitMix64 (Steele, Lea, Flood 2014). */
static inline uint32_t dry_sim_random(uint32_t below)
{
	return (uint32_t)((dry_mix64(dry_sim.random += 0x9e3779b97f4a7c15u) >> 32) * below >> 32);
}

/* machine.c */
/* Bring the counts of steps up to date. */
void dry_sim_account(void);

/* context.c */
void dry_sim_context_make(struct dry_sim_context *context, void (*entry)(void));
void dry_sim_context_switch(struct dry_sim_context *from, struct dry_sim_context *to);
/* First thing on a new stack. */
void dry_sim_context_enter(void);

/* place.c: which task is where */
void dry_sim_place_clear(void);
void dry_sim_make_ready(struct dry_sim_one *task);
void dry_sim_put_on_cpu(struct dry_sim_one *task, unsigned cpu);
/* Off its CPU, into `state`; whoever has a right to the CPU gets it. */
void dry_sim_leave_cpu(struct dry_sim_one *task, enum dry_sim_state state);
void dry_sim_swap_cpus(struct dry_sim_one *a, struct dry_sim_one *b);
void dry_sim_move(struct dry_sim_one *task, unsigned cpu);
void dry_sim_preempt(struct dry_sim_one *task, struct dry_sim_one *by);
void dry_sim_interrupt(struct dry_sim_one *task, struct dry_sim_one *handler);

/* event.c: decisions */
/* What happens at this point, or (kind NEXT, FAIL) whether and what; false: nothing. */
bool dry_sim_decide(struct dry_sim_event *event);
bool dry_sim_decide_next(struct dry_sim_event *event);
bool dry_sim_decide_failure(void);
/* Steps until the current task's next decision. */
long dry_sim_distance(void);

/* memory.c */
bool dry_sim_owns_address(const void *address);

/* schedule.c */
/* The current task gets steps until its next decision. */
void dry_sim_grant(void);
/* The current task, which is no longer ON_CPU or lets others go first, hands over. */
void dry_sim_hand_over(void);

#endif
