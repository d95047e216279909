/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The scheduler: runs tasks, and lets happen what was decided. */
#include <limits.h>
#include <stdlib.h>

#include "port/sim/machine.h"

#define STALLED 64 /* events that a CPU stands still, at most */

/* ---- steps -------------------------------------------------------------------------- */

/* A trace looks at each step, but decides nothing then. */
static void give(long steps)
{
	dry_sim.granted = dry_sim_budget = dry_sim.setup.trace ? 1 : steps;
}

void dry_sim_grant(void)
{
	if (dry_sim.current == dry_sim.driver) {
		dry_sim.granted = dry_sim_budget = LONG_MAX;
		return;
	}
	dry_sim.ahead = dry_sim_distance();
	give(dry_sim.ahead);
}

void dry_sim_operation(uint32_t op)
{
	dry_sim_account();
	dry_sim.current->op = op;
	dry_sim.current->step = 0;
	if (dry_sim.setup.events != NULL)
		dry_sim_grant();
}

/* ---- switching ---------------------------------------------------------------------- */

static void resume(struct dry_sim_one *next)
{
	struct dry_sim_one *self = dry_sim.current;

	dry_sim.current = next;
	dry_sim_sequence = &next->sequence;
	dry_sim_grant();
	if (next != self)
		dry_sim_context_switch(&self->context, &next->context);
}

/* The task on a CPU whose number follows the current one's. */
static struct dry_sim_one *in_turn(void)
{
	unsigned self = dry_sim.current->id;
	struct dry_sim_one *best = dry_sim.running[0];

	for (uint32_t i = 1; i < dry_sim.running_count; i++) {
		struct dry_sim_one *task = dry_sim.running[i];
		unsigned a = (task->id + DRY_SIM_ALL - self - 1) % DRY_SIM_ALL;
		unsigned b = (best->id + DRY_SIM_ALL - self - 1) % DRY_SIM_ALL;
		if (a < b)
			best = task;
	}
	return best;
}

void dry_sim_hand_over(void)
{
	struct dry_sim_event event;
	struct dry_sim_one *next;

	dry_sim_account();
	if (dry_sim.left == 0) {
		resume(dry_sim.driver);
		return;
	}
	if (dry_sim.running_count == 0)
		dry_sim_fail("deadlock: %u tasks wait for each other", dry_sim.left);
	if (dry_sim.running_count > 1 && dry_sim_decide_next(&event) &&
	    dry_sim.task[event.arg % DRY_SIM_ALL].state == DRY_SIM_ON_CPU)
		next = &dry_sim.task[event.arg % DRY_SIM_ALL];
	else
		next = in_turn();
	resume(next);
}

void dry_sim_yield(void)
{
	struct dry_sim_one *task = dry_sim.current;

	if (task == dry_sim.driver)
		dry_sim_fail("the driver waits for a task");
	if (dry_sim.ready_count != 0 || dry_sim.cpu[task->cpu].interrupted != NULL)
		dry_sim_leave_cpu(task, DRY_SIM_READY);
	dry_sim_hand_over();
}

/* ---- what happens ------------------------------------------------------------------- */

/* The kernel got in between: with sequences that restart, this one has to. */
static void disturb(struct dry_sim_one *task)
{
	if (!dry_sim.setup.thread_slots)
		task->sequence.aborted = true;
}

static void handler_entry(void)
{
	struct dry_sim_one *self = dry_sim.current;

	dry_sim_context_enter();
	dry_sim.setup.interrupt(self->seed);
	if (self->held != 0)
		dry_sim_fail("a handler returns with %u locks held", self->held);
	dry_sim_account();
	dry_sim_leave_cpu(self, DRY_SIM_DONE);
	dry_sim.left--;
	dry_sim_hand_over();
	abort();
}

static void interrupt(struct dry_sim_one *task, uint32_t seed)
{
	struct dry_sim_one *handler = &dry_sim.task[DRY_SIM_TASKS + task->cpu];
	bool busy = handler->state != DRY_SIM_UNUSED && handler->state != DRY_SIM_DONE;

	/* As with interrupts off while a lock is held; and handlers are not interrupted. */
	if (task->held != 0 || busy || dry_sim.cpu[task->cpu].interrupted != NULL || task->id >= DRY_SIM_TASKS)
		return;
	disturb(task);
	handler->seed = seed;
	handler->op++;
	handler->step = 0;
	dry_sim.left++;
	dry_sim_context_make(&handler->context, handler_entry);
	dry_sim_interrupt(task, handler);
	resume(handler);
}

static void migrate(struct dry_sim_one *task, unsigned cpu)
{
	struct dry_sim_processor *to = &dry_sim.cpu[cpu % dry_sim.setup.cpus];

	if (dry_sim.cpu[task->cpu].interrupted != NULL || to->interrupted != NULL)
		return;
	disturb(task);
	if (to->current == task)
		return;
	if (to->current != NULL) {
		disturb(to->current);
		dry_sim_swap_cpus(task, to->current);
		return;
	}
	dry_sim_move(task, cpu % dry_sim.setup.cpus);
	if (task->state != DRY_SIM_ON_CPU)
		dry_sim_hand_over();
}

static void preempt(struct dry_sim_one *task, struct dry_sim_one *by)
{
	if (by->state != DRY_SIM_READY || dry_sim.cpu[task->cpu].interrupted != NULL)
		return;
	disturb(task);
	dry_sim_preempt(task, by);
	resume(by);
}

static void stall(struct dry_sim_one *task, uint32_t event_step)
{
	dry_sim.cpu[task->cpu].stalled_until = dry_sim.events + 1 + event_step * 7 % STALLED;
}

static void happen(const struct dry_sim_event *event)
{
	static const char *const name[] = {
		[DRY_SIM_SWITCH] = "switch to task",     [DRY_SIM_STALL] = "this CPU stands still, switch to task",
		[DRY_SIM_PREEMPT] = "preempted by task", [DRY_SIM_MIGRATE] = "migrates to CPU",
		[DRY_SIM_ABORT] = "interrupted",         [DRY_SIM_INTERRUPT] = "interrupted by a handler, seed",
		[DRY_SIM_CLOCK] = "milliseconds go by:",
	};
	struct dry_sim_one *task = dry_sim.current, *other = &dry_sim.task[event->arg % DRY_SIM_ALL];

	dry_sim_say("---- %s %u", name[event->kind], event->arg);
	switch (event->kind) {
	case DRY_SIM_STALL:
		stall(task, event->step);
		/* fall through */
	case DRY_SIM_SWITCH:
		if (other->state == DRY_SIM_ON_CPU)
			resume(other);
		break;
	case DRY_SIM_PREEMPT:
		preempt(task, other);
		break;
	case DRY_SIM_MIGRATE:
		migrate(task, event->arg);
		break;
	case DRY_SIM_ABORT:
		disturb(task);
		break;
	case DRY_SIM_INTERRUPT:
		if (dry_sim.setup.interrupt != NULL)
			interrupt(task, event->arg);
		break;
	default:
		dry_sim.clock += event->arg;
	}
}

/* Between two steps of the current task, look at everything. */
static void inspect(void)
{
	struct dry_sim_one *task = dry_sim.current;

	dry_sim.current = dry_sim.driver;
	dry_sim_sequence = &dry_sim.driver->sequence;
	dry_sim_budget = LONG_MAX;
	dry_sim.setup.inspect();
	dry_sim.current = task;
	dry_sim_sequence = &task->sequence;
	dry_sim_budget = dry_sim.granted;
}

void dry_sim_turn(const char *what, const char *where, int line)
{
	struct dry_sim_event event;

	dry_sim_account();
	if (dry_sim.current == dry_sim.driver) {
		dry_sim_budget = dry_sim.granted = LONG_MAX;
		return;
	}
	dry_sim_say("%s:%d: %s", where, line, what);
	if (dry_sim.setup.trace && --dry_sim.ahead > 0) {
		give(dry_sim.ahead);
		return;
	}
	if (dry_sim.steps > dry_sim.setup.most_steps && dry_sim.setup.most_steps != 0)
		dry_sim_fail("no end after %llu steps", (unsigned long long)dry_sim.steps);
	if (dry_sim.setup.lockstep) {
		resume(dry_sim.running[(dry_sim.current->place + 1) % dry_sim.running_count]);
		return;
	}
	if (dry_sim_decide(&event)) {
		dry_sim.events++;
		if (dry_sim.setup.inspect_every != 0 &&
		    (dry_sim.setup.events != NULL || dry_sim.events % dry_sim.setup.inspect_every == 0))
			inspect();
		happen(&event);
	}
	dry_sim_grant();
}
