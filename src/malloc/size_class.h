/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Size classes: multiples of 16 up to 128, then eight steps per doubling up to
 * 32 KiB. Above 128 at most 1/9 of an object is internal waste; below, the 16-byte
 * alignment that C asks for decides. Each class has the alignment of its lowest set
 * bit, so powers of two are naturally aligned.
 */
#ifndef DRY_MALLOC_SIZE_CLASS_H
#define DRY_MALLOC_SIZE_CLASS_H

#include <stddef.h>

#include "base/bits.h"

#define DRY_CLASS_MAX   ((size_t)32 << 10)
#define DRY_CLASS_COUNT 72
#define DRY_NATURAL_MAX 4096u /* classes are aligned to their lowest bit, up to a page */

/* 1 <= size <= DRY_CLASS_MAX */
static inline unsigned dry_class_of(size_t size)
{
	if (size <= 128)
		return (unsigned)((size + 15) / 16) - (size != 0);
	unsigned group = dry_log2_floor(size - 1) - 7; /* 128 << group < size <= 256 << group */
	return 8 + group * 8 + (unsigned)((size - 1 - ((size_t)128 << group)) >> (group + 4));
}

static inline size_t dry_class_size(unsigned class)
{
	if (class < 8)
		return (class + 1) * 16;
	unsigned group = (class - 8) / 8, step = (class - 8) % 8;
	return ((size_t)128 << group) + (((size_t)step + 1) << (group + 4));
}

/*
 * The smallest class for size (at most DRY_CLASS_MAX) whose objects are aligned to align; DRY_CLASS_COUNT: none. That is the one
 * of the next multiple of align: a class's size is a multiple of its step, so of align where the step is as much; and where
 * it is less, the multiples of align are sizes of classes.
 */
static inline unsigned dry_class_for(size_t size, size_t align)
{
	return align <= DRY_NATURAL_MAX ? dry_class_of(dry_round_up(size, align)) : DRY_CLASS_COUNT;
}

#endif
