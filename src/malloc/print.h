/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_MALLOC_PRINT_H
#define DRY_MALLOC_PRINT_H

#include <stddef.h>

/* The slab listing of the default heap and a line of totals, to standard error. */
void dry_print_stats(void);
/* Bytes in slabs of the default heap that no program has. */
size_t dry_idle_bytes(void);

/* The live objects of the default heap's debugged caches by call site, if there are any, to standard error. */
void dry_print_leaks(void);

#endif
