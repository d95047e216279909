/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The lock of one thread: it is taken when it is free, given back by who has it, and in the order of ranks (base/rank.h). */
#ifndef DRY_TESTS_PLAIN_PORT_IMPL_H
#define DRY_TESTS_PLAIN_PORT_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rank.h"

struct dry_lock {
	uint16_t rank; /* 0: was never made */
	uint16_t held;
};

/* world.c */
void dry_lock_init(struct dry_lock *lock, enum dry_rank rank);
void dry_lock_acquire(struct dry_lock *lock);
/* As dry_lock_acquire(). true: another one held it. */
bool dry_lock_acquire_contended(struct dry_lock *lock);
bool dry_lock_try(struct dry_lock *lock);
void dry_lock_release(struct dry_lock *lock);
/* Whether the caller may wait for one of any rank: nobody else is there to be waited for. */
static inline bool dry_lock_none_held(void)
{
	return false;
}

#endif
