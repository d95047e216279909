/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_MALLOC_PRINT_H
#define DRY_MALLOC_PRINT_H

#include <drystone/drystone.h>

/* The slab listing of the default heap and a line of totals, to standard error. */
void dry_print_stats(void);

/* The live objects of the default heap's debugged caches by call site, if there are any, to standard error. */
void dry_print_leaks(void);

/* Whether a cache's slabs are counted as another's. */
bool dry_print_is_alias(dry_cache *cache);

#endif
