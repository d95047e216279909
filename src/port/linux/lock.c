/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The contended halves of the lock: spin a little, then sleep on the word. Sleep by the clock is the same call. */
#include "base/compiler.h"
#include "port/contract.h"
#include "port/linux/futex.h"

/*
 * Critical sections are short (a batch of list operations), so a holder that runs is done within this many looks, about as long
 * as it takes to sleep and to be woken. A lock with sleepers is not spun on: its holder is likely to be off the CPU.
 */
#define SPIN_LOOKS 2000

void dry_raw_wait(struct dry_raw_lock *lock)
{
	uint32_t state;
	int looks;

	for (looks = 0; looks < SPIN_LOOKS; looks++) {
		state = atomic_load_explicit(&lock->state, memory_order_relaxed);
		if (state == DRY_LOCK_CONTENDED)
			break;
		/* acquire: pairs with the release in dry_raw_release() */
		if (state == DRY_LOCK_FREE &&
		    atomic_compare_exchange_weak_explicit(&lock->state, &state, DRY_LOCK_HELD, memory_order_acquire,
							  memory_order_relaxed))
			return;
		DRY_SPIN_HINT();
	}
	/* acquire: as above. From here the lock is taken as CONTENDED, see raw_lock.h. */
	while (atomic_exchange_explicit(&lock->state, DRY_LOCK_CONTENDED, memory_order_acquire) != DRY_LOCK_FREE)
		dry_linux_futex(&lock->state, FUTEX_WAIT, DRY_LOCK_CONTENDED, NULL);
}

void dry_raw_wake(struct dry_raw_lock *lock)
{
	dry_linux_futex(&lock->state, FUTEX_WAKE, 1, NULL);
}

/* Nobody wakes who sleeps on this word. */
static void sleep_ns(uint64_t ns)
{
	static _Atomic uint32_t never;
	struct timespec limit = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	dry_linux_futex(&never, FUTEX_WAIT, 0, &limit);
}

void dry_port_sleep_ms(unsigned ms)
{
	uint64_t end = dry_port_clock_ms() + ms, now;

	/* a signal ends a wait early */
	while ((now = dry_port_clock_ms()) < end)
		sleep_ns((end - now) * 1000000);
}

/* Filters may not have thought of sched_yield(). */
void dry_port_yield(void)
{
	sleep_ns(1);
}
