/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What drystone top looks at and how; top.c changes it by keys, top_view.c shows it. */
#ifndef DRYSTONE_TOP_H
#define DRYSTONE_TOP_H

#include "show.h"
#include "source.h"

#define TOP_HEAD 5 /* lines above the rows */

struct top {
	struct source source; /* pid 0: all processes that run on drystone */
	bool from_list;       /* the process was chosen among all */
	struct selection selection;
	char filter[64];
	double delay; /* seconds */
	/* of the view at hand */
	struct snapshot now;  /* as it was read */
	struct snapshot rows; /* of `now`, those that are shown, in order */
	unsigned refused;     /* processes that could not be read */
	size_t first, cursor; /* of the rows */
};

/* The columns of a view. */
void top_columns(const struct top *top, struct columns *columns);
/* Line `n` of TOP_HEAD, without an end; the last are the titles. */
void top_head(const struct top *top, unsigned n, char *text, size_t size);
/* All keys, for a screen of their own; NULL-terminated. */
extern const char *const top_keys[];

#endif
