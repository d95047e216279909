/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the options ask of the default heap: which caches are made (debug/hooks.h), and which allocations become guarded blocks.
 *
 *   profile      up to DRY_CLASS_MAX         above                    typed caches
 *   default      arrays                      page runs, extents       arrays
 *   guard:1      arrays; a sample of all is guarded                   arrays
 *   secure:1     secure objects; guarded:    guarded blocks           secure objects
 *                the first, and a sample
 *
 * All of it is on slow paths.
 *
 * Concurrency: what is written after start-up is atomic.
 */
#ifndef DRY_MALLOC_PROFILE_H
#define DRY_MALLOC_PROFILE_H

#include <stdbool.h>

/*
 * Options are parsed: set up what they ask for. true: what the heap has for its size classes by now is of another kind, and
 * has to be forgotten.
 */
bool dry_profile_start(void);

/* Then, with the size classes that stay: a heap profile, if it is asked for. */
void dry_profile_begin(void);

/* Somebody asked for something from outside or by a signal (dry_profile.request, stats/sites.h): do it. No lock is held. */
void dry_profile_obey(void);

/* Now and then, with no lock held: what depends on the memory that the process may have follows that. */
void dry_profile_follow(void);

/* At the end of the process, and around fork. */
void dry_profile_finish(bool may_wait);
void dry_profile_before_fork(void);
void dry_profile_after_fork(bool in_child);

#endif
