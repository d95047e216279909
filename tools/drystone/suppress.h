/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Suppressions of leaks, in LeakSanitizer's format: a line each, "leak:PATTERN"; lines that begin with # are comments. A pattern is
 * part of the name of a function, a source file or a module; * stands for anything, ^ and $ for where a name begins and ends.
 */
#ifndef DRYSTONE_SUPPRESS_H
#define DRYSTONE_SUPPRESS_H

#include <stdbool.h>
#include <stddef.h>

struct suppressions {
	char **pattern;
	size_t count;
};

/* Those of a file, after what there is. false after a message. */
bool suppress_read(struct suppressions *suppressions, const char *path);
/* Whether one of them is for the name, which may be NULL. */
bool suppress_has(const struct suppressions *suppressions, const char *name);

#endif
