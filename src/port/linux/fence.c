/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Fences of the Linux port. Since 6.13 pages can be told to fault without a mapping of their own: the system's count of mappings
 * does not grow, a fork has one mapping to copy and not one for each fence, and nothing waits for the lock that changes mappings.
 * But the memory stays in what limits of data count, and a program's own filter may not know the call: where there are such, for
 * older systems, and memory that is locked, a mapping that faults takes the place.
 *
 * Concurrency: a range is one thread's, and goes to others by who hands it on; so do the marks that tell which ways were gone.
 */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* madvise */
#endif
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "base/error.h"
#include "port/contract.h"
#include "port/guard.h"

#define POPULATE_READ 22  /* MADV_POPULATE_READ: headers of 5.14 */
#define GUARD_INSTALL 102 /* MADV_GUARD_INSTALL, MADV_GUARD_REMOVE: headers of 6.13 */
#define GUARD_REMOVE  103

/* relaxed: who is handed a range sees what was set before it was fenced */
static _Atomic bool guarded;  /* some range, by guards */
static _Atomic bool replaced; /* by a mapping */
static _Atomic bool refused;  /* guards, once: no more are tried */
static _Atomic bool proved;   /* they fault */

static bool advise(void *addr, size_t size, int advice)
{
	int saved = errno;
	bool done = madvise(addr, size, advice) == 0;

	errno = saved;
	return done;
}

/* An emulator may say yes to all advice, and do nothing. The first time it is asked to fill such a page, which cannot be. */
static bool install(void *addr, size_t size)
{
	if (!advise(addr, size, GUARD_INSTALL))
		return false;
	if (!atomic_load_explicit(&proved, memory_order_relaxed) && advise(addr, size, POPULATE_READ))
		return false;
	atomic_store_explicit(&proved, true, memory_order_relaxed);
	return true;
}

bool dry_port_fences_are_mappings(void)
{
	return atomic_load_explicit(&refused, memory_order_relaxed) || dry_port_is_scarce() || dry_port_confined();
}

int dry_port_fence(void *addr, size_t size)
{
	if (!dry_port_fences_are_mappings()) {
		atomic_store_explicit(&guarded, true, memory_order_relaxed);
		if (install(addr, size))
			return 0;
		atomic_store_explicit(&refused, true, memory_order_relaxed);
	}
	atomic_store_explicit(&replaced, true, memory_order_relaxed);
	return dry_port_decommit(addr, size);
}

int dry_port_unfence(void *addr, size_t size)
{
	if (atomic_load_explicit(&guarded, memory_order_relaxed)) {
		if (!dry_port_confined() && advise(addr, size, GUARD_REMOVE)) {
			if (!atomic_load_explicit(&replaced, memory_order_relaxed))
				return 0;
		} else if (dry_port_decommit(addr, size) != 0) { /* guards go with the mapping */
			return -DRY_ENOMEM;
		}
	}
	return dry_port_commit(addr, size);
}
