/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The helper thread's sleep between two rounds. If a process is stopped (SIGSTOP) and continued, the kernel goes on with a sleep
 * that has a time by another call, restart_syscall, which the filter of a program that never sleeps so itself may kill for. So the
 * helper parks before such a filter comes. And it ends before a program of one thread does what only such a one may, or what it is
 * told not to do with more.
 */
#include "port/linux/rest.h"

#include "port/contract.h"
#include "port/linux/futex.h"
#include "port/unix/lock_count.h"
#include "port/unix/threads.h"

#define PATIENCE    100 /* yields, some 50 us each: in a child that was made without our knowledge there is no helper */
#define END_MOST_MS 100 /* a round of its that is under way, and a busy machine */

/* seq_cst, as the filter's state: who asks for a filter sees RESTS, or the helper sees that one comes. The same with `ends`. */
static _Atomic uint32_t rest;
enum { NONE, AWAKE, RESTS, WOKEN, PARKED };
static _Atomic bool ends; /* the helper is to end */

enum dry_rest dry_port_rest_ms(unsigned ms)
{
	uint64_t end = dry_port_clock_ms() + ms, now;

	while ((now = dry_port_clock_ms()) < end) {
		struct timespec limit = { (time_t)((end - now) / 1000), (long)((end - now) % 1000) * 1000000 };

		atomic_store(&rest, RESTS);
		if (!dry_port_confined() && !atomic_load(&ends))
			dry_linux_futex(&rest, FUTEX_WAIT, RESTS, &limit);
		atomic_store(&rest, AWAKE);
		if (dry_port_confined())
			return DRY_REST_PARK;
		if (atomic_load(&ends))
			return DRY_REST_END;
	}
	return DRY_REST_ROUND;
}

_Noreturn void dry_port_park(void)
{
	atomic_store(&rest, PARKED);
	for (;;)
		dry_linux_futex(&rest, FUTEX_WAIT, PARKED, NULL);
}

void dry_port_rest_over(void)
{
	atomic_store(&rest, NONE);
}

/* By the word a sleep ends that has not begun yet. */
static void wake(void)
{
	uint32_t seen = RESTS;

	if (atomic_compare_exchange_strong(&rest, &seen, WOKEN))
		dry_linux_futex(&rest, FUTEX_WAKE, 1, NULL);
}

void dry_port_rest_end(void)
{
	uint32_t state = atomic_load(&rest);
	unsigned threads;

	/*
	 * It may wait for a lock of the caller's, who is in a signal handler. Under a filter a program of one thread has none, or
	 * one that is parked.
	 */
	if (state == NONE || state == PARKED || dry_locks_held != 0 || dry_port_restricted())
		return;
	threads = dry_unix_threads();
	if (threads != dry_unix_helpers() + 1)
		return;
	uint64_t last = dry_port_clock_ms() + END_MOST_MS;
	atomic_store(&ends, true);
	wake();
	/* libc's word is that a thread has ended; the kernel counts it for a moment longer. */
	while (dry_unix_threads() == threads && dry_port_clock_ms() < last)
		dry_port_yield();
	atomic_store(&ends, false);
}

void dry_linux_rest_ends(void)
{
	uint32_t woken = WOKEN;

	wake();
	for (int i = 0; i < PATIENCE && atomic_load(&rest) == WOKEN; i++)
		dry_port_yield();
	atomic_compare_exchange_strong(&rest, &woken, NONE); /* nobody waits for what is not there again */
}

void dry_linux_rest_forked(void)
{
	atomic_store(&rest, NONE);
	atomic_store(&ends, false);
}
