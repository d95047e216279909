/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Plain blocks under secure:1, where the memory that protection takes is what the kernel would kill for: in a small control
 * group, from a part of its memory on. They come from caches of their own and are as in the default profile, without canaries,
 * shadows and quarantine. Blocks that are guarded stay so.
 *
 * Must not know: how secure objects are made.
 */
#ifndef DRY_MALLOC_PLAIN_H
#define DRY_MALLOC_PLAIN_H

#include <stdatomic.h>
#include <stdint.h>

#include "heap/heap.h"
#include "page/budget.h"

#define DRY_PLAIN_TINY 32u /* bytes; for such blocks protection takes most */

extern DRY_HIDDEN _Atomic size_t dry_plain_from; /* bytes; SIZE_MAX: never. Relaxed: written at any time */

/* The process may have so much memory. Who has set a limit of its own has chosen that allocations fail: then never. */
void dry_plain_fit(size_t memory);

static inline bool dry_plain_ever(void)
{
	return DRY_UNLIKELY(atomic_load_explicit(&dry_plain_from, memory_order_relaxed) != SIZE_MAX);
}

static inline bool dry_plain_due(size_t size)
{
	size_t from = atomic_load_explicit(&dry_plain_from, memory_order_relaxed);

	return DRY_UNLIKELY(from != SIZE_MAX) && dry_budget_used() > (size <= DRY_PLAIN_TINY ? from / 3 : from);
}

/* NULL: no memory, or bigger than a class. */
void *dry_plain_alloc(size_t size, size_t align);

#endif
