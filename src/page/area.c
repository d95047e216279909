/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Metadata that grows in place: the areas of slots (docs/design/address-space.md).
 *
 *   window:  | area ->    | area ->    | ...        each begins at a place of its own, and is mapped as far as it is used
 *
 * What follows an area nobody maps, so a touch behind it faults, as beside other metadata.
 */
#include "base/error.h"
#include "page/internal.h"
#include "page/meta.h"

#define APART    ((size_t)64 << 10) /* at least so much of nothing behind an area */
#define TOGETHER 16                 /* places in a window */
#define TRIES    (2 * TOGETHER)     /* places to look at for one where nothing is */

static bool grows(const struct dry_meta *meta, size_t most)
{
	return meta->users->window && most > DRY_META_AREA;
}

/* ---- the lock is held ------------------------------------------------------- */

static char *next_place(struct dry_meta *meta, size_t most)
{
	size_t step = dry_round_up(most, APART) + APART, size = dry_round_up(step * TOGETHER, DRY_CHUNK_SIZE);
	char *at;

	if (meta->places < step) {
		meta->place = dry_port_window(size, DRY_CHUNK_SIZE);
		meta->places = meta->place != NULL ? size : 0;
	}
	at = meta->place;
	if (at == NULL)
		return NULL;
	meta->place += step;
	meta->places -= step;
	return at;
}

static void uncount(struct dry_meta *meta, size_t bytes)
{
	size_t pages = bytes >> meta->users->page_shift;

	meta->pages -= pages;
	meta->big -= pages;
	meta->bytes -= bytes;
	dry_budget_give(bytes);
	dry_arena_charge(meta->users, -(ptrdiff_t)pages);
}

static bool count(struct dry_meta *meta, size_t bytes)
{
	size_t pages = bytes >> meta->users->page_shift;

	if (!dry_arena_charge(meta->users, (ptrdiff_t)pages))
		return false;
	if (!dry_budget_take(bytes)) {
		dry_arena_charge(meta->users, -(ptrdiff_t)pages);
		return false;
	}
	meta->pages += pages;
	meta->big += pages;
	meta->bytes += bytes;
	return true;
}

static void *map_anywhere(struct dry_meta *meta, size_t bytes, size_t most)
{
	for (unsigned i = 0; i < TRIES; i++) {
		char *at = next_place(meta, most);
		int rc = at != NULL ? dry_port_reserve_at(at, bytes, DRY_ACCESS_WRITE) : -DRY_ENOMEM;

		if (rc != -DRY_EBUSY) /* else others have mapped something there */
			return rc == 0 ? at : NULL;
	}
	return NULL;
}

/* ---- interface ---------------------------------------------------------------- */

static void *area_alloc(struct dry_meta *meta, size_t bytes, size_t most)
{
	void *at = NULL;

	dry_lock_acquire(&meta->lock);
	if (count(meta, bytes)) {
		at = map_anywhere(meta, bytes, most);
		if (at == NULL)
			uncount(meta, bytes);
	}
	dry_lock_release(&meta->lock);
	return at;
}

void *dry_meta_area_alloc(struct dry_meta *meta, size_t bytes, size_t most)
{
	void *at;

	if (!grows(meta, most))
		return dry_meta_alloc(meta, most);
	at = area_alloc(meta, bytes, most);
	/* as in dry_meta_alloc() */
	if (DRY_UNLIKELY(at == NULL) && dry_arena_purge_all(meta->users) != 0)
		at = area_alloc(meta, bytes, most);
	return at;
}

bool dry_meta_area_extend(struct dry_meta *meta, void *area, size_t from, size_t to, size_t most)
{
	bool done;

	if (!grows(meta, most))
		return true;
	dry_lock_acquire(&meta->lock);
	done = count(meta, to - from);
	if (done && dry_port_reserve_at((char *)area + from, to - from, DRY_ACCESS_WRITE) != 0) {
		uncount(meta, to - from);
		done = false;
	}
	dry_lock_release(&meta->lock);
	return done;
}

void dry_meta_area_free(struct dry_meta *meta, void *area, size_t from, size_t to, size_t most)
{
	if (!grows(meta, most)) {
		if (from == 0)
			dry_meta_free(meta, area, most);
		return;
	}
	dry_lock_acquire(&meta->lock);
	dry_port_release((char *)area + from, to - from);
	uncount(meta, to - from);
	dry_lock_release(&meta->lock);
}
