/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/unix/path.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "port/save.h"

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

void dry_port_from_root(char *path, size_t room)
{
	char here[DRY_UNIX_PATH];
	size_t length = strlen(path), above;
	int saved = errno;

	/* "(unreachable)/..." is no path; and %p is the number of the process. */
	if (length != 0 && path[0] != '/' && getcwd(here, sizeof(here)) != NULL && here[0] == '/' && strstr(here, "%p") == NULL) {
		above = strlen(here);
		above -= above == 1; /* the root itself */
		if (above + 1 + length < room) {
			memmove(path + above + 1, path, length + 1);
			memcpy(path, here, above);
			path[above] = '/';
		}
	}
	errno = saved;
}
