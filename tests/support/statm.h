/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the kernel says of the memory of the process (/proc/self/statm), in bytes. Allocates nothing; for malloc/, too. */
#ifndef DRY_TESTS_STATM_H
#define DRY_TESTS_STATM_H

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

/* The number behind so many. */
static inline size_t test_statm(unsigned behind)
{
	char text[128] = "", *at = text;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	size_t pages;

	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	do
		pages = strtoul(at, &at, 10);
	while (behind-- > 0);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static inline size_t test_address_space(void)
{
	return test_statm(0);
}

static inline size_t test_resident(void)
{
	return test_statm(1);
}

#endif
