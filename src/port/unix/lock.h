/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The lock of the ports that have threads, over a port's own (raw_lock.h): struct dry_raw_lock, dry_raw_acquire(), _try(),
 * _release() and DRY_RAW_LOCK_INIT. Each thread counts those that it holds (lock_count.h). In debug builds a lock carries its
 * rank, and whether its holder was counted for that (lock_rank.h).
 */
#ifndef DRY_PORT_UNIX_LOCK_H
#define DRY_PORT_UNIX_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/rank.h"
#include "port/unix/lock_count.h"
#include "port/unix/lock_rank.h"
#include "raw_lock.h"

struct dry_lock {
	struct dry_raw_lock raw;
#ifdef DRY_DEBUG
	uint16_t rank;   /* immutable after init */
	uint16_t ranked; /* holder only: it is in its thread's counts */
#endif
};

#ifdef DRY_DEBUG
#define DRY_LOCK_INIT(number)                                                                                          \
	{                                                                                                              \
		DRY_RAW_LOCK_INIT, (number), 0                                                                         \
	}

static inline void dry_lock_check_rank(const struct dry_lock *lock)
{
	dry_lock_rank_check(lock->rank);
}

static inline void dry_lock_enter_rank(struct dry_lock *lock)
{
	lock->ranked = 1;
	dry_lock_rank_enter(lock->rank);
}

static inline void dry_lock_leave_rank(struct dry_lock *lock)
{
	if (lock->ranked) {
		lock->ranked = 0;
		dry_lock_rank_leave(lock->rank);
	}
}
#else
#define DRY_LOCK_INIT(number)                                                                                          \
	{                                                                                                              \
		DRY_RAW_LOCK_INIT                                                                                      \
	}
#define dry_lock_check_rank(lock) ((void)(lock))
#define dry_lock_enter_rank(lock) ((void)(lock))
#define dry_lock_leave_rank(lock) ((void)(lock))
#endif

static inline void dry_lock_init(struct dry_lock *lock, enum dry_rank rank)
{
	(void)rank;
	*lock = (struct dry_lock)DRY_LOCK_INIT((uint16_t)rank);
}

/* Acquire without the rank rule: for fork handlers, which hold many locks of one rank. */
static inline void dry_lock_acquire_unranked(struct dry_lock *lock)
{
	dry_lock_count();
	dry_raw_acquire(&lock->raw);
	dry_lock_note(lock);
}

static inline void dry_lock_acquire(struct dry_lock *lock)
{
	dry_lock_check_rank(lock);
	dry_lock_acquire_unranked(lock);
	dry_lock_enter_rank(lock);
}

/* Whether the calling thread holds no lock, nor is about to: then it may wait for one of any rank. */
static inline bool dry_lock_none_held(void)
{
	return dry_locks_held == 0;
}

/* true: the lock is held now. */
static inline bool dry_lock_try(struct dry_lock *lock)
{
	dry_lock_count();
	if (!dry_raw_try(&lock->raw)) {
		dry_lock_uncount();
		return false;
	}
	dry_lock_note(lock);
	dry_lock_enter_rank(lock);
	return true;
}

/* As dry_lock_acquire(). true: another one held it. */
static inline bool dry_lock_acquire_contended(struct dry_lock *lock)
{
	dry_lock_check_rank(lock);
	bool waits = !dry_lock_try(lock);
	if (DRY_UNLIKELY(waits))
		dry_lock_acquire(lock);
	return waits;
}

static inline void dry_lock_release(struct dry_lock *lock)
{
	dry_lock_leave_rank(lock);
	dry_lock_unnote(lock);
	dry_raw_release(&lock->raw);
	dry_lock_uncount();
}

/*
 * In the child of a fork: free, with no waiters, whoever held it. If that was the forking thread, in a signal handler, what it
 * was doing lets the lock go as usual, and debug builds have it in its ranks until then.
 */
static inline void dry_lock_forget(struct dry_lock *lock)
{
	lock->raw = (struct dry_raw_lock)DRY_RAW_LOCK_INIT;
}

/* In the child of a fork, for a lock that the forking thread held: free, with no waiters. */
static inline void dry_lock_reinit(struct dry_lock *lock)
{
	dry_lock_leave_rank(lock);
	dry_lock_forget(lock);
	dry_lock_uncount();
}

#endif
