/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_MALLOC_PRINT_H
#define DRY_MALLOC_PRINT_H

#include <stddef.h>

/* The slab listing of the default heap and a line of totals, to standard error. */
void dry_print_stats(void);
/*
 * Of the default heap, bytes in slabs that no program has, and those of guarded blocks, which dry_heap_stats() counts
 * with the extents.
 */
void dry_idle_and_guarded(size_t *idle, size_t *guarded);

/* The live objects of the default heap's debugged caches by call site, if there are any, to standard error. */
void dry_print_leaks(void);

#endif
