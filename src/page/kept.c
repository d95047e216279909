/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "page/kept.h"

#include "base/annotate.h"

#define LONGEST ((size_t)128 << 10) /* bytes; longer ones are few */

/* Of each node there would have to be one; under limits pages are to be had at once. */
static bool keeps(const struct dry_arena *arena)
{
	return arena->nodes == 1 && arena->owns_memory && arena->limit_pages == SIZE_MAX && dry_annotate == NULL &&
	       !dry_port_is_scarce();
}

/* Acquire and release: the descriptor goes from thread to thread. */
static struct dry_page *exchange(struct dry_kept *kept, uint32_t place, struct dry_page *run)
{
	return atomic_exchange_explicit(&kept->run[place], run, memory_order_acq_rel);
}

struct dry_page *dry_kept_take(struct dry_kept *kept, struct dry_arena *arena, uint32_t length)
{
	uint32_t place = length % DRY_KEPT;
	/* acquire: another thread may have it in the next moment, and its length change, which then is seen below */
	struct dry_page *run = atomic_load_explicit(&kept->run[place], memory_order_acquire);

	if (run == NULL || dry_page_count(run) != length)
		return NULL;
	run = exchange(kept, place, NULL);
	if (run == NULL)
		return NULL;
	if (run->count == length) {
		dry_page_set_kind(run, DRY_PAGE_RUN);
		return run;
	}
	dry_arena_free(arena, run);
	return NULL;
}

void dry_kept_put(struct dry_kept *kept, struct dry_arena *arena, struct dry_page *run)
{
	if ((size_t)run->count << arena->page_shift <= LONGEST && keeps(arena)) {
		run->flags |= DRY_PAGE_DIRTY;
		run = exchange(kept, run->count % DRY_KEPT, run);
	}
	if (run != NULL)
		dry_arena_free(arena, run);
}

uint32_t dry_kept_pages(const struct dry_kept *kept)
{
	uint32_t pages = 0;

	for (uint32_t place = 0; place < DRY_KEPT; place++) {
		const struct dry_page *run = atomic_load_explicit(&kept->run[place], memory_order_acquire);
		pages += run != NULL ? dry_page_count(run) : 0;
	}
	return pages;
}

void dry_kept_release(struct dry_kept *kept, struct dry_arena *arena)
{
	for (uint32_t place = 0; place < DRY_KEPT; place++) {
		struct dry_page *run = exchange(kept, place, NULL);
		if (run != NULL)
			dry_arena_free(arena, run);
	}
}
