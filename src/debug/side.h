/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A table beside a heap's arena: some bytes for each 16 of it. The arena reserves it and gives it memory as it grows, so that every
 * object in it has an entry; where there is no room for the table, the arena has none, either.
 *
 * Concurrency: covered follows the arena by compare-and-swap; who gets an object from its maker sees that it is covered.
 */
#ifndef DRY_DEBUG_SIDE_H
#define DRY_DEBUG_SIDE_H

#include <stdatomic.h>

#include "core/cache.h"
#include "page/page.h"

struct dry_side {
	_Atomic size_t covered;  /* bytes of the arena that are known to have entries; only grows */
	uintptr_t base;          /* of the arena; this and the rest: immutable after init */
	char *at;                /* NULL: there is no table */
	struct dry_arena *arena;
};

/* false: there is no room. The table goes with the arena. */
bool dry_side_init(struct dry_side *side, struct dry_arena *arena, unsigned width);

/* One for a heap of the program's; NULL: no room. It goes with the heap. */
struct dry_side *dry_side_make(struct dry_caches *caches, unsigned width);

/* All that the arena has now is covered: an object of it that is about to be handed out, too. */
void dry_side_look(struct dry_side *side);

/* relaxed: see above */
static inline size_t dry_side_covered(const struct dry_side *side)
{
	return atomic_load_explicit(&side->covered, memory_order_relaxed);
}

#endif
