/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/side.h"

bool dry_side_init(struct dry_side *side, struct dry_arena *arena, unsigned width)
{
	side->arena = arena;
	side->base = arena->base;
	side->at = dry_arena_add_side(arena, width);
	return side->at != NULL;
}

struct dry_side *dry_side_make(struct dry_caches *caches, unsigned width)
{
	struct dry_side *side = dry_backing_meta_alloc(&caches->backing, sizeof(*side));

	return side != NULL && dry_side_init(side, &caches->backing.arena, width) ? side : NULL;
}

void dry_side_look(struct dry_side *side)
{
	/* acquire: pairs with the release of who committed the chunk, and its entries before */
	size_t now = (size_t)atomic_load_explicit(&side->arena->committed, memory_order_acquire) << side->arena->page_shift;
	size_t seen = dry_side_covered(side);

	while (seen < now && !atomic_compare_exchange_weak_explicit(&side->covered, &seen, now, memory_order_relaxed,
								    memory_order_relaxed))
		;
}
