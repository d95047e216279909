/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Files in which the kernel tells numbers, each in a line of its name: no allocation, no stdio, little stack. Changes errno. */
#ifndef DRY_PORT_LINUX_LINES_H
#define DRY_PORT_LINUX_LINES_H

#include <stdbool.h>
#include <stdint.h>

struct dry_linux_lines {
	int fd;
	uint8_t at, length;
	char text[58]; /* 64 bytes in all: malloc's deepest calls have them on their stack (docs/design/stack.md) */
};

#define DRY_LINUX_STATUS "/proc/thread-self/status"

/* false: there is no such file. */
bool dry_linux_lines_open(struct dry_linux_lines *lines, const char *path);
void dry_linux_lines_close(struct dry_linux_lines *lines);

/* The number in the next line that begins with this name ("Seccomp:"), to base 10 or 16; `none`: there is no such line. */
uint64_t dry_linux_lines_number(struct dry_linux_lines *lines, const char *name, unsigned base, uint64_t none);

/* The number that a file begins with, 0: none; and with memory of the caller's for it. */
uint64_t dry_linux_lines_first(struct dry_linux_lines *lines, const char *path);
uint64_t dry_linux_number_in(const char *path);

#endif
