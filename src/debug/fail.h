/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Allocations of the default heap that fail on purpose, to see what a program does then.
 *
 *   nth=N          the Nth that the conditions below let count, once
 *   every=N        each Nth
 *   chance=N       N in a million, by a sequence that seed=N chooses: the same run fails at the same places
 *   cache=NAME     only those of a cache ("kmalloc-64"; "big" is what is too big for one)
 *   site=FUNCTION  only those with this function among their callers, or site=MODULE+0xOFFSET, a return address;
 *                  of C++ as debug/mangled.h has it
 *   say            a line and the stack for each that fails
 *
 * Joined by slashes: fail:every=100/cache=kmalloc-64. Without nth, every or chance, all fail.
 *
 * Concurrency: the count is atomic, so every number is one allocation's.
 */
#ifndef DRY_DEBUG_FAIL_H
#define DRY_DEBUG_FAIL_H

#include <stdbool.h>

struct dry_cache;

/* Parse [from, end). false: something in it is unknown or no number. While the library is loaded only. */
bool dry_fail_select(const char *from, const char *end);

#define DRY_FAIL_SITE 251 /* room for the name of a function: what an option may hold */

/* Whether anything is to fail. */
bool dry_fail_selects(void);

/* Whether this allocation may go on; NULL: one that is too big for a cache. */
bool dry_fail_allows(const struct dry_cache *cache);

/* The process ends: a line if no allocation was of the cache, or none from the function. */
void dry_fail_finish(void);

#endif
