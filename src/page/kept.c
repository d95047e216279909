/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "page/kept.h"

#include "base/annotate.h"

#define LONGEST ((size_t)128 << 10) /* bytes; longer ones are few */

/* Of each node there would have to be one; under limits pages are to be had at once. */
static bool keeps(const struct dry_arena *arena)
{
	return arena->nodes == 1 && arena->owns_memory && arena->limit_pages == SIZE_MAX && dry_annotate == NULL &&
	       !dry_port_is_tight();
}

/* Lengths that are like each other, or twice each other, 10 and 12 or 16 and 32 pages say, have not the same place. */
static struct dry_page *_Atomic *place_of(struct dry_kept *kept, uint32_t length, uint32_t cpu)
{
	return &kept->run[cpu % DRY_KEPT_GROUPS][(length ^ length >> 2 ^ length >> 4) % DRY_KEPT];
}

/* Acquire and release: the descriptor goes from thread to thread. */
static struct dry_page *exchange(struct dry_page *_Atomic *place, struct dry_page *run)
{
	return atomic_exchange_explicit(place, run, memory_order_acq_rel);
}

struct dry_page *dry_kept_take(struct dry_kept *kept, struct dry_arena *arena, uint32_t length, uint32_t cpu)
{
	struct dry_page *_Atomic *place = place_of(kept, length, cpu);
	/* acquire: another thread may have it in the next moment, and its length change, which then is seen below */
	struct dry_page *run = atomic_load_explicit(place, memory_order_acquire);

	if (run == NULL || dry_page_count(run) != length)
		return NULL;
	run = exchange(place, NULL);
	if (run == NULL)
		return NULL;
	if (run->count == length) {
		dry_page_set_kind(run, DRY_PAGE_RUN);
		return run;
	}
	dry_arena_free(arena, run);
	return NULL;
}

void dry_kept_put(struct dry_kept *kept, struct dry_arena *arena, struct dry_page *run, uint32_t cpu)
{
	if ((size_t)run->count << arena->page_shift <= LONGEST && keeps(arena)) {
		run->flags |= DRY_PAGE_DIRTY;
		run = exchange(place_of(kept, run->count, cpu), run);
	}
	if (run != NULL)
		dry_arena_free(arena, run);
}

uint32_t dry_kept_pages(const struct dry_kept *kept)
{
	uint32_t pages = 0;

	for (uint32_t i = 0; i < DRY_KEPT_GROUPS * DRY_KEPT; i++) {
		const struct dry_page *run = atomic_load_explicit(&kept->run[i / DRY_KEPT][i % DRY_KEPT], memory_order_acquire);
		pages += run != NULL ? dry_page_count(run) : 0;
	}
	return pages;
}

void dry_kept_release(struct dry_kept *kept, struct dry_arena *arena)
{
	for (uint32_t i = 0; i < DRY_KEPT_GROUPS * DRY_KEPT; i++) {
		struct dry_page *_Atomic *place = &kept->run[i / DRY_KEPT][i % DRY_KEPT];
		/* relaxed: what comes in the next moment may stay */
		struct dry_page *run = atomic_load_explicit(place, memory_order_relaxed) != NULL ? exchange(place, NULL) : NULL;

		if (run != NULL)
			dry_arena_free(arena, run);
	}
}
