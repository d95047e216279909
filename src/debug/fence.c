/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/fence.h"

#include <stdatomic.h>

#include "base/bits.h"
#include "core/debug_ops.h"
#include "page/budget.h"
#include "port/guard.h"

#define DENSE  4096u
#define MOST   10000u
#define SPARSE 8u
#define KEPT   1024u
#define STORED 32u /* of each order below ORDERS */
#define ORDERS 5u
#define SHARE  ((size_t)64 << 10) /* bytes of the process's memory for each fence: the kernel's own for it are some 500 */

static _Atomic uint32_t fences, slabs, kept_at; /* counts; relaxed: one more or less does not matter */
static struct dry_page *_Atomic kept[KEPT], *_Atomic stored[ORDERS][STORED];
static _Atomic uint32_t most = MOST, places = KEPT; /* relaxed as well */

void dry_fences_fit(size_t memory)
{
	uint32_t count = memory / SHARE < MOST ? (uint32_t)(memory / SHARE) : MOST;

	atomic_store_explicit(&most, count, memory_order_relaxed);
	atomic_store_explicit(&places, count / 16 < KEPT ? count / 16 + 1 : KEPT, memory_order_relaxed);
}

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

static bool has_fence(const struct dry_page *run)
{
	return run->flags & DRY_PAGE_FENCED;
}

/* Of the slab in a run with a fence. */
static unsigned order_of(const struct dry_page *run)
{
	unsigned order = dry_log2_ceil(run->count);

	return dry_has_fence_inside(order) && run->count == UINT32_C(1) << order ? order : order - 1;
}

/* Without the fence. */
static uint32_t pages_of(unsigned order)
{
	return (UINT32_C(1) << order) - dry_has_fence_inside(order);
}

static void drop_fence(struct dry_arena *arena, struct dry_page *run)
{
	if (has_fence(run))
		atomic_fetch_sub_explicit(&fences, 1, memory_order_relaxed);
	unblank(arena, run->flags & DRY_PAGE_GONE ? run->count : has_fence(run));
	run->flags &= (uint8_t)~(DRY_PAGE_FENCED | DRY_PAGE_GONE);
}

/* To the arena. false: the system refuses the memory. */
static bool give_up(struct dry_arena *arena, struct dry_page *run)
{
	if (dry_port_commit(dry_arena_start(arena, run), bytes_of(arena, run->count)) != 0)
		return false;
	drop_fence(arena, run);
	dry_arena_free(arena, run); /* dirty, for what lies beside it */
	return true;
}

/*
 * Those whose turn has come, each with its fence: to make a slab of one takes a system call less than to make the fence anew. In
 * and out by one exchange each.
 */
static bool store(struct dry_page *run)
{
	uint32_t room = atomic_load_explicit(&places, memory_order_relaxed) / (KEPT / STORED);
	struct dry_page *none;

	for (uint32_t i = 0; i < room; i++) {
		none = NULL;
		/* acq_rel, here and below: who takes a run out sees it as who put it in left it */
		if (atomic_compare_exchange_strong_explicit(&stored[order_of(run)][i], &none, run, memory_order_acq_rel,
							    memory_order_relaxed))
			return true;
	}
	return false;
}

static struct dry_page *take_stored(unsigned order)
{
	struct dry_page *run = NULL;

	for (uint32_t i = 0; i < STORED && run == NULL; i++)
		if (atomic_load_explicit(&stored[order][i], memory_order_relaxed) != NULL)
			run = atomic_exchange_explicit(&stored[order][i], NULL, memory_order_acq_rel);
	return run;
}

/* false: it is as it was. */
static bool let_go(struct dry_arena *arena, struct dry_page *run)
{
	bool suits = has_fence(run) && (run->flags & DRY_PAGE_GONE) && order_of(run) < ORDERS && !dry_port_is_scarce();

	return (suits && store(run)) || give_up(arena, run);
}

/* Into a place, whose run has its turn. One whose memory is refused takes another place, while any is free; else it is nobody's. */
static void keep(struct dry_arena *arena, struct dry_page *run, uint32_t at)
{
	struct dry_page *oldest = atomic_exchange_explicit(&kept[at], run, memory_order_acq_rel), *none = NULL;

	if (oldest == NULL || let_go(arena, oldest))
		return;
	for (at = 0; at < KEPT; at++, none = NULL)
		if (atomic_compare_exchange_strong_explicit(&kept[at], &none, oldest, memory_order_acq_rel, memory_order_relaxed))
			return;
}

/* All of them, where there is no other room. false: there were none. */
static bool give_up_all(struct dry_arena *arena)
{
	struct dry_page *run;
	bool any = false;

	for (uint32_t i = 0; i < KEPT; i++) {
		run = atomic_exchange_explicit(&kept[i], NULL, memory_order_acq_rel);
		bool done = run != NULL && give_up(arena, run);
		any = any || done;
		if (run != NULL && !done) /* nor would the others' be had */
			return keep(arena, run, i), any;
	}
	for (unsigned order = 0; order < ORDERS; order += run == NULL) {
		run = take_stored(order);
		bool done = run != NULL && give_up(arena, run);
		any = any || done;
		if (run != NULL && !done)
			return keep(arena, run, 0), any;
	}
	return any;
}

/* A slab out of one that is stored. NULL: there is none, or no memory. */
static struct dry_page *reuse(struct dry_arena *arena, unsigned order)
{
	struct dry_page *run = order < ORDERS && arena->nodes == 1 && !dry_port_is_scarce() ? take_stored(order) : NULL;

	if (run == NULL)
		return NULL;
	if (dry_port_commit(dry_arena_start(arena, run), bytes_of(arena, pages_of(order))) != 0) {
		if (!give_up(arena, run))
			keep(arena, run, 0);
		return NULL;
	}
	unblank(arena, pages_of(order));
	run->flags = DRY_PAGE_FENCED;
	dry_page_set_kind(run, DRY_PAGE_RUN);
	return run;
}

static struct dry_page *make(struct dry_arena *arena, unsigned order, unsigned node)
{
	uint32_t pages = UINT32_C(1) << order;
	bool fence = order < arena->max_order && wants_fence(), behind = fence && !dry_has_fence_inside(order);
	struct dry_page *run = dry_arena_alloc(arena, pages + behind, pages, node);

	if (run == NULL && give_up_all(arena))
		run = dry_arena_alloc(arena, pages + behind, pages, node);
	/* Where it is refused the page is there, and not used. */
	if (run == NULL || !fence ||
	    dry_port_decommit((char *)dry_arena_start(arena, run) + bytes_of(arena, pages_of(order)), bytes_of(arena, 1)) != 0)
		return run;
	blank(arena, 1);
	run->flags |= DRY_PAGE_FENCED;
	atomic_fetch_add_explicit(&fences, 1, memory_order_relaxed);
	return run;
}

static struct dry_page *alloc(struct dry_arena *arena, unsigned order, unsigned node)
{
	struct dry_page *run = reuse(arena, order);

	return run != NULL ? run : make(arena, order, node);
}

/* Where what is free is given up a kept run would hold its chunk, so there is one less with each slab. false: it is to be kept. */
static bool free_now(struct dry_arena *arena, struct dry_page *run, uint32_t at)
{
	char *fence = (char *)dry_arena_start(arena, run) + bytes_of(arena, run->count - 1);
	struct dry_page *oldest;

	if (!dry_port_is_scarce() || (has_fence(run) && dry_port_commit(fence, bytes_of(arena, 1)) != 0))
		return false;
	drop_fence(arena, run);
	dry_arena_free(arena, run);
	oldest = atomic_exchange_explicit(&kept[at], NULL, memory_order_acq_rel);
	if (oldest != NULL && !give_up(arena, oldest))
		keep(arena, oldest, at);
	return true;
}

/* The process's count has the pages of a run as the arena has them, but for what is taken away: while it is kept, all of it. */
static void free_pages(struct dry_arena *arena, struct dry_page *run)
{
	uint32_t at = atomic_fetch_add_explicit(&kept_at, 1, memory_order_relaxed);

	at %= atomic_load_explicit(&places, memory_order_relaxed);
	if (free_now(arena, run, at))
		return;
	dry_arena_keep(arena, run);
	if (dry_port_decommit(dry_arena_start(arena, run), bytes_of(arena, run->count)) == 0) {
		blank(arena, run->count - has_fence(run));
		run->flags |= DRY_PAGE_GONE;
	}
	keep(arena, run, at);
}

const struct dry_slab_pages dry_fences = { alloc, free_pages, give_up_all };
