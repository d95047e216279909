/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Memory for a pool, and time, on a host. */
#ifndef DRY_BENCH_TINY_MACHINE_H
#define DRY_BENCH_TINY_MACHINE_H

#include <stddef.h>
#include <sys/mman.h>
#include <time.h>

static inline void *machine_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* CPU time of the process in seconds. */
static inline double machine_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

#endif
