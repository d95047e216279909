/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_TESTS_STATUS_H
#define DRY_TESTS_STATUS_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

/*
 * The number in a line of /proc/self/status that begins with `name`, which no other word there ends with; KiB where it is memory.
 * Without stdio, which allocates.
 */
static inline size_t status_number(const char *name)
{
	static char text[8192];
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t length = read(fd, text, sizeof(text) - 1);
	const char *line;

	CHECK(length > 0 && close(fd) == 0);
	text[length] = '\0';
	line = strstr(text, name);
	CHECK(line != NULL);
	return strtoul(line + strlen(name), NULL, 10);
}

#endif
