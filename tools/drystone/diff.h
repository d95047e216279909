/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What two snapshots or two profiles have in memory, side by side.
 *
 *   file -> diff_json.c, or a profile -> diff_add() for each cache or call site -> diff.c sorts, joins and prints
 */
#ifndef DRYSTONE_DIFF_H
#define DRYSTONE_DIFF_H

#include <stdbool.h>
#include <stddef.h>

/* bytes, objects: before and after */
struct diff_item {
	char *what;
	double bytes[2], objects[2];
};

struct diff {
	struct diff_item *item;
	size_t count;
};

/* `what` becomes the list's, which frees it. side: 0 before, 1 after. */
void diff_add(struct diff *diff, int side, char *what, double bytes, double objects);

/* Caches and classes of big blocks of what `drystone info --json` wrote. all: with what is free in them. NULL, or what is wrong. */
const char *diff_read_json(struct diff *diff, int side, const char *text, bool all);

#endif
