/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Decisions: drawn from the seed and written down, or read from a list. */
#include "port/sim/machine.h"

#define FAR (1l << 20) /* without events the scheduler still looks now and then */

static bool replaying(void)
{
	return dry_sim.setup.events != NULL;
}

static bool is_turn(unsigned kind)
{
	return kind != DRY_SIM_NEXT && kind != DRY_SIM_FAIL;
}

static void write_down(const struct dry_sim_event *event)
{
	if (dry_sim.recorded < dry_sim.setup.record_room)
		dry_sim.setup.record[dry_sim.recorded++] = *event;
}

static struct dry_sim_event here(enum dry_sim_kind kind)
{
	struct dry_sim_one *task = dry_sim.current;

	return (struct dry_sim_event){ task->id, (uint16_t)kind, task->op, task->step, 0 };
}

/* ---- from the list ------------------------------------------------------------------ */

static const struct dry_sim_event *listed_here(bool turn)
{
	struct dry_sim_one *task = dry_sim.current;

	while (task->event < task->event_end) {
		const struct dry_sim_event *event = &dry_sim.setup.events[task->event];

		if (event->op > task->op || (event->op == task->op && event->step > task->step))
			return NULL;
		if (event->op == task->op && event->step == task->step) {
			if (is_turn(event->kind) != turn)
				return NULL;
			task->event++;
			return event;
		}
		task->event++; /* its moment did not come */
	}
	return NULL;
}

static long listed_distance(void)
{
	const struct dry_sim_one *task = dry_sim.current;

	for (size_t i = task->event; i < task->event_end; i++) {
		const struct dry_sim_event *event = &dry_sim.setup.events[i];

		if (event->op > task->op)
			break;
		if (event->op == task->op && event->step > task->step && is_turn(event->kind))
			return event->step - task->step < FAR ? (long)(event->step - task->step) : FAR;
	}
	return FAR;
}

/* ---- from the seed ------------------------------------------------------------------- */

long dry_sim_distance(void)
{
	if (dry_sim.setup.lockstep)
		return 1;
	if (replaying())
		return listed_distance();
	if (dry_sim.setup.distance == 0)
		return FAR;
	return 1 + (long)dry_sim_random(2 * dry_sim.setup.distance - 1);
}

/* Another task on a CPU, one that does not stand still if it can be had quickly. */
static struct dry_sim_one *another(void)
{
	struct dry_sim_one *task = dry_sim.current;

	for (unsigned tries = 0; tries < 4; tries++) {
		struct dry_sim_one *other = dry_sim.running[dry_sim_random(dry_sim.running_count)];
		if (other == dry_sim.current)
			continue;
		task = other;
		if (dry_sim.cpu[other->cpu].stalled_until <= dry_sim.events)
			break;
	}
	return task;
}

static bool draw_other(struct dry_sim_event *event)
{
	struct dry_sim_one *other = another();

	event->arg = other->id;
	return other != dry_sim.current;
}

static bool draw(struct dry_sim_event *event)
{
	uint32_t dice = dry_sim_random(100);

	*event = here(DRY_SIM_SWITCH);
	if (dice < 60)
		return draw_other(event);
	if (dice < 68) {
		event->kind = DRY_SIM_STALL;
		return draw_other(event);
	}
	if (dice < 79) {
		event->kind = DRY_SIM_PREEMPT;
		if (dry_sim.ready_count != 0)
			event->arg = dry_sim.ready[dry_sim_random(dry_sim.ready_count)]->id;
		return dry_sim.ready_count != 0;
	}
	if (dice < 88) {
		event->kind = DRY_SIM_MIGRATE;
		event->arg = dry_sim_random(dry_sim.setup.cpus);
		return true;
	}
	if (dice < 93) {
		event->kind = DRY_SIM_ABORT;
		return true;
	}
	if (dice < 99) {
		event->kind = DRY_SIM_INTERRUPT;
		event->arg = dry_sim_random(1u << 30);
		return dry_sim.setup.interrupt != NULL;
	}
	event->kind = DRY_SIM_CLOCK;
	event->arg = 1 + dry_sim_random(5000);
	return true;
}

/* ---- both ----------------------------------------------------------------------------- */

bool dry_sim_decide(struct dry_sim_event *event)
{
	const struct dry_sim_event *listed;

	if (!replaying()) {
		if (dry_sim.setup.distance == 0 || !draw(event))
			return false;
		write_down(event);
		return true;
	}
	listed = listed_here(true);
	if (listed != NULL)
		*event = *listed;
	return listed != NULL;
}

/* Whom to hand over to; false: as the numbers of the tasks have it. */
bool dry_sim_decide_next(struct dry_sim_event *event)
{
	const struct dry_sim_event *listed;

	if (!replaying()) {
		*event = here(DRY_SIM_NEXT);
		if (dry_sim.setup.distance == 0)
			return false;
		event->arg = another()->id;
		write_down(event);
		return true;
	}
	listed = listed_here(false);
	if (listed == NULL || listed->kind != DRY_SIM_NEXT)
		return false;
	*event = *listed;
	return true;
}

bool dry_sim_decide_failure(void)
{
	struct dry_sim_event event;
	const struct dry_sim_event *listed;

	if (dry_sim.current == dry_sim.driver)
		return false;
	dry_sim_account();
	if (replaying()) {
		listed = listed_here(false);
		return listed != NULL && listed->kind == DRY_SIM_FAIL;
	}
	if (dry_sim.setup.fail_one_in == 0 || dry_sim_random(dry_sim.setup.fail_one_in) != 0)
		return false;
	event = here(DRY_SIM_FAIL);
	write_down(&event);
	return true;
}
