/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Which big block is guarded: the gaps between two are geometric, so no rhythm of the program's hides from it. */
#include <stdatomic.h>

#include "debug/chance.h"
#include "debug/canary.h"
#include "guard/guard.h"

static _Atomic size_t mean;
static _Atomic int64_t left; /* allocations to the next guarded one */

static void set_next(size_t of)
{
	/* relaxed: a countdown that may err */
	atomic_store_explicit(&left, (int64_t)(dry_chance_exponential() * (of - 1) >> 16) + 1, memory_order_relaxed);
}

void dry_guard_sample(size_t every)
{
	if (every > (size_t)1 << 40)
		every = (size_t)1 << 40;
	atomic_store_explicit(&mean, every, memory_order_relaxed);
	if (every == 0)
		return;
	dry_secret_seed();
	set_next(every);
}

bool dry_guard_due(void)
{
	size_t every = atomic_load_explicit(&mean, memory_order_relaxed);

	if (every == 0 || atomic_fetch_sub_explicit(&left, 1, memory_order_relaxed) > 1)
		return false;
	set_next(every);
	return true;
}
