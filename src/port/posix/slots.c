/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Slots on POSIX: one per thread. One memory node. */
#include <stdatomic.h>

#include "port/contract.h"
#include "port/unix/thread_slots.h"
#include "port/unix/threads.h"

void dry_port_init(void)
{
	dry_port_find_scarce(); /* later only when memory is refused */
}

unsigned dry_port_slots(void)
{
	return DRY_THREAD_SLOTS;
}

bool dry_port_slot_attach(bool frees)
{
	return dry_thread_slot_attach(frees);
}

bool dry_port_slot_fence(void)
{
	/* The fence half of the Dekker pair in arch/generic/percpu.h. */
	atomic_thread_fence(memory_order_seq_cst);
	return dry_thread_slots_quiet();
}

void dry_port_forked(void)
{
	dry_unix_threads_forked();
	dry_thread_slots_forked();
}

unsigned dry_port_nodes(void)
{
	return 1;
}

unsigned dry_port_node(void)
{
	return 0;
}
