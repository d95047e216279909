/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * experiment.h - how things were done elsewhere or before, to measure it against what is done here
 * (docs/experiments.md). Flags of dry_cache_attr; they cost the caches that do not ask for them nothing, and no program
 * needs them.
 */
#ifndef DRYSTONE_EXPERIMENT_H
#define DRYSTONE_EXPERIMENT_H

#include <drystone/drystone.h>

/* A management type: the published order before OBJFREELIST came. */
#define DRY_CACHE_PUBLISHED_2015 0x0700u
/* Published types: the smallest slab that holds an object, whatever it wastes, as SLAB_RECLAIM_ACCOUNT has it in Linux. */
#define DRY_CACHE_SMALL_SLABS    0x1000u
/* No per-CPU arrays: every object goes to and from the slabs. */
#define DRY_CACHE_NO_ARRAYS      0x2000u
/* A new slab is put on its node's list before objects are taken from it: two rounds of the node's lock, as before 2016. */
#define DRY_CACHE_ATTACH_FIRST   0x4000u

#endif
