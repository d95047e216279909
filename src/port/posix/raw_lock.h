/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The POSIX lock: a mutex. */
#ifndef DRY_PORT_POSIX_RAW_LOCK_H
#define DRY_PORT_POSIX_RAW_LOCK_H

#include <pthread.h>
#include <stdbool.h>

struct dry_raw_lock {
	pthread_mutex_t mutex;
};

#define DRY_RAW_LOCK_INIT                                                                                              \
	{                                                                                                              \
		PTHREAD_MUTEX_INITIALIZER                                                                              \
	}

static inline bool dry_raw_try(struct dry_raw_lock *lock)
{
	return pthread_mutex_trylock(&lock->mutex) == 0;
}

static inline void dry_raw_acquire(struct dry_raw_lock *lock)
{
	pthread_mutex_lock(&lock->mutex);
}

static inline void dry_raw_release(struct dry_raw_lock *lock)
{
	pthread_mutex_unlock(&lock->mutex);
}

#endif
