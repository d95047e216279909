/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a system without these things answers: POSIX, and the simulated machine, which takes this file as it is. */
#include "port/contract.h"
#include "port/guard.h"
#include "port/roots.h"

/* ---- no control groups, huge pages or nodes ---- */

size_t dry_port_memory_limit(void)
{
	return SIZE_MAX;
}

size_t dry_port_memory_limit_again(void)
{
	return 0;
}

void dry_port_set_huge(enum dry_huge huge)
{
	(void)huge;
}

void dry_port_advise_huge(void *addr, size_t size, enum dry_huge huge)
{
	(void)addr;
	(void)size;
	(void)huge;
}

bool dry_port_collapse(void *addr, size_t size)
{
	(void)addr;
	(void)size;
	return false;
}

void dry_port_piecemeal(void *addr, size_t size, size_t piece)
{
	(void)addr;
	(void)size;
	(void)piece;
}

void dry_port_set_placing(enum dry_placing placing)
{
	(void)placing;
}

/* ---- no two kinds of windows ---- */

void *dry_port_sparse_window(size_t size, size_t align)
{
	return dry_port_window(size, align);
}

/* ---- no guards in page tables, limits of data that can be told, or tags ---- */

int dry_port_fence(void *addr, size_t size)
{
	return dry_port_decommit(addr, size);
}

int dry_port_unfence(void *addr, size_t size)
{
	return dry_port_commit(addr, size);
}

bool dry_port_fences_are_mappings(void)
{
	return true;
}

size_t dry_port_data_room(void)
{
	return SIZE_MAX;
}

bool dry_port_use_tags(bool sync)
{
	(void)sync;
	return false;
}

/* ---- no filters on system calls: a helper thread sleeps as any ---- */

bool dry_port_restricted(void)
{
	return false;
}

bool dry_port_confined(void)
{
	return false;
}

void dry_port_ending(void)
{
}

bool dry_port_thread_allowed(void)
{
	return true;
}

enum dry_rest dry_port_rest_ms(unsigned ms)
{
	dry_port_sleep_ms(ms);
	return DRY_REST_ROUND;
}

void dry_port_rest_over(void)
{
}

void dry_port_rest_end(void)
{
}

/* ---- fences of slots need nothing made ready; where memory is that pointers lie in is not told ---- */

bool dry_port_slot_fence_ready(void)
{
	return true;
}

bool dry_port_roots(void (*visit)(uintptr_t from, uintptr_t to))
{
	(void)visit;
	return false;
}

bool dry_port_root_readable(uintptr_t page)
{
	(void)page;
	return false;
}
