/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How many locks the calling thread holds or is about to: not 0 in a signal handler that interrupted a call of ours, which
 * must not wait for a lock then (port/unix/fork.c). Initial-exec: reading it never allocates.
 */
#ifndef DRY_PORT_UNIX_LOCK_COUNT_H
#define DRY_PORT_UNIX_LOCK_COUNT_H

#include <stdatomic.h>

extern _Thread_local unsigned dry_locks_held; /* lock_rank.c */

/* Before a lock is taken, and after it was let go; a signal may come in between. */
static inline void dry_lock_count(void)
{
	dry_locks_held++;
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void dry_lock_uncount(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	dry_locks_held--;
}

#endif
