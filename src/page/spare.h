/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Spare extents: freed, still committed, wait for reuse.
 *
 *   | live | spare | live |  spare  | live |      spare[] of struct dry_extents: by address, neighbours are joined
 *                          |taken|        best fit, from the low end; the high end stays spare
 *
 * A rest of less than a sixteenth goes with what is taken: it would serve nobody before its neighbours are freed.
 * Extents of a source are ranges that it knows by themselves: those are neither joined nor split, and fit what
 * is at most a quarter smaller.
 *
 * Concurrency: the lock of the extents is held by the caller. dry_spare_put_locked() and
 * dry_spare_release_locked() drop it while memory is unmapped; what they unmap is out of spare[] by then.
 */
#ifndef DRY_PAGE_SPARE_H
#define DRY_PAGE_SPARE_H

#include <stdbool.h>

#include "page/extent_types.h"

/* The smallest one of the node that holds `size` bytes, its start aligned; of like ones the lowest. -1: none. */
int dry_spare_find_locked(const struct dry_extents *extents, size_t size, size_t align, unsigned node);

/* `size` bytes of it, or a little more. */
struct dry_extent_spare dry_spare_take_locked(struct dry_extents *extents, unsigned index, size_t size);

/* Of the one that starts at `addr` at least `size` bytes: how many; 0: it has not as many, or there is none. */
size_t dry_spare_take_at_locked(struct dry_extents *extents, uintptr_t addr, size_t size, unsigned node);

/* The biggest one of the node, if it is worth to be made `size` bytes big by the port; else size is 0. */
struct dry_extent_spare dry_spare_take_biggest_locked(struct dry_extents *extents, size_t size, unsigned node);

void dry_spare_put_locked(struct dry_extents *extents, struct dry_extent_spare spare);

/* Release those freed at tick `newest` or before; then the oldest until at most `keep` bytes are left. Bytes released. */
size_t dry_spare_release_locked(struct dry_extents *extents, size_t keep, uint64_t newest);

/* What other threads release is gone in a moment. false: they release nothing. Drops the lock. */
bool dry_spare_settles_locked(struct dry_extents *extents);

/* What is in neither table nor spare[] any more goes back, and out of the process's count. */
void dry_extent_unmap(struct dry_extents *extents, void *addr, size_t size);

const char *dry_spares_check_locked(const struct dry_extents *extents);

#endif
