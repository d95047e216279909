/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Extents: big blocks, each a reservation of its own, outside every arena.
 *
 * A registry (a hash table by address, in memory of its own) knows each
 * extent, so that a pointer that is none is told apart safely. Freed extents
 * stay for a while, still committed, for the next request of nearly the same
 * size, within a byte cap; decay gives them back.
 *
 * Concurrency: one lock (rank EXTENT) for registry and cache; no port call
 * that may take long is made under it.
 *
 * Must not know: objects, caches, size classes, errno.
 */
#ifndef DRY_PAGE_EXTENT_H
#define DRY_PAGE_EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/contract.h"

struct dry_extent {
	uintptr_t addr; /* 0: slot unused; 1: slot deleted */
	size_t size;    /* bytes, a multiple of the page size */
	uint64_t age;   /* cached: tick of its free */
	bool cached;    /* free, waiting for reuse */
};

/*
 * Equations: live = number of entries that are not cached; live_bytes, cached_bytes = sums of
 * their sizes; cached_bytes <= cap.
 */
struct dry_extents {
	struct dry_lock lock;
	struct dry_extent *table; /* open addressing, power of two; guarded by lock, as all below */
	size_t slots, live, entries, live_bytes, cached_bytes, cap;
	uint64_t tick;
};

void dry_extents_init(struct dry_extents *extents, size_t cap);
/* Release every extent and the registry. */
void dry_extents_fini(struct dry_extents *extents);

/* Bytes rounded up to pages, aligned. *zeroed: the content is known to be zero. NULL: no memory. */
void *dry_extent_alloc(struct dry_extents *extents, size_t size, size_t align, bool *zeroed);

/* Size of the live extent that starts at ptr; 0 if there is none. Safe on any address. */
size_t dry_extent_size(struct dry_extents *extents, const void *ptr);

/* The start of the live extent that ptr lies in (for reports); NULL if there is none. */
void *dry_extent_of(struct dry_extents *extents, const void *ptr);

/* Free the live extent at ptr. false: there is none (nothing was done). */
bool dry_extent_free(struct dry_extents *extents, void *ptr);

/* Change the size of the live extent at ptr, in place or by moving its pages. NULL: cannot. */
void *dry_extent_resize(struct dry_extents *extents, void *ptr, size_t size, bool may_move);

/* One tick: release extents cached for `age` ticks. Bytes released; *left: bytes still cached. */
size_t dry_extent_decay(struct dry_extents *extents, unsigned age, size_t *left);

#endif
