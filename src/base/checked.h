/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Arithmetic on sizes that come from outside. true: *result is exact.
 * false: it does not fit; *result is then undefined.
 */
#ifndef DRY_BASE_CHECKED_H
#define DRY_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>

/* Up to a multiple of `unit`, a power of two. */
static inline bool dry_checked_round_up(size_t x, size_t unit, size_t *result)
{
	size_t sum;

	if (__builtin_add_overflow(x, unit - 1, &sum))
		return false;
	*result = sum & ~(unit - 1);
	return true;
}

#endif
