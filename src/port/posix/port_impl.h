/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The POSIX lock: a mutex. In debug builds it carries its rank, and whether its holder was counted. */
#ifndef DRY_PORT_POSIX_PORT_IMPL_H
#define DRY_PORT_POSIX_PORT_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/rank.h"
#include "port/unix/lock_count.h"
#include "port/unix/lock_rank.h"

/* dry_port_slot_fence() is a full fence on the calling thread alone: arch/generic/percpu.h. */
enum { DRY_PORT_FENCES_ALL = 0 };

struct dry_lock {
	pthread_mutex_t mutex;
#ifdef DRY_DEBUG
	uint16_t rank;   /* immutable after init */
	uint16_t ranked; /* holder only: it is in its thread's counts */
#endif
};

#ifdef DRY_DEBUG
#define DRY_LOCK_INIT(rank)                                                                                            \
	{                                                                                                              \
		PTHREAD_MUTEX_INITIALIZER, (rank), 0                                                                   \
	}
#else
#define DRY_LOCK_INIT(rank)                                                                                            \
	{                                                                                                              \
		PTHREAD_MUTEX_INITIALIZER                                                                              \
	}
#endif

static inline void dry_lock_init(struct dry_lock *lock, enum dry_rank rank)
{
	lock->mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
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
	dry_lock_count();
	pthread_mutex_lock(&lock->mutex);
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
	dry_lock_count();
	if (pthread_mutex_trylock(&lock->mutex) != 0) {
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
	pthread_mutex_unlock(&lock->mutex);
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
	lock->mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	dry_lock_uncount();
}

/*
 * In the child of a fork: free, with no waiters, whoever held it. If that was the forking thread, in a signal handler, what it
 * was doing lets the lock go as usual, and debug builds have it in its ranks until then.
 */
static inline void dry_lock_forget(struct dry_lock *lock)
{
	lock->mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

#endif
