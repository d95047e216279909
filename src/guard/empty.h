/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Blocks of no bytes: addresses in a reservation that is never committed, 16 bytes apart, so that every access to one
 * faults. An address is given out again when all others had their turn.
 *
 * Concurrency: no lock; a bit for each address, changed by atomics.
 */
#ifndef DRY_GUARD_EMPTY_H
#define DRY_GUARD_EMPTY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * align: a power of two, up to a page. NULL: nearly all addresses have one, or as many as are looked at, fewer for more than 16;
 * or there is no address space.
 */
void *dry_empty_alloc(size_t align);

/* Whether ptr lies where they are: then what follows may be asked. */
bool dry_empty_contains(const void *ptr);

/* Whether there is one at ptr; false after a report. free: now there is none. */
bool dry_empty_check(const void *ptr, bool free);

#endif
