/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Guarding on the simulated machine: its secrets are those of the seed, and nothing faults. */
#include "port/guard.h"

#include "base/error.h"
#include "port/sim/machine.h"

uint64_t dry_port_random(void)
{
	/* A stream of its own: the scheduler draws none from its own in a replay. */
	return dry_mix64(dry_sim.secret += 0x9e3779b97f4a7c15u) | 1;
}

uint64_t dry_port_forks(void)
{
	return 0;
}

int dry_port_decommit(void *addr, size_t size)
{
	(void)addr;
	(void)size;
	return -DRY_ENOMEM;
}

void dry_port_on_fault(void (*fn)(uintptr_t address, const char *access, uintptr_t pc))
{
	(void)fn;
}
