/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Counts instructions on QEMU's mps2-an385 run with `-icount shift=10`: then every instruction takes
 * 1024 ns of the machine's time, and timer 0 of the board ticks once in 40 ns: 25.6 ticks an instruction.
 */
#ifndef DRY_BENCH_TINY_COUNTER_H
#define DRY_BENCH_TINY_COUNTER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNTER_MACHINE "Cortex-M3"

struct counter_timer { /* CMSDK timer: counts down */
	volatile uint32_t control, value, reload;
};
#define COUNTER_TIMER ((struct counter_timer *)0x40000000)

static inline __attribute__((always_inline)) uint32_t counter_begin(void)
{
	return COUNTER_TIMER->value;
}

/* Instructions between the two reads. */
static inline __attribute__((always_inline)) uint32_t counter_end(uint32_t start)
{
	uint32_t ticks = start - COUNTER_TIMER->value;

	return (uint32_t)(((uint64_t)ticks * 5 + 64) / 128) - 1;
}

static inline void counter_init(void)
{
	uint32_t start, ticks;

	COUNTER_TIMER->reload = 0xffffffff;
	COUNTER_TIMER->value = 0xffffffff;
	COUNTER_TIMER->control = 1;
	start = COUNTER_TIMER->value;
	__asm__ volatile(".rept 1000\n\tnop\n\t.endr");
	ticks = start - COUNTER_TIMER->value; /* 1001 instructions */
	if (ticks < 25625 || ticks > 25627) {
		fprintf(stderr, "counter: not run with -icount shift=10 (%lu ticks)\n", (unsigned long)ticks);
		exit(1);
	}
}

#endif
