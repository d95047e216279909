/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Extents: big blocks, each a reservation of its own, outside every arena.
 *
 * A registry (a hash table by address, between guard pages) knows each live
 * extent, so that a pointer that is none is told apart safely. Freed extents
 * stay for a while, still committed, for requests to come (page/spare.h);
 * decay, a cap and an exchange for fresh memory give them back.
 *
 *   port --reserve, commit--> live --free, shrink--> spare --decay, cap, exchange--> port
 *                              ^                       |
 *                              +-- alloc, grow --------+
 *
 * An alloc takes the best fit. Where none fits, the biggest is made bigger by the port, which
 * may move its pages: what is there is used before there is more.
 *
 * Concurrency: one lock (rank EXTENT) for registry and spares; memory is mapped, resized
 * and unmapped with the lock dropped, and is then in neither: nobody else can find it.
 * After a fork the child frees the lock with dry_lock_reinit(); an extent that
 * another thread was mapping at that moment stays mapped in the child, uncounted, and that is all.
 *
 * Must not know: objects, caches, size classes, errno.
 */
#ifndef DRY_PAGE_EXTENT_H
#define DRY_PAGE_EXTENT_H

#include <stdbool.h>
#include <stddef.h>

#include "page/extent_types.h"

/*
 * cap: most bytes that wait for reuse; where more than three times as much is live, a third of that. nodes: memory nodes that
 * extents are placed on; 1: where they are touched first. source: NULL: the port.
 */
void dry_extents_init(struct dry_extents *extents, size_t cap, unsigned nodes, const struct dry_page_source *source);
/* At first, before there are any: room for more that wait for reuse, [room], with the caller for as long as the extents. */
void dry_extents_room(struct dry_extents *extents, struct dry_extent_spare *spare, unsigned room);
/* Release every extent and the registry. */
void dry_extents_fini(struct dry_extents *extents);

/*
 * Bytes rounded up to pages of the source, aligned, on a memory node. *dirty: so many of the first ones may be other than
 * zero, the others are zero and have no memory yet. NULL: no memory.
 */
void *dry_extent_alloc(struct dry_extents *extents, size_t size, size_t align, unsigned node, size_t *dirty);

/*
 * Zeroes `bytes` of an extent from the start of one of its pages on. If they are many and have little memory, that is given back:
 * zeroes would take more.
 */
void dry_extent_clear(const struct dry_extents *extents, void *addr, size_t bytes);
/* How many are live. */
size_t dry_extents_live(struct dry_extents *extents);

/* Size of the live extent that starts at ptr; 0 if there is none. Safe on any address. */
size_t dry_extent_size(struct dry_extents *extents, const void *ptr);

/* The start of the live extent that ptr lies in (for reports; slow); NULL if there is none. */
void *dry_extent_of(struct dry_extents *extents, const void *ptr);

/* true: ptr lies in what was freed a short while ago (for reports). */
bool dry_extent_was_freed(struct dry_extents *extents, const void *ptr);

/* Free the live extent at ptr. false: there is none (nothing was done). */
bool dry_extent_free(struct dry_extents *extents, void *ptr);

/*
 * Change the size of the live extent at ptr to `size` or a little more, in place or by moving its pages; after a move
 * it is aligned to a page. *dirty: so many of the new bytes behind the old ones may be other than zero, as dry_extent_alloc() says
 * it. NULL: nothing changed; it cannot, or there is a free extent of that size, into which a copy costs less.
 */
void *dry_extent_resize(struct dry_extents *extents, void *ptr, size_t size, size_t *dirty);

/*
 * Release the oldest of what waits for reuse, at least `bytes` if there are as many beyond `keep` and a sixth of what is
 * live. Bytes released.
 */
size_t dry_extent_balance(struct dry_extents *extents, size_t bytes, size_t keep);

/* One tick: release extents cached for `age` ticks (0: all, and wait for those that other threads release). Bytes released. */
size_t dry_extent_decay(struct dry_extents *extents, unsigned age);

/* In the child of a fork, whose forking thread holds the lock: what other threads were giving back stays mapped. */
void dry_extents_after_fork(struct dry_extents *extents);

/* Verify the equations. NULL, or the name of what does not hold. */
const char *dry_extents_check(struct dry_extents *extents);

#endif
