/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Files that are read within malloc(). On Linux by system calls of their own: another library that is preloaded may replace open()
 * and its like, and take a lock there which its caller holds (or allocate). Nor are they cancellation points. They change errno.
 */
#ifndef DRY_UNIX_FILE_H
#define DRY_UNIX_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* To read. A descriptor that exec closes, or -1. */
int dry_file_open(const char *path);
void dry_file_close(int fd);
/* Bytes; 0: the end; -1. The second: from an offset on. */
ptrdiff_t dry_file_read(int fd, void *to, size_t bytes);
ptrdiff_t dry_file_read_at(int fd, void *to, size_t bytes, uint64_t offset);

/* What a file begins with, in one read. Bytes; 0: nothing. */
static inline size_t dry_file_beginning(const char *path, void *to, size_t bytes)
{
	int fd = dry_file_open(path);
	ptrdiff_t n = 0;

	if (fd >= 0) {
		n = dry_file_read(fd, to, bytes);
		dry_file_close(fd);
	}
	return n > 0 ? (size_t)n : 0;
}

/* The same, unless the program has asked for a filter: one that is about to come waits. */
size_t dry_file_look(const char *path, void *to, size_t bytes);

/* The kernel's source of randomness; false: there is none. */
bool dry_file_random(void *to, size_t bytes);

/* Whether there is memory at a page that may be read. By the kernel, which answers where a look would fault. */
bool dry_file_can_read(const void *address);

#endif
