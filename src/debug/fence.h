/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Fences: after a slab of the default heap comes a page that faults, and a slab that is given back faults as a whole until
 * 1024 others were.
 *
 *   arena | slab | fence | slab | fence | ...
 *
 * Slabs of 8 and 16 pages have it inside, as their last page, which no object is in: a run with one page more would take a block of
 * twice the size. What has waited keeps its fence, and is the first to become a slab of its order again.
 *
 * How dense: every slab has one, until there are 4096 fences; then one slab of eight. Where a fence is a mapping
 * (port/guard.h) there are up to 10,000 in all, for a system gives a process only so many (65,530), and guarded blocks take some;
 * they cost memory of the kernel's, too. There are no new ones while a limit counts address space.
 * Where the arena has no more room, slabs that were given back make some; where a limit counts what is free, none are kept. Their
 * memory counts for a limit of data again before they are the arena's: where it is refused, a chunk in which nothing lies but such
 * slabs and what is free is unmapped as it is.
 *
 * Concurrency: no lock; a counter, and places that are exchanged.
 *
 * Must not know: objects, caches.
 */
#ifndef DRY_DEBUG_FENCE_H
#define DRY_DEBUG_FENCE_H

#include "page/page.h"

/* For dry_backing.pages. */
extern const struct dry_slab_pages dry_fences;

/* For a process that may have so much memory, from now on: fences that are there stay. */
void dry_fences_fit(size_t memory);

#endif
