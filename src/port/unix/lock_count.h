/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How many locks the calling thread holds or is about to: not 0 in a signal handler that interrupted a call of ours, which
 * must not wait for a lock then (port/unix/fork.c). Initial-exec: reading it never allocates.
 */
#ifndef DRY_PORT_UNIX_LOCK_COUNT_H
#define DRY_PORT_UNIX_LOCK_COUNT_H

#include <stdatomic.h>

#include "base/compiler.h"

/*
 * More than one thread holds at once, but in a fork: at the limit of the process heaps are trimmed under the list's lock, and a
 * grace-period provider that is called there may find the default heap without memory. That is two heaps' pairs, a depot, a node.
 */
#define DRY_LOCKS_NOTED 8u

struct dry_lock;
/* The first of those that the thread holds, in the order in which it took them. */
extern _Thread_local struct dry_lock *dry_locks_noted[DRY_LOCKS_NOTED]; /* lock_rank.c */
extern _Thread_local unsigned dry_locks_held; /* lock_rank.c */

/* Before a lock is taken, and after it was let go; a signal may come in between. */
static inline void dry_lock_count(void)
{
	dry_locks_held++;
	atomic_signal_fence(memory_order_seq_cst);
}

/* Once it is held; the latest that was counted. */
static inline void dry_lock_note(struct dry_lock *lock)
{
	if (DRY_LIKELY(dry_locks_held <= DRY_LOCKS_NOTED))
		dry_locks_noted[dry_locks_held - 1] = lock;
}

/* Before it is let go: the place of another one than the latest goes to that. */
static inline void dry_lock_unnote(const struct dry_lock *lock)
{
	unsigned latest = dry_locks_held - 1;

	if (DRY_LIKELY(latest >= DRY_LOCKS_NOTED || dry_locks_noted[latest] == lock))
		return;
	for (unsigned i = 0; i < latest; i++)
		if (dry_locks_noted[i] == lock)
			dry_locks_noted[i] = dry_locks_noted[latest];
}

static inline void dry_lock_uncount(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	dry_locks_held--;
}

#endif
