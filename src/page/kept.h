/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Runs of pages that were freed last, kept to be used again as they are: to split a block down to a run and to merge that again
 * take four times as long as all else of a malloc and a free. One of an even length, one of an odd one.
 *
 * Concurrency: a place is emptied and filled by exchanges. Who has exchanged a run out has it alone.
 */
#ifndef DRY_PAGE_KEPT_H
#define DRY_PAGE_KEPT_H

#include "page/page.h"

#define DRY_KEPT 2

struct dry_kept {
	struct dry_page *_Atomic run[DRY_KEPT]; /* kind KEPT, pages in use to the arena, and to nobody else; at first NULL */
};

/* A run of so many pages, aligned as its length is, its content not known; NULL: none is kept. */
struct dry_page *dry_kept_take(struct dry_kept *kept, struct dry_arena *arena, uint32_t length);

/* Frees a run that was claimed, or keeps it and frees another one. Of an arena with a limit or several nodes none is kept. */
void dry_kept_put(struct dry_kept *kept, struct dry_arena *arena, struct dry_page *run);

/* Pages of those that are kept; a figure. */
uint32_t dry_kept_pages(const struct dry_kept *kept);

/* Frees them. */
void dry_kept_release(struct dry_kept *kept, struct dry_arena *arena);

#endif
