/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_TESTS_STATUS_H
#define DRY_TESTS_STATUS_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

/* A number of a file: behind `name`, which no other word there ends with; "": the first. Without stdio, which allocates. */
static inline size_t file_number(const char *path, const char *name)
{
	static char text[8192];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = read(fd, text, sizeof(text) - 1);
	const char *line;

	CHECK(length > 0 && close(fd) == 0);
	text[length] = '\0';
	line = strstr(text, name);
	CHECK(line != NULL);
	return strtoul(line + strlen(name), NULL, 10);
}

/* Of the line of /proc/self/status that begins with `name`; KiB where it is memory. */
static inline size_t status_number(const char *name)
{
	return file_number("/proc/self/status", name);
}

#endif
