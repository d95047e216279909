/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Runs of pages that were freed last, kept to be used again as they are: to split a block down to a run and to merge that again
 * take four times as long as all else of a malloc and a free. Each group of CPUs has two, of different lengths, so that neither
 * CPUs nor sizes that take turns drive each other's out.
 *
 * Concurrency: a place is emptied and filled by exchanges. Who has exchanged a run out has it alone.
 */
#ifndef DRY_PAGE_KEPT_H
#define DRY_PAGE_KEPT_H

#include "page/page.h"

#define DRY_KEPT        2 /* by length */
#define DRY_KEPT_GROUPS 8 /* CPUs, by any number of theirs, modulo this */

struct dry_kept {
	/* kind KEPT, pages in use to the arena, and to nobody else; at first NULL */
	struct dry_page *_Atomic run[DRY_KEPT_GROUPS][DRY_KEPT];
};

/* A run of so many pages, aligned as its length is, its content not known; NULL: none is kept. cpu: any number of the caller's. */
struct dry_page *dry_kept_take(struct dry_kept *kept, struct dry_arena *arena, uint32_t length, uint32_t cpu);

/* Frees a run that was claimed, or keeps it and frees another one. Of an arena with a limit or several nodes none is kept. */
void dry_kept_put(struct dry_kept *kept, struct dry_arena *arena, struct dry_page *run, uint32_t cpu);

/* Pages of those that are kept; a figure. */
uint32_t dry_kept_pages(const struct dry_kept *kept);

/* Frees them. */
void dry_kept_release(struct dry_kept *kept, struct dry_arena *arena);

#endif
