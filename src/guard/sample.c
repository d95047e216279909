/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Which allocation is guarded: the gaps between two are geometric, so no rhythm of the program's hides from it. */
#include <stdatomic.h>

#include "base/bits.h"
#include "guard/guard.h"
#include "debug/secure.h"

static _Atomic size_t mean;
static _Atomic int64_t left; /* allocations to the next guarded one */

/* -ln(u) of a uniform u, times 2^16; the logarithm between two powers of two is taken as straight, 6 % off at most. */
static uint64_t exponential(void)
{
	uint64_t u = dry_secure_random() >> 16 | 1;              /* 48 bits */
	unsigned whole = dry_log2_floor(u);                    /* u = 2^whole * (1 + part / 2^16) */
	uint64_t part = whole >= 16 ? u >> (whole - 16) & 0xffff : u << (16 - whole) & 0xffff;
	uint64_t log2 = ((uint64_t)(48 - whole) << 16) - part; /* of 2^48 / u */

	return log2 * 45426 >> 16; /* ln 2 */
}

static void set_next(size_t of)
{
	/* relaxed: a countdown that may err */
	atomic_store_explicit(&left, (int64_t)(exponential() * (of - 1) >> 16) + 1, memory_order_relaxed);
}

void dry_guard_sample(size_t every)
{
	if (every > (size_t)1 << 40)
		every = (size_t)1 << 40;
	atomic_store_explicit(&mean, every, memory_order_relaxed);
	if (every == 0)
		return;
	dry_secure_seed();
	set_next(every);
}

bool dry_guard_due(size_t allocations)
{
	size_t every = atomic_load_explicit(&mean, memory_order_relaxed);

	if (every == 0 || atomic_fetch_sub_explicit(&left, (int64_t)allocations, memory_order_relaxed) > (int64_t)allocations)
		return false;
	set_next(every);
	return true;
}
