/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/unix/maps.h"

#include "port/unix/file.h"

int dry_unix_maps_char(struct dry_unix_maps *maps)
{
	if (maps->at == maps->end) {
		ptrdiff_t got = dry_file_read(maps->fd, maps->text, sizeof(maps->text));

		if (got <= 0)
			return -1;
		maps->at = 0;
		maps->end = (unsigned)got;
	}
	return (unsigned char)maps->text[maps->at++];
}

uintptr_t dry_unix_maps_number(struct dry_unix_maps *maps, int *after)
{
	uintptr_t value = 0;

	for (;;) {
		int c = *after = dry_unix_maps_char(maps);
		if (c >= '0' && c <= '9')
			value = value * 16 + (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value * 16 + (uintptr_t)(c - 'a' + 10);
		else
			return value;
	}
}
