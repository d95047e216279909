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
#define SPARED ((size_t)1 << 20) /* bytes of data that are left to be committed, or nothing is that need not be */
#define SHARE  ((size_t)64 << 10) /* bytes of the process's memory for each fence: the kernel's own for it are some 500 */

static _Atomic uint32_t fences, slabs, kept_at; /* counts; relaxed: one more or less does not matter */
static struct dry_page *_Atomic kept[KEPT], *_Atomic stored[ORDERS][STORED];
static _Atomic uint32_t most = MOST, places = KEPT; /* relaxed as well */
/*
 * Runs whose turn came while their memory was refused (a limit below what there is): index of the first, linked by `next`; there is
 * one arena with fences. Put in by one exchange, taken out all at once. acq_rel, as the places.
 */
static _Atomic uint32_t refused = DRY_PAGE_NIL;

void dry_fences_fit(size_t memory)
{
	uint32_t count = memory / SHARE < MOST ? (uint32_t)(memory / SHARE) : MOST;

	atomic_store_explicit(&most, count, memory_order_relaxed);
	atomic_store_explicit(&places, count / 16 < KEPT ? count / 16 + 1 : KEPT, memory_order_relaxed);
}

static bool wants_fence(void)
{
	uint32_t now = atomic_load_explicit(&fences, memory_order_relaxed);

	return !dry_port_is_scarce() &&
	       (now < atomic_load_explicit(&most, memory_order_relaxed) || !dry_port_fences_are_mappings()) &&
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

/* How many pages of a run the arena's figures have as blank. */
static uint32_t blank_pages(const struct dry_page *run)
{
	return run->flags & DRY_PAGE_GONE ? run->count : has_fence(run);
}

static void drop_fence(struct dry_arena *arena, struct dry_page *run)
{
	if (has_fence(run))
		atomic_fetch_sub_explicit(&fences, 1, memory_order_relaxed);
	unblank(arena, blank_pages(run));
	run->flags &= (uint8_t)~(DRY_PAGE_FENCED | DRY_PAGE_GONE);
}

/* To the arena. false: the system refuses the memory. */
static bool give_up(struct dry_arena *arena, struct dry_page *run)
{
	if (dry_port_unfence(dry_arena_start(arena, run), bytes_of(arena, run->count)) != 0)
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

/* A run and those that are linked behind it, before those that are refused already. */
static void refuse(struct dry_arena *arena, struct dry_page *run)
{
	struct dry_page *last = run;

	while (last->next != DRY_PAGE_NIL)
		last = &arena->desc[last->next];
	last->next = atomic_load_explicit(&refused, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&refused, &last->next, dry_arena_index_of(arena, run), memory_order_acq_rel,
						      memory_order_relaxed))
		;
}

static void refuse_one(struct dry_arena *arena, struct dry_page *run)
{
	run->next = DRY_PAGE_NIL;
	refuse(arena, run);
}

/* Into a place, whose run has its turn. */
static void keep(struct dry_arena *arena, struct dry_page *run, uint32_t at)
{
	struct dry_page *oldest = atomic_exchange_explicit(&kept[at], run, memory_order_acq_rel);

	if (oldest != NULL && !let_go(arena, oldest))
		refuse_one(arena, oldest);
}

/* Where a run may wait: kept ones, then those that are stored. */
#define PLACES (KEPT + ORDERS * STORED)

static struct dry_page *_Atomic *place_at(uint32_t i)
{
	return i < KEPT ? &kept[i] : &stored[(i - KEPT) / STORED][(i - KEPT) % STORED];
}

static uint32_t chunk_of(const struct dry_arena *arena, const struct dry_page *run)
{
	return dry_arena_index_of(arena, run) >> arena->max_order;
}

/* Runs of a chunk that are taken out of where they wait; linked. */
struct taken {
	uint32_t chunk, first;
	uint32_t pages, fences; /* of the arena's blank ones; of them */
};

static void take(struct taken *taken, struct dry_arena *arena, struct dry_page *run)
{
	taken->pages += blank_pages(run);
	taken->fences += has_fence(run);
	run->next = taken->first;
	taken->first = dry_arena_index_of(arena, run);
}

static void take_from_place(struct taken *taken, struct dry_arena *arena, struct dry_page *_Atomic *place)
{
	struct dry_page *run = atomic_load_explicit(place, memory_order_acquire);

	if (run != NULL && chunk_of(arena, run) == taken->chunk &&
	    atomic_compare_exchange_strong_explicit(place, &run, NULL, memory_order_acq_rel, memory_order_relaxed))
		take(taken, arena, run);
}

static void take_refused(struct taken *taken, struct dry_arena *arena)
{
	uint32_t at = atomic_exchange_explicit(&refused, DRY_PAGE_NIL, memory_order_acq_rel), others = DRY_PAGE_NIL;
	struct dry_page *run;

	while (at != DRY_PAGE_NIL) {
		run = &arena->desc[at];
		at = run->next;
		if (chunk_of(arena, run) == taken->chunk) {
			take(taken, arena, run);
			continue;
		}
		run->next = others;
		others = dry_arena_index_of(arena, run);
	}
	if (others != DRY_PAGE_NIL)
		refuse(arena, &arena->desc[others]);
}

/*
 * Their memory is refused, but a chunk in which nothing else lies needs none to be unmapped; what is free in it beside them counts
 * for the limit. false: it is as it was.
 */
static bool give_up_chunk(struct dry_arena *arena, uint32_t chunk)
{
	struct taken taken = { .chunk = chunk, .first = DRY_PAGE_NIL };

	if (!dry_arena_holds_kept_only(arena, chunk))
		return false;
	for (uint32_t i = 0; i < PLACES; i++)
		take_from_place(&taken, arena, place_at(i));
	take_refused(&taken, arena);
	unblank(arena, taken.pages);
	if (dry_arena_give_up_kept(arena, chunk, taken.first)) {
		atomic_fetch_sub_explicit(&fences, taken.fences, memory_order_relaxed);
		return true;
	}
	blank(arena, taken.pages);
	if (taken.first != DRY_PAGE_NIL)
		refuse(arena, &arena->desc[taken.first]);
	return false;
}

/* As far as room goes, which becomes less: others, as new threads, which do not ask us, need some. false: it is as it was. */
static bool give_up_within(struct dry_arena *arena, struct dry_page *run, size_t *room)
{
	size_t bytes = bytes_of(arena, run->count);

	if (bytes > *room || !give_up(arena, run))
		return false;
	*room -= *room != SIZE_MAX ? bytes : 0;
	return true;
}

/* One by one, until the memory of one is refused: then it has not any, and waits with the refused ones. */
static bool give_up_some(struct dry_arena *arena, bool *any)
{
	uint32_t at = atomic_exchange_explicit(&refused, DRY_PAGE_NIL, memory_order_acq_rel);
	size_t room = dry_port_is_scarce() ? dry_port_data_room() : SIZE_MAX;
	struct dry_page *run;

	for (; at != DRY_PAGE_NIL; *any = true) {
		run = &arena->desc[at];
		at = run->next;
		if (give_up_within(arena, run, &room))
			continue;
		refuse(arena, run); /* and those behind it */
		return false;
	}
	for (uint32_t i = 0; i < PLACES; i++) {
		run = atomic_exchange_explicit(place_at(i), NULL, memory_order_acq_rel);
		if (run != NULL && !give_up_within(arena, run, &room)) {
			refuse_one(arena, run);
			return false;
		}
		*any = *any || run != NULL;
	}
	return true;
}

/* All of them, where there is no other room. false: there were none. */
static bool give_up_all(struct dry_arena *arena)
{
	bool any = false, all = give_up_some(arena, &any);
	uint32_t chunks = atomic_load_explicit(&arena->committed, memory_order_acquire) >> arena->max_order;

	for (uint32_t chunk = 0; !all && chunk < chunks; chunk++)
		any = give_up_chunk(arena, chunk) || any;
	return any;
}

/* A slab out of one that is stored. NULL: there is none, or no memory. */
static struct dry_page *reuse(struct dry_arena *arena, unsigned order)
{
	struct dry_page *run = order < ORDERS && arena->nodes == 1 && !dry_port_is_scarce() ? take_stored(order) : NULL;

	if (run == NULL)
		return NULL;
	if (dry_port_unfence(dry_arena_start(arena, run), bytes_of(arena, pages_of(order))) != 0) {
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
	    dry_port_fence((char *)dry_arena_start(arena, run) + bytes_of(arena, pages_of(order)), bytes_of(arena, 1)) != 0)
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

	/* The fence and the oldest are committed: others shall have what they need all the same. */
	if (!dry_port_is_scarce() || dry_port_data_room() < SPARED ||
	    (has_fence(run) && dry_port_unfence(fence, bytes_of(arena, 1)) != 0))
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
	if (dry_port_fence(dry_arena_start(arena, run), bytes_of(arena, run->count)) == 0) {
		blank(arena, run->count - has_fence(run));
		run->flags |= DRY_PAGE_GONE;
	}
	keep(arena, run, at);
}

const struct dry_slab_pages dry_fences = { alloc, free_pages, give_up_all };
