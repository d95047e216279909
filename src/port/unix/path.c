/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/unix/path.h"

#include <string.h>

bool dry_unix_path(char *name, size_t room, const char *path, unsigned long number)
{
	char digits[24];
	size_t n = 0;

	while (*path != '\0' && n + sizeof(digits) < room) {
		if (path[0] != '%' || path[1] != 'p') {
			name[n++] = *path++;
			continue;
		}
		unsigned long left = number;
		size_t d = sizeof(digits);
		do
			digits[--d] = (char)('0' + left % 10);
		while ((left /= 10) != 0);
		memcpy(name + n, digits + d, sizeof(digits) - d);
		n += sizeof(digits) - d;
		path += 2;
	}
	name[n] = '\0';
	return *path == '\0';
}
