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
 *
 * In debug builds the lock carries its rank, and whether its holder was counted.
 */
#ifndef DRY_PORT_LINUX_PORT_IMPL_H
#define DRY_PORT_LINUX_PORT_IMPL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/rank.h"
#include "port/unix/lock_count.h"
#include "port/unix/lock_rank.h"

/* dry_port_slot_fence() is a full fence on every thread: arch/generic/percpu.h. */
enum { DRY_PORT_FENCES_ALL = 1 };

enum { DRY_LOCK_FREE = 0, DRY_LOCK_HELD = 1, DRY_LOCK_CONTENDED = 2 };

struct dry_lock {
	_Atomic uint32_t state;
#ifdef DRY_DEBUG
	uint16_t rank;   /* immutable after init */
	uint16_t ranked; /* holder only: it is in its thread's counts */
#endif
};

#ifdef DRY_DEBUG
#define DRY_LOCK_INIT(rank)                                                                                            \
	{                                                                                                              \
		DRY_LOCK_FREE, (rank), 0                                                                               \
	}
#else
#define DRY_LOCK_INIT(rank)                                                                                            \
	{                                                                                                              \
		DRY_LOCK_FREE                                                                                          \
	}
#endif

/* The slow halves; in lock.c. */
DRY_SLOW void dry_lock_wait(struct dry_lock *lock);
DRY_SLOW void dry_lock_wake(struct dry_lock *lock);

static inline void dry_lock_init(struct dry_lock *lock, enum dry_rank rank)
{
	atomic_init(&lock->state, DRY_LOCK_FREE);
#ifdef DRY_DEBUG
	lock->rank = (uint16_t)rank;
	lock->ranked = 0;
#else
	(void)rank;
#endif
}

/* Acquire without the rank rule: for fork handlers, which hold many locks of one rank. */
static inline void dry_lock_acquire_unranked(struct dry_lock *lock)
{
	uint32_t expected = DRY_LOCK_FREE;

	dry_lock_count();
	/* acquire: pairs with the release in dry_lock_release() */
	if (DRY_UNLIKELY(!atomic_compare_exchange_strong_explicit(&lock->state, &expected, DRY_LOCK_HELD,
								  memory_order_acquire, memory_order_relaxed)))
		dry_lock_wait(lock);
}

static inline void dry_lock_acquire(struct dry_lock *lock)
{
#ifdef DRY_DEBUG
	dry_lock_rank_check(lock->rank);
#endif
	dry_lock_acquire_unranked(lock);
#ifdef DRY_DEBUG
	lock->ranked = 1;
	dry_lock_rank_enter(lock->rank);
#endif
}

/* true: the lock is held now. */
static inline bool dry_lock_try(struct dry_lock *lock)
{
	uint32_t expected = DRY_LOCK_FREE;

	dry_lock_count();
	/* acquire: pairs with the release in dry_lock_release() */
	if (!atomic_compare_exchange_strong_explicit(&lock->state, &expected, DRY_LOCK_HELD, memory_order_acquire,
						     memory_order_relaxed)) {
		dry_lock_uncount();
		return false;
	}
#ifdef DRY_DEBUG
	lock->ranked = 1;
	dry_lock_rank_enter(lock->rank);
#endif
	return true;
}

/* As dry_lock_acquire(). true: another one held it. */
static inline bool dry_lock_acquire_contended(struct dry_lock *lock)
{
#ifdef DRY_DEBUG
	dry_lock_rank_check(lock->rank);
#endif
	bool waits = !dry_lock_try(lock);
	if (DRY_UNLIKELY(waits))
		dry_lock_acquire(lock);
	return waits;
}

static inline void dry_lock_release(struct dry_lock *lock)
{
#ifdef DRY_DEBUG
	if (lock->ranked) {
		lock->ranked = 0;
		dry_lock_rank_leave(lock->rank);
	}
#endif
	/* release: pairs with the acquire of the next holder */
	if (DRY_UNLIKELY(atomic_exchange_explicit(&lock->state, DRY_LOCK_FREE, memory_order_release) ==
			 DRY_LOCK_CONTENDED))
		dry_lock_wake(lock);
	dry_lock_uncount();
}

/* In the child of a fork, for a lock that the forking thread held: free, with no waiters. */
static inline void dry_lock_reinit(struct dry_lock *lock)
{
#ifdef DRY_DEBUG
	if (lock->ranked) {
		lock->ranked = 0;
		dry_lock_rank_leave(lock->rank);
	}
#endif
	atomic_store_explicit(&lock->state, DRY_LOCK_FREE, memory_order_relaxed);
	dry_lock_uncount();
}

/*
 * In the child of a fork: free, with no waiters, whoever held it. If that was the forking thread, in a signal handler, what it
 * was doing lets the lock go as usual, and debug builds have it in its ranks until then.
 */
static inline void dry_lock_forget(struct dry_lock *lock)
{
	atomic_store_explicit(&lock->state, DRY_LOCK_FREE, memory_order_relaxed);
}

#endif
