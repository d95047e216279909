/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A table beside a heap's arena: some bytes for each 16 of it, in a reservation of its own between pages that
 * fault. It takes memory as the arena is used. Once the system refused some it stays as it is: what lies beyond has no entry.
 *
 * Concurrency: covered grows by compare-and-swap; who gets an object from its maker sees that it is covered.
 */
#ifndef DRY_DEBUG_SIDE_H
#define DRY_DEBUG_SIDE_H

#include <stdatomic.h>

#include "page/page.h"

struct dry_side {
	_Atomic size_t covered; /* bytes of the arena with entries */
	uintptr_t base;         /* of the arena; this and the rest: immutable after init */
	char *at;               /* NULL: there is no table */
	size_t reach;           /* bytes of the arena that entries are reserved for */
	size_t width;           /* bytes of an entry */
	_Atomic size_t grown;   /* the same as covered, ahead of it for a moment; | 1: never more */
};

/* For as much of the arena as there is address space for. false: for less than is any use. */
bool dry_side_init(struct dry_side *side, const struct dry_arena *arena, size_t width);

/* The address space goes back. Nobody looks into the table any more. */
void dry_side_fini(struct dry_side *side);

/* Whether there is an entry at `offset` of the arena, now that it is asked for. Slow; then covered says so. */
bool dry_side_extend(struct dry_side *side, size_t offset);

/* relaxed: see above */
static inline size_t dry_side_covered(const struct dry_side *side)
{
	return atomic_load_explicit(&side->covered, memory_order_relaxed);
}

#endif
