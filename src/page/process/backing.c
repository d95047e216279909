/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "backing_impl.h"
#include "percpu.h"

unsigned dry_backing_home(unsigned nodes)
{
	/* More nodes than the system has: for trials. CPUs are dealt out to them. */
	return (nodes > dry_port_nodes() ? dry_percpu_slot() : dry_port_node()) % nodes;
}
