/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A point: where the simulated machine may do something else. Every contract call, every
 * atomic access (stdatomic.h here) and every step of a sequence on an array (percpu.h here) is one,
 * just before it happens; between two points a task runs alone. A point is a step.
 *
 * The scheduler decides in advance how many steps the task may take (dry_sim_budget), so a
 * step at which nothing happens costs a decrement and a branch.
 */
#ifndef DRY_PORT_SIM_POINT_H
#define DRY_PORT_SIM_POINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* Steps until the scheduler looks. */
extern long dry_sim_budget;

/* What happens instead: schedule.c. what, where, line: for the timeline. */
DRY_SLOW void dry_sim_turn(const char *what, const char *where, int line);

/* The instrumentation of the fine machine (access.c) must not reach what the machine itself does. */
#ifdef DRY_SIM_FINE
#define DRY_SIM_PLAIN static __attribute__((noinline, unused, no_sanitize("thread")))
#else
#define DRY_SIM_PLAIN static inline
#endif

DRY_SIM_PLAIN void dry_sim_point(const char *what, const char *where, int line)
{
	if (DRY_UNLIKELY(--dry_sim_budget <= 0))
		dry_sim_turn(what, where, line);
}

#define DRY_SIM_POINT(what) dry_sim_point(what, __func__, __LINE__)

/* A sequence of the current task: whether it is inside of one, and whether it has to start again. */
struct dry_sim_sequence {
	bool inside;
	bool aborted;
	unsigned aborts; /* of all sequences */
};
extern struct dry_sim_sequence *dry_sim_sequence;

/* The slot that the current task runs on; whether tasks own their slots. */
uint32_t dry_sim_slot(void);
extern bool dry_sim_slots_owned;
DRY_SLOW void dry_sim_flag_lost(void);

extern unsigned dry_sim_uncounted; /* objects that were handed out as a countdown ended */

#endif
