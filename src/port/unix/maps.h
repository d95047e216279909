/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Reading lines like "7f12-7f34 r-xp ..." of /proc/self/maps, without stdio: nothing is allocated. */
#ifndef DRY_UNIX_MAPS_H
#define DRY_UNIX_MAPS_H

#include <stdint.h>

struct dry_unix_maps {
	int fd;
	unsigned at, end;
	char text[1024];
};

/* -1: there is no more. */
int dry_unix_maps_char(struct dry_unix_maps *maps);
/* A hexadecimal number and the character after it. */
uintptr_t dry_unix_maps_number(struct dry_unix_maps *maps, int *after);

#endif
