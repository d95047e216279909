/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A tracer and the thread that it steps through take turns: on one processor neither wakes the other one's up, which takes longer
 * than the step. Other threads go where they want.
 */
#ifndef DRY_TESTS_ONE_CPU_H
#define DRY_TESTS_ONE_CPU_H

#include <sched.h>
#include <sys/types.h>

static cpu_set_t one_cpu_before;

/* Both, where this thread is; nothing is lost if that is not to be. Not before the traced thread has started others. */
static inline void one_cpu_begin(pid_t traced)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	if (sched_getaffinity(0, sizeof(one_cpu_before), &one_cpu_before) == 0 && sched_setaffinity(0, sizeof(one), &one) == 0)
		sched_setaffinity(traced, sizeof(one), &one);
}

/* For what this thread starts next. */
static inline void one_cpu_end(void)
{
	sched_setaffinity(0, sizeof(one_cpu_before), &one_cpu_before);
}

#endif
