/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Memory for a pool on QEMU's mps2-an385: what its 16 MB have besides the program. Time is not measured there. */
#ifndef DRY_BENCH_TINY_MACHINE_H
#define DRY_BENCH_TINY_MACHINE_H

#include <stddef.h>

#define MACHINE_MOST (14u << 20)

static inline void *machine_memory(size_t size)
{
	static unsigned char memory[MACHINE_MOST] __attribute__((aligned(4096)));

	return size <= MACHINE_MOST ? memory : NULL;
}

static inline double machine_seconds(void)
{
	return 0;
}

#endif
