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

#include "core/heap.h"

/* Every slow allocation must ask dry_profile_alloc(); else only those of a class without a cache. Written at start. */
extern _Atomic bool dry_profile_asks;

/* Options are parsed: set up what they ask for. */
void dry_profile_start(struct dry_heap *heap);

/*
 * true: *block is a watched one of the default heap, its content zero unless options say otherwise, or NULL because memory is
 * exhausted. false: to be had the usual way.
 */
bool dry_profile_alloc(struct dry_heap *heap, size_t size, size_t align, void **block);

/* As dry_profile_alloc() for a class that has its cache with arrays, while dry_profile_asks: nearly always NULL. */
void *dry_profile_sample(struct dry_heap *heap, size_t size);

/*
 * A watched block stands here: *size is its exact size. false: it is none. Reports a pointer to one
 * that is not alive, with *size SIZE_MAX.
 */
bool dry_profile_size(struct dry_heap *heap, void *object, size_t *size);

/* Give a watched block another size where it stands. false: cannot. */
bool dry_profile_resize(struct dry_heap *heap, void *object, size_t size);

/* Sized free: report a size that is not the object's. false: do not free it. */
bool dry_profile_sized(struct dry_heap *heap, void *object, size_t size);

/* At the end of the process, and around fork. */
void dry_profile_finish(struct dry_heap *heap);
void dry_profile_before_fork(void);
void dry_profile_after_fork(bool in_child);

#endif
