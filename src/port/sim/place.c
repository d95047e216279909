/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Which task is where. Choices that are nobody's decision (which idle CPU, which ready task)
 * follow from the task's own numbers, so they need no event.
 */
#include "port/sim/machine.h"

static uint32_t pick(const struct dry_sim_one *task, uint32_t below)
{
	uint64_t z = (uint64_t)task->id << 48 ^ (uint64_t)task->op << 24 ^ task->step;

	return (uint32_t)(dry_mix64(z) >> 32) % below;
}

void dry_sim_place_clear(void)
{
	dry_sim.running_count = dry_sim.ready_count = dry_sim.idle_count = 0;
	for (unsigned i = 0; i < dry_sim.setup.cpus; i++) {
		dry_sim.cpu[i] = (struct dry_sim_processor){ .place = i };
		dry_sim.idle[dry_sim.idle_count++] = (uint16_t)i;
	}
}

static void list_add(struct dry_sim_one **list, uint32_t *count, struct dry_sim_one *task)
{
	task->place = *count;
	list[(*count)++] = task;
}

static void list_remove(struct dry_sim_one **list, uint32_t *count, struct dry_sim_one *task)
{
	struct dry_sim_one *last = list[--*count];

	list[task->place] = last;
	last->place = task->place;
}

void dry_sim_put_on_cpu(struct dry_sim_one *task, unsigned cpu)
{
	struct dry_sim_processor *processor = &dry_sim.cpu[cpu];

	if (processor->current == NULL && processor->interrupted == NULL) {
		uint16_t last = dry_sim.idle[--dry_sim.idle_count];
		dry_sim.idle[processor->place] = last;
		dry_sim.cpu[last].place = processor->place;
	}
	processor->current = task;
	task->cpu = (uint16_t)cpu;
	task->state = DRY_SIM_ON_CPU;
	list_add(dry_sim.running, &dry_sim.running_count, task);
}

void dry_sim_make_ready(struct dry_sim_one *task)
{
	const struct dry_sim_processor *last = &dry_sim.cpu[task->cpu];

	if (last->current == NULL && last->interrupted == NULL) {
		dry_sim_put_on_cpu(task, task->cpu);
		return;
	}
	if (dry_sim.idle_count != 0) {
		dry_sim_put_on_cpu(task, dry_sim.idle[pick(task, dry_sim.idle_count)]);
		return;
	}
	task->state = DRY_SIM_READY;
	list_add(dry_sim.ready, &dry_sim.ready_count, task);
}

/* The CPU has no task now: the one that was interrupted on it, a ready one, or none. */
static void refill(unsigned cpu, const struct dry_sim_one *left)
{
	struct dry_sim_processor *processor = &dry_sim.cpu[cpu];
	struct dry_sim_one *task = processor->interrupted;

	processor->current = NULL;
	if (task != NULL) {
		dry_sim_put_on_cpu(task, cpu);
		processor->interrupted = NULL;
		return;
	}
	processor->place = dry_sim.idle_count;
	dry_sim.idle[dry_sim.idle_count++] = (uint16_t)cpu;
	if (dry_sim.ready_count == 0)
		return;
	task = dry_sim.ready[pick(left, dry_sim.ready_count)];
	list_remove(dry_sim.ready, &dry_sim.ready_count, task);
	dry_sim_put_on_cpu(task, cpu);
}

void dry_sim_leave_cpu(struct dry_sim_one *task, enum dry_sim_state state)
{
	list_remove(dry_sim.running, &dry_sim.running_count, task);
	task->state = state;
	refill(task->cpu, task);
	if (state == DRY_SIM_READY)
		dry_sim_make_ready(task);
}

void dry_sim_swap_cpus(struct dry_sim_one *a, struct dry_sim_one *b)
{
	uint16_t cpu = a->cpu;

	a->cpu = b->cpu;
	b->cpu = cpu;
	dry_sim.cpu[a->cpu].current = a;
	dry_sim.cpu[b->cpu].current = b;
}

void dry_sim_move(struct dry_sim_one *task, unsigned cpu)
{
	list_remove(dry_sim.running, &dry_sim.running_count, task);
	refill(task->cpu, task);
	/* A ready task may have been put on the CPU meant; then this one waits for the next. */
	if (dry_sim.cpu[cpu].current == NULL && dry_sim.cpu[cpu].interrupted == NULL)
		dry_sim_put_on_cpu(task, cpu);
	else
		dry_sim_make_ready(task);
}

void dry_sim_preempt(struct dry_sim_one *task, struct dry_sim_one *by)
{
	list_remove(dry_sim.running, &dry_sim.running_count, task);
	list_remove(dry_sim.ready, &dry_sim.ready_count, by);
	dry_sim_put_on_cpu(by, task->cpu);
	dry_sim_make_ready(task);
}

void dry_sim_interrupt(struct dry_sim_one *task, struct dry_sim_one *handler)
{
	list_remove(dry_sim.running, &dry_sim.running_count, task);
	task->state = DRY_SIM_INTERRUPTED;
	dry_sim.cpu[task->cpu].interrupted = task;
	dry_sim_put_on_cpu(handler, task->cpu);
}
