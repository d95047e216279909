/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/unix/lock_rank.h"

#include "base/fatal.h"
#include "base/rank.h"
#include "port/unix/lock_count.h"

#include <stdlib.h>

_Thread_local unsigned dry_locks_held;
_Thread_local struct dry_lock *dry_locks_noted[DRY_LOCKS_NOTED];

#ifdef DRY_DEBUG

static __thread unsigned char held[DRY_RANK_COUNT] __attribute__((tls_model("initial-exec")));

void dry_lock_rank_check(unsigned rank)
{
	unsigned other;

	for (other = DRY_RANK_COUNT - 1; other >= rank && other > 0; other--) {
		if (held[other] == 0)
			continue;
		dry_warn("lock order: rank %u acquired while rank %u is held", rank, other);
		abort();
	}
}

void dry_lock_rank_enter(unsigned rank)
{
	held[rank]++;
}

void dry_lock_rank_leave(unsigned rank)
{
	held[rank]--;
}

#else
/* A release build has no ranks; a translation unit must declare something. */
extern int dry_lock_rank_unused;
#endif
