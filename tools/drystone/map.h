/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The page of `drystone map`: written as the snapshots come in, so that one of them is in memory at a time. */
#ifndef DRYSTONE_MAP_H
#define DRYSTONE_MAP_H

#include "figures.h"

#include <stdio.h>

struct map_page {
	FILE *out;
	void *known;       /* caches of all snapshots, for tsearch() */
	size_t caches, snapshots;
	const char *rest;  /* of the page */
	double first_when; /* of the first snapshot */
};

void map_page_begin(struct map_page *page, FILE *out, const struct snapshot *first);
void map_page_add(struct map_page *page, const struct snapshot *snapshot);
/* Afterwards the page is whole, and what it kept is freed; `out` is not closed. */
void map_page_end(struct map_page *page);

#endif
