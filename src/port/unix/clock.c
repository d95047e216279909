/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/contract.h"

#include <errno.h>
#include <time.h>

uint64_t dry_port_clock_ms(void)
{
	struct timespec now = { 0, 0 };
	int saved = errno;

	clock_gettime(CLOCK_MONOTONIC, &now);
	errno = saved;
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t dry_port_processor_us(bool process)
{
	struct timespec now = { 0, 0 };
	int saved = errno;

	clock_gettime(process ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID, &now);
	errno = saved;
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}
