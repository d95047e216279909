/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/side.h"

#include "base/bits.h"
#include "page/budget.h"
#include "port/contract.h"

#define STEP  ((size_t)16 << 20) /* bytes of the arena: entries for them are taken into use at once */
#define CLOSED ((size_t)1)
#define LEAST ((size_t)64 << 20)

bool dry_side_init(struct dry_side *side, const struct dry_arena *arena, size_t width)
{
	size_t page = dry_port_page_size(), reach = dry_round_up((size_t)arena->pages << arena->page_shift, STEP);
	size_t least = reach < LEAST ? reach : LEAST;
	char *table = NULL;

	for (; reach >= least; reach = dry_round_down(reach / 2, STEP)) {
		table = dry_port_reserve(reach / 16 * width + 2 * page, page, false);
		if (table != NULL)
			break;
	}
	if (table == NULL)
		return false;
	side->base = arena->base;
	side->reach = reach;
	side->width = width;
	side->at = table + page;
	return true;
}

void dry_side_fini(struct dry_side *side)
{
	size_t page = dry_port_page_size();

	dry_port_release(side->at - page, side->reach / 16 * side->width + 2 * page);
}

/* covered is at least as much. */
static void raise_to(struct dry_side *side, size_t bytes)
{
	size_t seen = dry_side_covered(side);

	while (seen < bytes && !atomic_compare_exchange_weak_explicit(&side->covered, &seen, bytes, memory_order_relaxed,
								      memory_order_relaxed))
		;
}

bool dry_side_extend(struct dry_side *side, size_t offset)
{
	size_t now = atomic_load_explicit(&side->grown, memory_order_relaxed), next = dry_round_down(offset, STEP) + STEP;

	while (offset >= now && (now & CLOSED) == 0) {
		size_t to = next;
		if (next > side->reach ||
		    dry_port_commit(side->at + now / 16 * side->width, (next - now) / 16 * side->width) != 0)
			to = now | CLOSED;
		/* Who loses looks again: the winner may have got what this one was refused. */
		if (atomic_compare_exchange_strong_explicit(&side->grown, &now, to, memory_order_relaxed, memory_order_relaxed)) {
			/* Counted, not asked for: without shadows objects would be plain for good. */
			dry_budget_count(((to & ~CLOSED) - (now & ~CLOSED)) / 16 * side->width);
			now = to;
		}
	}
	raise_to(side, now & ~CLOSED);
	return offset < (now & ~CLOSED);
}
