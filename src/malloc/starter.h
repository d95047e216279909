/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What libc allocates for the helper thread is asked for from below its pthread_create(), where a way down to new memory takes too
 * much stack (docs/design/stack.md): a block is laid by, which the slow path gives it.
 *
 * Concurrency: one thread at a time begins and ends; others ask, and are not below its frame.
 */
#ifndef DRY_MALLOC_STARTER_H
#define DRY_MALLOC_STARTER_H

#include "heap/heap.h"

/* Allocations of the default heap from below this frame are spared, until the end. */
void dry_starter_begin(const void *frame);
void dry_starter_end(void);

/* Whether the caller is below the frame. */
bool dry_starter_is_below(void);
/* What it gets. NULL: its usual way. */
void *dry_starter_take(size_t size, size_t align, bool zero);

/* In the child of a fork: nobody is. */
void dry_starter_forked(void);

#endif
