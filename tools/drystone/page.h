/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Pages of tools/drystone/pages, as text; the build makes it of them. Data go in place of the comment DATA. */
#ifndef DRYSTONE_PAGE_H
#define DRYSTONE_PAGE_H

#include <stdio.h>

extern const char page_flame[], page_map[];

/* Write a page up to where its data belong. Returns what comes after them. */
const char *page_begin(const char *page, FILE *out);
/* A string of JSON that may stand in a script of a page. */
void page_text(FILE *out, const char *text);

#endif
