/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The figures of a process or core file, read by the layout that the library publishes. */
#ifndef DRYSTONE_WALK_H
#define DRYSTONE_WALK_H

#include "figures.h"
#include "target.h"

/* Whether anything was ever allocated from drystone, as far as figures tell. */
static inline bool walk_served(const struct snapshot *snapshot)
{
	return snapshot->sum[SUM_ALLOCS] + snapshot->sum[SUM_BIG_BLOCKS] + snapshot->sum[SUM_GUARDED] != 0;
}

struct walk_options {
	bool blocks; /* page runs, extents, what is free and what is resident, too; else only the caches */
	bool parts;  /* rows of nodes and slots, too */
	bool map;    /* with blocks: each slab, block and free stretch by itself, too */
};

/*
 * Read all of it; when a list cannot be followed because the process just changed it, again from the
 * start, a few times. If `damage` is set at the end, what was read is still there. *snapshot is overwritten.
 */
void walk_target(const struct target *target, const struct dry_inspect *layout, const struct walk_options *options,
		 struct snapshot *snapshot);

#endif
