/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The scheduler: runs tasks, and lets happen what was decided. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "port/sim/machine.h"

#define DRIVER  (DRY_SIM_ALL - 1)
#define HELPER  (DRY_SIM_ALL - 2)
#define STALLED 64 /* events that a CPU stands still, at most */
#define BEGUN   20 /* times that a sequence is begun before it is let through */

struct dry_sim_machine dry_sim;
struct dry_sim_sequence *dry_sim_sequence = &dry_sim.task[DRIVER].sequence;
long dry_sim_budget = LONG_MAX;

/* ---- reports ------------------------------------------------------------------------ */

void dry_sim_fail(const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	dry_sim_say("FAILED: %s", text);
	if (dry_sim.setup.failed != NULL)
		dry_sim.setup.failed(text);
	fprintf(stderr, "simulation: %s\n", text);
	abort();
}

void dry_sim_say(const char *format, ...)
{
	const struct dry_sim_one *task = dry_sim.current;
	va_list ap;

	if (!dry_sim.setup.trace)
		return;
	dry_sim_account();
	if (task == dry_sim.driver)
		printf("%8llu%22s", (unsigned long long)dry_sim.steps, "");
	else
		printf("%8llu %3u %c%-3u %5u:%-5u ", (unsigned long long)dry_sim.steps, task->cpu,
		       task->id < dry_sim.setup.tasks ? 't' : 'i',
		       task->id < dry_sim.setup.tasks ? task->id : task->id - DRY_SIM_TASKS, task->op, task->step);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
}

/* ---- steps -------------------------------------------------------------------------- */

/* A trace looks at each step, but decides nothing then. */
static void give(long steps)
{
	dry_sim.granted = dry_sim_budget = dry_sim.setup.trace ? 1 : steps;
}

static void grant(void)
{
	if (dry_sim.current == dry_sim.driver) {
		dry_sim.granted = dry_sim_budget = LONG_MAX;
		return;
	}
	dry_sim.ahead = dry_sim_distance();
	give(dry_sim.ahead);
}

void dry_sim_account(void)
{
	uint64_t taken = (uint64_t)(dry_sim.granted - dry_sim_budget);

	if (dry_sim.current == dry_sim.driver)
		return;
	dry_sim.current->step += (uint32_t)taken;
	dry_sim.current->steps += taken;
	dry_sim.steps += taken;
	dry_sim.granted = dry_sim_budget;
}

uint64_t dry_sim_steps(void)
{
	dry_sim_account();
	return dry_sim.steps;
}

uint64_t dry_sim_own_steps(void)
{
	dry_sim_account();
	return dry_sim.current->steps;
}

void dry_sim_operation(uint32_t op)
{
	dry_sim_account();
	dry_sim.current->op = op;
	dry_sim.current->step = 0;
	if (dry_sim.setup.events != NULL)
		grant();
}

unsigned dry_sim_task(void)
{
	return dry_sim.current->id;
}

unsigned dry_sim_cpu(void)
{
	return dry_sim.current->cpu;
}

unsigned dry_sim_locks_held(void)
{
	return dry_sim.current->held;
}

size_t dry_sim_recorded(void)
{
	return dry_sim.recorded;
}

/* ---- switching ---------------------------------------------------------------------- */

static void resume(struct dry_sim_one *next)
{
	struct dry_sim_one *self = dry_sim.current;

	dry_sim.current = next;
	dry_sim_sequence = &next->sequence;
	grant();
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

/*
 * A sequence that was begun that often is let through: where something happens at every other step, a batch of
 * two hundred would else never end, which no kernel's time slice does to it. A fence aborts it all the same.
 */
static bool let_through(const struct dry_sim_one *task)
{
	return task->sequence.inside && task->sequence.begun > BEGUN;
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
	if (to->current != NULL && let_through(to->current))
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
	if (event->kind != DRY_SIM_STALL && event->kind != DRY_SIM_SWITCH && let_through(task))
		return;
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
	grant();
}

/* ---- runs --------------------------------------------------------------------------- */

static void share_events(void)
{
	const struct dry_sim_event *events = dry_sim.setup.events;
	size_t count = dry_sim.setup.event_count;

	for (size_t i = 0; i < count;) {
		struct dry_sim_one *task = &dry_sim.task[events[i].task % DRY_SIM_ALL];
		task->event = i;
		while (i < count && events[i].task == task->id)
			i++;
		task->event_end = i;
	}
}

void dry_sim_begin(const struct dry_sim_setup *setup)
{
	struct dry_sim_context kept;

	for (unsigned i = 0; i < DRY_SIM_ALL; i++) {
		kept = dry_sim.task[i].context; /* stacks are used again */
		dry_sim.task[i] = (struct dry_sim_one){ .context = kept, .id = (uint16_t)i };
	}
	dry_sim.setup = *setup;
	dry_sim_slots_owned = setup->thread_slots;
	dry_sim.random = dry_sim_mix(setup->seed ^ 0x5eed);
	dry_sim.secret = dry_sim.random ^ 0x5ec;
	dry_sim.steps = dry_sim.events = dry_sim.clock = 0;
	dry_sim.recorded = 0;
	dry_sim.left = 0;
	dry_sim.helper = NULL;
	dry_sim.driver = dry_sim.current = &dry_sim.task[DRIVER];
	dry_sim_sequence = &dry_sim.driver->sequence;
	dry_sim_place_clear();
	share_events();
	memset(dry_sim_lock_stats, 0, sizeof(dry_sim_lock_stats));
	grant();
	dry_sim_memory_begin(setup->address_room, setup->strict_memory);
}

void dry_sim_alone(void (*failed)(const char *text))
{
	struct dry_sim_one *task = dry_sim.current;

	dry_sim_account();
	dry_sim.setup.failed = failed;
	dry_sim.setup.distance = dry_sim.setup.fail_one_in = 0;
	dry_sim.setup.events = NULL;
	dry_sim.setup.trace = false;
	dry_sim.setup.most_steps = dry_sim.steps + 1000000000;
	dry_sim.running[0] = task;
	task->place = 0;
	dry_sim.running_count = 1;
	dry_sim.ready_count = 0;
	for (unsigned i = 0; i < DRY_SIM_ALL; i++)
		if (&dry_sim.task[i] != task)
			dry_sim.task[i].sequence.inside = false;
	grant();
}

static void task_entry(void)
{
	struct dry_sim_one *self = dry_sim.current;

	dry_sim_context_enter();
	if (self->id == HELPER)
		dry_sim.helper();
	else
		dry_sim.body(self->id);
	if (self->held != 0)
		dry_sim_fail("a task returns with %u locks held", self->held);
	dry_sim_account();
	dry_sim_leave_cpu(self, DRY_SIM_DONE);
	dry_sim.left -= self->id != HELPER;
	dry_sim_hand_over();
	abort();
}

static void start(struct dry_sim_one *task)
{
	dry_sim_context_make(&task->context, task_entry);
	dry_sim_make_ready(task);
}

void dry_sim_run(void (*body)(unsigned task))
{
	dry_sim.body = body;
	dry_sim.left = dry_sim.setup.tasks;
	for (unsigned i = 0; i < dry_sim.setup.tasks; i++) {
		dry_sim.task[i].cpu = (uint16_t)(i % dry_sim.setup.cpus);
		start(&dry_sim.task[i]);
	}
	dry_sim_hand_over();
}

int dry_port_thread_start(void (*fn)(void))
{
	struct dry_sim_one *task = &dry_sim.task[HELPER];

	DRY_SIM_POINT("start a thread");
	if (task->state != DRY_SIM_UNUSED && task->state != DRY_SIM_DONE)
		return -11; /* one is enough, so one is all there is */
	dry_sim.helper = fn;
	start(task);
	return 0;
}
