/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a program is told that asks as glibc has it. Other libcs have neither structure, older glibcs not the wide one;
 * programs built elsewhere may ask all the same.
 */
#ifndef DRY_PORT_MALLINFO_H
#define DRY_PORT_MALLINFO_H

#include <malloc.h>
#include <stddef.h>

#define DRY_MALLINFO(tag, number)                                                                                       \
	struct tag {                                                                                                    \
		number arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;           \
	}

#ifndef __GLIBC__
DRY_MALLINFO(mallinfo, int);
DRY_MALLINFO(mallinfo2, size_t);
#elif __GLIBC__ == 2 && __GLIBC_MINOR__ < 33
DRY_MALLINFO(mallinfo2, size_t);
#endif

#endif
