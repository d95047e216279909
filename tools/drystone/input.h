/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A file that a command looks into before it reads it, by name: what comes through a pipe is there but once, and is kept. */
#ifndef DRYSTONE_INPUT_H
#define DRYSTONE_INPUT_H

#include <stdio.h>

/* At its begin, where rewind() leads again. NULL: errno says why. */
FILE *input_open(const char *path);

#endif
