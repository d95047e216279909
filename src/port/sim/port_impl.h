/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The simulated lock: an object of the scheduler. Who finds it held sleeps, and others run on
 * its CPU. Ranks are always enforced.
 */
#ifndef DRY_PORT_SIM_PORT_IMPL_H
#define DRY_PORT_SIM_PORT_IMPL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/rank.h"

struct dry_lock {
	uint16_t owner;   /* number of the task that holds it, plus 1; 0: free */
	uint16_t rank;    /* immutable after init */
	uint16_t ranked;  /* holder only: it counts in its holder's ranks */
	uint16_t waiters; /* tasks blocked on it */
	uint64_t since;   /* holder only: its own steps when it got the lock */
};

#define DRY_LOCK_INIT(number)                                                                                          \
	{                                                                                                              \
		.rank = (number)                                                                                       \
	}

void dry_lock_init(struct dry_lock *lock, enum dry_rank rank);
void dry_lock_acquire(struct dry_lock *lock);
/* As dry_lock_acquire(). true: another one held it. */
bool dry_lock_acquire_contended(struct dry_lock *lock);
/* Acquire without the rank rule: for fork handlers, which hold many locks of one rank. */
void dry_lock_acquire_unranked(struct dry_lock *lock);
/* Whether the calling task holds no lock: then it may wait for one of any rank. */
bool dry_lock_none_held(void);
/* true: the lock is held now. */
bool dry_lock_try(struct dry_lock *lock);
void dry_lock_release(struct dry_lock *lock);
/* In the child of a fork, for a lock that the forking thread held: free, with no waiters. */
void dry_lock_reinit(struct dry_lock *lock);

#endif
