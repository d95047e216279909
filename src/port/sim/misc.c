/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Slots, nodes, time and text of the simulated machine. */
#include <stdlib.h>
#include <string.h>

#include "percpu.h"
#include "port/sim/machine.h"
#include "port/save.h"
#include "port/stack.h"

#define PATIENCE 20 /* rounds that a fence waits for an owner of a slot, as in unix/thread_slots.c */

static unsigned distance(void)
{
	return dry_sim.setup.slot_distance != 0 ? dry_sim.setup.slot_distance : 1;
}

void dry_port_init(void)
{
}

unsigned dry_port_slots(void)
{
	if (dry_sim.setup.thread_slots)
		return dry_sim.setup.tasks + DRY_SIM_CPUS + 3;
	return (dry_sim.setup.cpus - 1) * distance() + 1;
}

/* With exclusive slots: 0 is nobody's, and every seventh task has none to get. */
static uint32_t thread_slot(const struct dry_sim_one *task)
{
	if (task->id < DRY_SIM_TASKS)
		return task->id % 7 == 6 ? 0 : task->id + 1u;
	return dry_sim.setup.tasks + 1 + (task->id - DRY_SIM_TASKS);
}

uint32_t dry_sim_slot(void)
{
	const struct dry_sim_one *task = dry_sim.current;

	return dry_sim.setup.thread_slots ? thread_slot(task) : task->cpu * distance();
}

bool dry_sim_slots_owned;
unsigned dry_sim_uncounted;

void dry_sim_flag_lost(void)
{
	dry_sim_fail("the word of an array of an owned slot has lost its flag");
}

bool dry_port_slot_attach(bool frees)
{
	(void)frees;
	DRY_SIM_POINT("attach to a slot");
	return !dry_sim.setup.thread_slots || thread_slot(dry_sim.current) != 0;
}

static bool owners_quiet(void)
{
	for (unsigned i = 0; i < DRY_SIM_ALL; i++)
		if (dry_sim.task[i].sequence.inside && &dry_sim.task[i] != dry_sim.current)
			return false;
	return true;
}

bool dry_port_slot_fence(void)
{
	DRY_SIM_POINT("fence of slots");
	if (!dry_sim.setup.thread_slots) {
		for (unsigned i = 0; i < DRY_SIM_ALL; i++)
			dry_sim.task[i].sequence.aborted = true;
		return true;
	}
	for (unsigned patience = PATIENCE; !owners_quiet(); patience--) {
		if (patience == 0)
			return false;
		dry_port_sleep_ms(1);
	}
	return true;
}

unsigned dry_port_nodes(void)
{
	return dry_sim.setup.nodes;
}

unsigned dry_port_node(void)
{
	DRY_SIM_POINT("node");
	return dry_sim.current->cpu * dry_sim.setup.nodes / dry_sim.setup.cpus;
}

uint64_t dry_port_clock_ms(void)
{
	DRY_SIM_POINT("clock");
	return dry_sim.clock;
}

uint64_t dry_port_processor_us(bool process)
{
	return process ? dry_port_clock_ms() * 1000 : 0;
}

void dry_port_sleep_ms(unsigned ms)
{
	DRY_SIM_POINT("sleep");
	dry_sim.clock += ms;
	if (dry_sim.current != dry_sim.driver)
		dry_sim_yield();
}

_Noreturn void dry_port_park(void)
{
	abort();
}

bool dry_port_alone(void)
{
	return false;
}

void dry_port_yield(void)
{
	DRY_SIM_POINT("yield");
	dry_sim_yield();
}

uintptr_t dry_port_self(void)
{
	return dry_sim.current->id + 1u;
}

void dry_port_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(bool prepared))
{
	(void)prepare;
	(void)parent;
	(void)child;
}

void dry_port_forked(void)
{
}

void dry_port_set_errno(int value)
{
	dry_sim.current->error = value;
}

int dry_port_get_errno(void)
{
	return dry_sim.current->error;
}

const char *dry_port_getenv(const char *name)
{
	(void)name;
	return NULL;
}

bool dry_port_has_environment(void)
{
	return true;
}

void dry_port_keep_stderr(void)
{
}

void dry_port_log_to(const char *path, size_t length)
{
	(void)path, (void)length;
}

/* A report stays unsaid until the library gives up; a warning may be what a test expects. */
static char last_line[512];

void dry_port_write(const char *text, size_t bytes)
{
	if (bytes < 10 || memcmp(text, "drystone: ", 10) != 0)
		return; /* what follows the line of a report */
	if (bytes > sizeof(last_line) - 1)
		bytes = sizeof(last_line) - 1;
	memcpy(last_line, text, bytes);
	last_line[bytes] = '\0';
	last_line[strcspn(last_line, "\n")] = '\0';
	dry_sim_say("says: %s", last_line);
}

const char *dry_sim_last_line(void)
{
	return last_line;
}

void dry_port_abort(void)
{
	dry_sim_fail("%s", last_line);
}

/* Tasks have stacks of the machine's own making; nothing is told of them. */
unsigned dry_port_stack(uintptr_t *frames, unsigned max)
{
	(void)frames;
	(void)max;
	return 0;
}

/* There are no files, and no signals. */
bool dry_port_save(const char *path, unsigned rights, void (*fill)(dry_port_writer *write, void *arg))
{
	(void)path;
	(void)rights;
	(void)fill;
	return false;
}

void dry_port_mapped(dry_port_writer *write, void *arg)
{
	(void)write;
	(void)arg;
}

unsigned long dry_port_process(void)
{
	return 1;
}

size_t dry_port_resident(void)
{
	return 0;
}

void dry_port_from_root(char *path, size_t room)
{
	(void)path;
	(void)room;
}

bool dry_port_on_signal(int signal, void (*fn)(void))
{
	(void)signal;
	(void)fn;
	return false;
}

size_t dry_port_symbol(uintptr_t address, char *text, size_t size)
{
	(void)address;
	text[0] = '\0';
	(void)size;
	return 0;
}

bool dry_port_has_cxx_apart(void)
{
	return false;
}

uint32_t dry_port_thread(void)
{
	return dry_sim.current->id + 1u;
}
