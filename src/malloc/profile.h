/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Which allocations of the default heap are watched over, and how.
 *
 *   profile        small                         above DRY_CLASS_MAX          typed caches
 *   default        the first of the process:     the first of the process:    plain
 *                  guarded blocks; of each       guarded blocks
 *                  size: secure objects
 *   guard:1        also a sample of all: guarded blocks                       plain
 *   secure:1       all: secure objects; the first of the process,             secure objects
 *                  of each size and a sample:    all: guarded blocks
 *                  guarded blocks
 *
 * All of it is on slow paths. A class gets its cache with arrays (general.h) when it has had its first
 * allocations, so that they come by here; under secure:1 it never gets one. What a program allocates
 * only a few times is where its errors hide, and costs nothing to watch.
 *
 * Concurrency: what is written after start-up is atomic.
 */
#ifndef DRY_MALLOC_PROFILE_H
#define DRY_MALLOC_PROFILE_H

#include "heap/heap.h"

/*
 * Options are parsed: set up what they ask for, as the heap's secondary allocator. true: what the heap has for its size classes
 * by now is of another kind, and has to be forgotten.
 */
bool dry_profile_start(struct dry_heap *heap);

/* What the default heap's blocks are asked for, from the start on. */
extern const struct dry_secondary dry_profile_secondary;

/* At the end of the process, and around fork. */
void dry_profile_finish(struct dry_heap *heap);
void dry_profile_before_fork(void);
void dry_profile_after_fork(bool in_child);

#endif
