/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Huge pages for extents: a fault for each 512 pages, but only where the program fills its big blocks. Whether it does is
 * learned from some of them, which are looked at when they are freed or the next one is made: as long as it is not known, at
 * whole ones without the hint; later at the ends of some.
 *
 *   |  2 MiB  |  2 MiB  |  2 MiB  | pages |      likely to be filled: an extent begins and, if it is not much more than was
 *                                             asked for, ends where a huge page does
 *   |<----- with the hint ----->|<- end ->|    looked at: the last 2 to 4 MiB have pages of their own, which tell
 *
 * Concurrency: the lock of the extents, where names say so; else it must not be held.
 */
#ifndef DRY_PAGE_DENSE_H
#define DRY_PAGE_DENSE_H

#include <stdbool.h>

#include "page/extent_types.h"

/* Where a huge page may begin, on most machines; elsewhere it does no harm. */
#define DRY_DENSE_UNIT ((size_t)2 << 20)

void dry_dense_init(struct dry_extents *extents);

/* Whether new extents of that size are going to be filled, as it seems. */
bool dry_dense_is_likely_locked(struct dry_extents *extents, size_t size);

/* How big an extent for `size` bytes (a multiple of the page size) had best be: as big, or up to an eighth bigger. */
size_t dry_dense_size_locked(struct dry_extents *extents, size_t size);

/* A new extent, of which `asked` bytes were asked for, and which is nobody else's yet. */
void dry_dense_begin(struct dry_extents *extents, void *addr, size_t size, size_t asked);

/* The extent at addr is freed, and the caller's until it is spare. Drops the lock. */
void dry_dense_end_locked(struct dry_extents *extents, uintptr_t addr, size_t size);
/* It lies elsewhere now: it is looked at no more, and is no sign. */
void dry_dense_moved_locked(struct dry_extents *extents, uintptr_t from);

/*
 * thp:auto, one step, to be made now and then: the next `most` bytes of an extent that was there at the last look, too, get huge
 * pages in place of what they have, if they are filled. Bytes that did.
 */
size_t dry_dense_collapse(struct dry_extents *extents, size_t most);

/* An extent is of `size` bytes now; of those it had, `used` at least were asked for. */
void dry_dense_grown(void *addr, size_t size, size_t used);

#endif
