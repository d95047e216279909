/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_MALLOC_PRINT_H
#define DRY_MALLOC_PRINT_H

#include <drystone/drystone.h>

/* Bytes of the default heap as malloc's callers count: no byte twice, and none that is free as one in use. */
struct dry_totals {
	size_t small; /* in use but in big blocks, which have mappings of their own */
	size_t big;
	size_t free;
	size_t kept; /* of free: what malloc_trim() returns at once */
};
static inline struct dry_totals dry_totals_of(const struct dry_heap_stats *stats)
{
	struct dry_totals totals = {
		.small = (stats->in_use > stats->idle ? stats->in_use - stats->idle : 0) + stats->guarded,
		.big = stats->extents - stats->guarded,
		.kept = stats->dirty,
	};

	totals.free = stats->in_use + stats->dirty + stats->guarded - totals.small;
	return totals;
}

/* The slab listing of the default heap and two lines of totals, to standard error. */
void dry_print_stats(void);

/* The live objects of the default heap's debugged caches by call site, if there are any, to standard error. */
void dry_print_leaks(void);

#endif
