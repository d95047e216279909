/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/fence.h"

#include <stdatomic.h>

#include "page/budget.h"
#include "port/guard.h"

#define DENSE  4096u
#define MOST   10000u
#define SPARSE 8u
#define KEPT   1024u
#define SHARE  ((size_t)64 << 10) /* bytes of the process's memory for each fence: the kernel's own for it are some 500 */

static _Atomic uint32_t fences, slabs, kept_at; /* counts; relaxed: one more or less does not matter */
static struct dry_page *_Atomic kept[KEPT];
static _Atomic uint32_t most = MOST, places = KEPT; /* relaxed as well */

void dry_fences_fit(size_t memory)
{
	uint32_t count = memory / SHARE < MOST ? (uint32_t)(memory / SHARE) : MOST;

	atomic_store_explicit(&most, count, memory_order_relaxed);
	atomic_store_explicit(&places, count / 4 < KEPT ? count / 4 + 1 : KEPT, memory_order_relaxed);
}

/* A slab of 8 pages and a fence take 16, of which only other sizes use the rest. */
static bool wants_fence(void)
{
	uint32_t now = atomic_load_explicit(&fences, memory_order_relaxed);

	return !dry_port_is_scarce() && now < atomic_load_explicit(&most, memory_order_relaxed) &&
	       (now < DENSE || atomic_fetch_add_explicit(&slabs, 1, memory_order_relaxed) % SPARSE == 0);
}

static size_t bytes_of(const struct dry_arena *arena, uint32_t pages)
{
	return (size_t)pages << arena->page_shift;
}

/* Pages that the arena has and the system took: blank for the arena's figures, not of the process's count. Relaxed: a figure. */
static void blank(struct dry_arena *arena, uint32_t pages)
{
	dry_budget_give(bytes_of(arena, pages));
	atomic_fetch_add_explicit(&arena->blank, pages, memory_order_relaxed);
}

static void unblank(struct dry_arena *arena, uint32_t pages)
{
	dry_budget_count(bytes_of(arena, pages));
	atomic_fetch_sub_explicit(&arena->blank, pages, memory_order_relaxed);
}

/* Its turn has come. Where the system refuses the memory it is nobody's for good. */
static void let_go(struct dry_arena *arena, struct dry_page *run)
{
	if (dry_port_commit(dry_arena_start(arena, run), bytes_of(arena, run->count)) != 0)
		return;
	if (run->flags & DRY_PAGE_FENCED)
		unblank(arena, run->count);
	run->flags &= (uint8_t)~DRY_PAGE_FENCED;
	dry_arena_free(arena, run);
}

/* All of them, where there is no other room. false: there were none. */
static bool let_go_all(struct dry_arena *arena)
{
	bool any = false;

	for (uint32_t i = 0; i < KEPT; i++) {
		struct dry_page *run = atomic_exchange_explicit(&kept[i], NULL, memory_order_acq_rel);

		if (run != NULL)
			let_go(arena, run);
		any = any || run != NULL;
	}
	return any;
}

static struct dry_page *alloc(struct dry_arena *arena, unsigned order, unsigned node)
{
	uint32_t pages = UINT32_C(1) << order;
	bool fence = order < arena->max_order && wants_fence();
	struct dry_page *run = dry_arena_alloc(arena, pages + fence, pages, node);

	if (run == NULL && let_go_all(arena))
		run = dry_arena_alloc(arena, pages + fence, pages, node);
	/* Where it is refused the page is there, and not used. */
	if (run == NULL || !fence ||
	    dry_port_decommit((char *)dry_arena_start(arena, run) + bytes_of(arena, pages), bytes_of(arena, 1)) != 0)
		return run;
	blank(arena, 1);
	run->flags |= DRY_PAGE_FENCED;
	atomic_fetch_add_explicit(&fences, 1, memory_order_relaxed);
	return run;
}

/* The process's count has the pages of a run as the arena has them, but for what is taken away: while it is kept, all of it. */
static void free_pages(struct dry_arena *arena, struct dry_page *run)
{
	struct dry_page *oldest;
	uint32_t at;

	if (run->flags & DRY_PAGE_FENCED) {
		atomic_fetch_sub_explicit(&fences, 1, memory_order_relaxed);
		unblank(arena, 1);
	}
	run->flags &= (uint8_t)~DRY_PAGE_FENCED;
	dry_arena_keep(arena, run);
	if (dry_port_decommit(dry_arena_start(arena, run), bytes_of(arena, run->count)) == 0) {
		run->flags |= DRY_PAGE_FENCED;
		blank(arena, run->count);
	}
	/* acq_rel: who takes a run out sees it as who put it in left it */
	at = atomic_fetch_add_explicit(&kept_at, 1, memory_order_relaxed) % atomic_load_explicit(&places, memory_order_relaxed);
	oldest = atomic_exchange_explicit(&kept[at], run, memory_order_acq_rel);
	if (oldest != NULL)
		let_go(arena, oldest);
}

const struct dry_slab_pages dry_fences = { alloc, free_pages };
