/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_TESTS_LINUX_TIMEX_H
#define DRY_TESTS_LINUX_TIMEX_H

#include <time.h>

#include <linux/math64.h>

#define div_u64(n, by) ((n) / (by))

typedef unsigned long long cycles_t;

static inline cycles_t get_cycles(void)
{
	return (cycles_t)clock();
}

#endif
