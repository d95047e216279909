/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What all arenas and extents of the process may have of the system's memory, together: a count and a limit.
 *
 * Counted is what was handed out, touched or not, and what was freed and not given back yet; of an arena the pages
 * that have, or may have, memory behind them. Not counted: memory that a user handed in or that comes from a user's source,
 * and the tables beside an arena's pages (2 % of them).
 *
 * Concurrency: two atomics, relaxed: nothing else hangs on them. The count never passes the limit but by what was
 * there when the limit was set, and by what an arena's estimate was wrong.
 *
 * Must not know: who could give memory back.
 */
#ifndef DRY_PAGE_BUDGET_H
#define DRY_PAGE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* From now on at most so many bytes; SIZE_MAX: no limit, as at first. */
void dry_budget_limit(size_t bytes);
/* Whether there is a limit, and room for `bytes` in it if all else were given back. */
bool dry_budget_may_hold(size_t bytes);
/* Whether there is room for `bytes` as it is; true without a limit. It may change at once. */
bool dry_budget_has_room(size_t bytes);
/* Bytes counted. */
size_t dry_budget_used(void);

/* Count `bytes` more, be it beyond the limit. */
void dry_budget_count(size_t bytes);
/* The same within the limit. false: that would be beyond it, and nothing was counted. */
bool dry_budget_take(size_t bytes);
/* Those go back to the system. */
void dry_budget_give(size_t bytes);

/* The same, by who takes and gives with no lock held that a fork waits for: what is its share of the count. */
struct dry_budget_share {
	_Atomic size_t taken;
};

bool dry_budget_share_take(struct dry_budget_share *share, size_t bytes);
void dry_budget_share_give(struct dry_budget_share *share, size_t bytes);
/*
 * In the child of a fork: it has `there` bytes; threads that are not here were in the middle of mapping or releasing the rest.
 * Where it was the forking thread's own, from a handler, and goes on here, that much is not counted.
 */
void dry_budget_share_forked(struct dry_budget_share *share, size_t there);

#endif
