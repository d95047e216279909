/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What glibc's <malloc.h> and <stdlib.h> declare, where libc is another one: the library under test has it all the same. */
#ifndef DRY_TESTS_GLIBC_H
#define DRY_TESTS_GLIBC_H

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef __GLIBC__
#define M_MMAP_THRESHOLD (-3)
#define M_ARENA_MAX      (-8)
#define DRY_THEIRS       __attribute__((weak)) /* by the preloaded library */

struct mallinfo {
	int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct mallinfo2 {
	size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

DRY_THEIRS struct mallinfo mallinfo(void);
DRY_THEIRS struct mallinfo2 mallinfo2(void);
DRY_THEIRS int malloc_info(int options, FILE *file);
DRY_THEIRS int malloc_trim(size_t pad);
DRY_THEIRS int mallopt(int param, int value);
DRY_THEIRS void *pvalloc(size_t size);
DRY_THEIRS void malloc_stats(void);
#endif

#endif
