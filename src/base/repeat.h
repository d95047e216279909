/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Equal neighbours in an array of pointers, at two instructions a pointer where there are vectors. */
#ifndef DRY_BASE_REPEAT_H
#define DRY_BASE_REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Whether neighbours may be equal; false: none are. Where there are vectors, it looks at the low 32 bits of each. */
static inline bool dry_may_repeat(void *const *words, size_t count)
{
	size_t i = 0;
	bool same = false;

#ifdef DRY_VECTORS
	dry_vector equal = { 0 };
	for (; i + 4 < count; i += 4) {
		const dry_vector *first = (const void *)(words + i), *second = (const void *)(words + i + 1);
		const dry_vector *third = (const void *)(words + i + 2), *fourth = (const void *)(words + i + 3);
		equal |= (dry_vector)(*first == *second) | (dry_vector)(*third == *fourth);
	}
	same = (equal[0] | equal[2]) != 0;
#endif
	for (; i + 1 < count; i++)
		same |= words[i] == words[i + 1];
	return same;
}

#endif
