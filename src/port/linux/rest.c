/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The helper thread's sleep between two rounds. If a process is stopped (SIGSTOP) and continued, the kernel goes on with a sleep
 * that has a time by another call, restart_syscall, which the filter of a program that never sleeps so itself may kill for. So the
 * helper parks before such a filter comes.
 */
#include "port/linux/rest.h"

#include "port/contract.h"
#include "port/linux/futex.h"

#define PATIENCE 100 /* yields, some 50 us each: in a child that was made without our knowledge there is no helper */

/* seq_cst, as the filter's state: who asks for a filter sees RESTS, or the helper sees that one comes. */
static _Atomic uint32_t rest;
enum { AWAKE, RESTS, ENDS, PARKED };

bool dry_port_rest_ms(unsigned ms)
{
	uint64_t end = dry_port_clock_ms() + ms, now;

	while ((now = dry_port_clock_ms()) < end) {
		struct timespec limit = { (time_t)((end - now) / 1000), (long)((end - now) % 1000) * 1000000 };

		atomic_store(&rest, RESTS);
		if (!dry_port_confined())
			dry_linux_futex(&rest, FUTEX_WAIT, RESTS, &limit);
		atomic_store(&rest, AWAKE);
		if (dry_port_confined())
			return false;
	}
	return true;
}

_Noreturn void dry_port_park(void)
{
	atomic_store(&rest, PARKED);
	for (;;)
		dry_linux_futex(&rest, FUTEX_WAIT, PARKED, NULL);
}

void dry_linux_rest_ends(void)
{
	uint32_t seen = RESTS;

	/* By the word a sleep ends that has not begun yet. */
	if (atomic_compare_exchange_strong(&rest, &seen, ENDS))
		dry_linux_futex(&rest, FUTEX_WAKE, 1, NULL);
	for (int i = 0; i < PATIENCE && atomic_load(&rest) == ENDS; i++)
		dry_port_yield();
	seen = ENDS;
	atomic_compare_exchange_strong(&rest, &seen, AWAKE); /* nobody waits for what is not there again */
}

void dry_linux_rest_forked(void)
{
	atomic_store(&rest, AWAKE);
}
