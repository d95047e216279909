/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Runs: the machine is set up, its tasks begin and end. */
#include <stdlib.h>
#include <string.h>

#include "port/sim/machine.h"

#define HELPER (DRY_SIM_ALL - 2)

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
	dry_sim_uncounted = 0;
	dry_sim.random = dry_mix64(setup->seed ^ 0x5eed);
	dry_sim.secret = dry_sim.random ^ 0x5ec;
	dry_sim.steps = dry_sim.events = dry_sim.clock = 0;
	dry_sim.recorded = 0;
	dry_sim.left = 0;
	dry_sim.helper = NULL;
	dry_sim.driver = dry_sim.current = &dry_sim.task[DRY_SIM_DRIVER];
	dry_sim_sequence = &dry_sim.driver->sequence;
	dry_sim_place_clear();
	share_events();
	memset(dry_sim_lock_stats, 0, sizeof(dry_sim_lock_stats));
	dry_sim_grant();
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
	dry_sim_grant();
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

/* A run ends when its tasks have. */
void dry_port_thread_leave(void)
{
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
