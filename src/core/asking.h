/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The turn to call what the program has given for when memory is short. One thread at a time has it; another that is short
 * meanwhile waits, and may find what the first one got. Not for ever, for the callback may wait for what the other one holds, and
 * not within a callback of its own thread. No lock is held by who waits, nor by who has the turn.
 */
#ifndef DRY_CORE_ASKING_H
#define DRY_CORE_ASKING_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/backing.h"

#define DRY_ASKING_PATIENCE 2000 /* pauses (core/backing.h) */

struct dry_asking {
	_Atomic uintptr_t owner; /* dry_backing_self(); 0: nobody. acquire and release, as a lock */
	_Atomic uint32_t ended;  /* turns. release, before owner is cleared; acquire by who waits for one to end */
};

/* TAKEN: the caller's, to be ended. WAITED: another thread's has ended meanwhile. REFUSED: it is this thread's, or too long. */
enum dry_asking_result { DRY_ASKING_TAKEN, DRY_ASKING_WAITED, DRY_ASKING_REFUSED };

enum dry_asking_result dry_asking_begin(struct dry_asking *turn);
void dry_asking_end(struct dry_asking *turn);

static inline bool dry_asking_is_mine(const struct dry_asking *turn)
{
	/* relaxed: nobody else writes the caller's number, or takes it away */
	return atomic_load_explicit(&turn->owner, memory_order_relaxed) == dry_backing_self();
}

/* In the child of a fork: a turn of a thread that is not there has ended. */
static inline void dry_asking_forked(struct dry_asking *turn)
{
	if (!dry_asking_is_mine(turn))
		atomic_store_explicit(&turn->owner, 0, memory_order_relaxed);
}

#endif
