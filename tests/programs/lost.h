/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What programs for a search of lost blocks have in common. */
#ifndef DRY_TESTS_LOST_H
#define DRY_TESTS_LOST_H

#include <stddef.h>

#define NOINLINE __attribute__((noinline))

/* What calls left on the stack below their caller is none of its business. */
static NOINLINE void wipe(void)
{
	volatile char room[65536];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

#endif
