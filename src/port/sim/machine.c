/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The machine's state, what it counts, and its reports. All other files stand on this one. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "port/sim/machine.h"

struct dry_sim_machine dry_sim;
struct dry_sim_sequence *dry_sim_sequence = &dry_sim.task[DRY_SIM_DRIVER].sequence;
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
