/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The lock of core in Linux. Those of nodes and depots spin with interrupts off: objects come and go in any context. There is one
 * set of caches, and its two rare locks, REAP and CACHES, are mutexes: who has them waits for other processors.
 */
#ifndef DRY_KERNEL_PORT_IMPL_H
#define DRY_KERNEL_PORT_IMPL_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "base/rank.h"

struct dry_lock {
	spinlock_t spin;
	u8 rank; /* immutable after init */
	unsigned long flags; /* of who holds it: interrupts as they were */
};

extern struct mutex dry_port_mutexes[DRY_RANK_ALIEN]; /* by rank */

void dry_lock_init(struct dry_lock *lock, enum dry_rank rank);
void dry_lock_acquire(struct dry_lock *lock);
/* As dry_lock_acquire(). true: another one held it. */
bool dry_lock_acquire_contended(struct dry_lock *lock);
bool dry_lock_try(struct dry_lock *lock);
void dry_lock_release(struct dry_lock *lock);
/* Whether the caller may wait for one of any rank: a free may be in any context. */
static inline bool dry_lock_none_held(void)
{
	return false;
}

/* slab/told.c */
uint64_t dry_port_clock_ms(void);

#endif
