/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What C says of the structures that lib.rs declares again; tests/layout.rs compares. */
#include <drystone/drystone.h>

const size_t drystone_sys_sizes[] = {
	sizeof(struct dry_heap_attr),   offsetof(struct dry_heap_attr, grace),
	sizeof(struct dry_heap_stats),  offsetof(struct dry_heap_stats, purged),
	sizeof(struct dry_cache_attr),  offsetof(struct dry_cache_attr, limit),
	sizeof(struct dry_cache_stats), offsetof(struct dry_cache_stats, failures),
};
