/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The Linux lock: one word, three states, no system call without contention.
 *
 *        acquire (exchange 0 -> 1)
 *   FREE ------------------------> HELD
 *    ^  \_________                  | a waiter, before it sleeps
 *    |            \ release         v
 *    +------------------------- CONTENDED (release wakes one sleeper)
 *
 * A waiter that wakes takes the lock as CONTENDED, because it cannot know
 * whether others still sleep; that costs at most one wake too many.
 */
#ifndef DRY_PORT_LINUX_RAW_LOCK_H
#define DRY_PORT_LINUX_RAW_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum { DRY_LOCK_FREE = 0, DRY_LOCK_HELD = 1, DRY_LOCK_CONTENDED = 2 };

struct dry_raw_lock {
	_Atomic uint32_t state;
};

#define DRY_RAW_LOCK_INIT                                                                                              \
	{                                                                                                              \
		DRY_LOCK_FREE                                                                                          \
	}

/* The slow halves; in lock.c. */
DRY_SLOW void dry_raw_wait(struct dry_raw_lock *lock);
DRY_SLOW void dry_raw_wake(struct dry_raw_lock *lock);

static inline bool dry_raw_try(struct dry_raw_lock *lock)
{
	uint32_t expected = DRY_LOCK_FREE;

	/* acquire: pairs with the release in dry_raw_release() */
	return DRY_LIKELY(atomic_compare_exchange_strong_explicit(&lock->state, &expected, DRY_LOCK_HELD, memory_order_acquire,
								  memory_order_relaxed));
}

static inline void dry_raw_acquire(struct dry_raw_lock *lock)
{
	if (!dry_raw_try(lock))
		dry_raw_wait(lock);
}

static inline void dry_raw_release(struct dry_raw_lock *lock)
{
	/* release: pairs with the acquire of the next holder */
	if (DRY_UNLIKELY(atomic_exchange_explicit(&lock->state, DRY_LOCK_FREE, memory_order_release) == DRY_LOCK_CONTENDED))
		dry_raw_wake(lock);
}

#endif
