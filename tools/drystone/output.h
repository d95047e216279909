/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A file that a command writes. What stands at its name stays until the new one is whole: that is written beside it, and takes its
 * place at the end. What is no file of this user's own (a device, a pipe, a symbolic link) is written to as it is.
 */
#ifndef DRYSTONE_OUTPUT_H
#define DRYSTONE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Whether a file of that name can be written, as far as that shows without doing it; false: errno says why not. */
bool output_is_possible(const char *path);

/* One at a time. NULL: errno says why. Until it is closed, a signal that ends the command removes it, and so does exit(). */
FILE *output_open(const char *path);
/* false: it could not be written, and what was there before stays; errno says why. */
bool output_close(FILE *file);

#endif
