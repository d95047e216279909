/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Huge pages where they pay: under chunks of an arena that are wholly in use and stay so. Memory that is there already is
 * put into huge pages, so that none is added; a chunk of which some was purged is as any other again.
 */
#ifndef DRY_PAGE_HUGE_H
#define DRY_PAGE_HUGE_H

#include "page/page.h"

/*
 * One step, to be made now and then: looks at some chunks; those that were full at the last look, too, get huge pages, `most` bytes
 * of them. Bytes that did. Works outside of the lock. Not for arenas over a user's memory or source.
 */
size_t dry_arena_collapse(struct dry_arena *arena, size_t most);
/* No huge page is taken for slabs from now on: pages between them fault, and would split it. */
void dry_arena_forgo_huge(struct dry_arena *arena);

/* For the memory that an arena has already. */
void dry_arena_advise_huge(struct dry_arena *arena, enum dry_huge huge);

/* Whether a huge page may be taken before all of it is needed: in a small control group it would be charged at once. */
bool dry_huge_is_affordable(void);

#endif
