/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Guarded blocks: each has pages of its own, and pages on either side that fault.
 *
 *   region  | guard | block, to the right end of its pages | guard | block | guard | ...
 *   pages   |       | canary ... [ the object ] .. canary  |
 *   owner[] |   0   |   id  |  id  |  id  |  id  |  id  |  id  | 0 ...    (a block and the guard after it)
 *
 * Freed, a block faults as a whole, and its place is left alone until many others were freed: every
 * access to it is a use after free, and the report has the stacks of allocation, free and access. What
 * is written within the pages but beside the object is found when it is freed, or at the end.
 *
 * States of a block: UNUSED -> LIVE (alloc) -> HELD (free) -> UNUSED (its turn in the ring of held ones).
 *
 * Concurrency: one lock for all of it; pages are committed and taken back with the lock dropped. The lock
 * is taken at fork. The handler of faults takes no lock: it reads what it finds.
 *
 * Must not know: size classes, secure objects.
 */
#ifndef DRY_GUARD_GUARD_H
#define DRY_GUARD_GUARD_H

#include "heap/heap.h"

struct dry_guard_attr {
	size_t region; /* bytes of address space */
	uint32_t live; /* most blocks live at once */
	uint32_t held; /* freed blocks whose place is not used again */
};

/* Make the region if there is none yet; the first attributes count. Before the first block. false: no memory. */
bool dry_guard_init(const struct dry_guard_attr *attr);

/* Whether there is one. */
bool dry_guard_ready(void);

/* From now on, and before there is one: no more live at once, even if attributes said so. Those that are stay. */
void dry_guard_fit(uint32_t live);

/* Report accesses that fault (SIGSEGV, SIGBUS), from the first call on. */
void dry_guard_report_faults(void);

/*
 * A block of `size` bytes, zero, its end as close to the guard as `align` (a power of two) lets it be; one of 0 bytes
 * is a guard page and no more. NULL: too big, or too many are live (half as many do for no bytes); the caller
 * then goes elsewhere.
 */
void *dry_guard_alloc(size_t size, size_t align);

/* Whether ptr lies in the region: then all below may be asked about it, and nobody else. */
bool dry_guard_contains(const void *ptr);

/* One that stands for an object of this cache, not constructed yet. NULL: as above. */
void *dry_guard_alloc_instead(struct dry_cache *cache, void *object);

/* Free, of any (NULL) or this cache: destructed, and what it stood for back to it. Reports what is no live block of that cache. */
void dry_guard_free(void *ptr, const struct dry_cache *cache);

/* Size of the live block at ptr; SIZE_MAX after a report if there is none: of a free, or (freeing false) a use after it. */
size_t dry_guard_size(void *ptr, bool freeing);

/*
 * The live block at ptr has `size` bytes from now on, where it stands; its end then lies up to a page before what faults. false: it
 * has to move: it is to be smaller or bigger by more than a quarter, what is behind it is somebody's, there is no memory, or it is
 * none.
 */
bool dry_guard_resize(void *ptr, size_t size);

/* Kind of the live block at ptr, which becomes `to`; UNKNOWN if there is none. */
enum dry_kind dry_guard_kind(const void *ptr, enum dry_kind to);

/* At the end of the process: look at the canaries of all live blocks. */
void dry_guard_check_all(void);

/* For fork. */
void dry_guard_lock(void);
void dry_guard_unlock(bool in_child);

#endif
