/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The contended halves of the lock: spin a little, then sleep on the word. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include "port/contract.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Critical sections are short (a batch of list operations), so a holder that
 * runs is done within this many looks. A lock with sleepers is not spun on:
 * its holder is likely to be off the CPU.
 */
#define SPIN_LOOKS 100

static inline void spin_hint(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void futex(struct dry_lock *lock, int op, uint32_t value)
{
	int saved = errno;

	/* A failure means that the word changed or a signal came; the caller looks again. */
	(void)syscall(SYS_futex, &lock->state, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
	errno = saved;
}

void dry_lock_wait(struct dry_lock *lock)
{
	uint32_t state;
	int looks;

	for (looks = 0; looks < SPIN_LOOKS; looks++) {
		state = atomic_load_explicit(&lock->state, memory_order_relaxed);
		if (state == DRY_LOCK_CONTENDED)
			break;
		/* acquire: pairs with the release in dry_lock_release() */
		if (state == DRY_LOCK_FREE &&
		    atomic_compare_exchange_weak_explicit(&lock->state, &state, DRY_LOCK_HELD, memory_order_acquire,
							  memory_order_relaxed))
			return;
		spin_hint();
	}
	/* acquire: as above. From here the lock is taken as CONTENDED, see port_impl.h. */
	while (atomic_exchange_explicit(&lock->state, DRY_LOCK_CONTENDED, memory_order_acquire) != DRY_LOCK_FREE)
		futex(lock, FUTEX_WAIT, DRY_LOCK_CONTENDED);
}

void dry_lock_wake(struct dry_lock *lock)
{
	futex(lock, FUTEX_WAKE, 1);
}
