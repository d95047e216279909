/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Counts instructions on an x86-64 host: between counter_begin() and counter_end() the
 * processor traps after each one (the trap flag), and the signal handler counts. Exact, and slow.
 */
#ifndef DRY_BENCH_TINY_COUNTER_H
#define DRY_BENCH_TINY_COUNTER_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef __x86_64__
#error "instructions are counted on x86-64 hosts only"
#endif

#define COUNTER_MACHINE "x86-64"
#define TRAP_FLAG	0x100u

static volatile uint32_t counter_steps;
static uint32_t counter_own; /* steps of begin and end themselves */

static void counter_step(int signal)
{
	(void)signal;
	counter_steps++;
}

static inline uint32_t counter_begin(void)
{
	counter_steps = 0;
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
	return 0;
}

static inline uint32_t counter_end(uint32_t start)
{
	(void)start;
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~(uint64_t)TRAP_FLAG);
	return counter_steps - counter_own;
}

static inline void counter_init(void)
{
	struct sigaction action = { .sa_handler = counter_step, .sa_flags = SA_RESTART };

	sigaction(SIGTRAP, &action, NULL);
	counter_own = counter_end(counter_begin());
	counter_begin();
	__asm__ volatile("nop\n\tnop\n\tnop");
	if (counter_end(0) != 3) {
		fprintf(stderr, "counter: instructions cannot be counted here\n");
		exit(1);
	}
}

#endif
