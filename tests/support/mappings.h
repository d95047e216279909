/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* How many mappings the process has, of which the system allows it some 65,530. Programs of malloc/ may include it, too. */
#ifndef DRY_TESTS_MAPPINGS_H
#define DRY_TESTS_MAPPINGS_H

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "check.h"

/* Allocates nothing. */
static inline size_t test_mappings(void)
{
	char text[4096];
	int file = open("/proc/self/maps", O_RDONLY);
	size_t lines = 0;
	ssize_t got;

	CHECK(file >= 0);
	while ((got = read(file, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < got; i++)
			lines += text[i] == '\n';
	CHECK_EQ(close(file), 0);
	return lines;
}

#endif
