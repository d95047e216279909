/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "page/huge.h"

#include "page/internal.h"

#define LOOKS     64 /* chunks looked at in a step */
#define COLLAPSES 4  /* chunks given huge pages */

#define GROUP      ((size_t)256 << 20) /* bytes that the process may have */
#define LOOK_AGAIN 100                 /* ms, at that: groups are files, not to be read for each huge page */

/* No page of the chunk is free. */
static bool is_full(const struct dry_arena *arena, uint32_t chunk)
{
	uint32_t index = chunk << arena->max_order, end = index + dry_chunk_pages(arena);

	while (index < end) {
		const struct dry_page *page = &arena->desc[index];
		unsigned kind = dry_page_kind(page);

		if (kind == DRY_PAGE_FREE || kind == DRY_PAGE_NONE)
			return false;
		index += dry_page_count(page);
	}
	return true;
}

/* Whether the chunk's turn has come. */
static bool look_at(const struct dry_arena *arena, uint32_t chunk)
{
	uint8_t *state = dry_chunk(arena, chunk);

	if (dry_chunk_is_retired(arena, chunk) || !dry_chunk_is_whole(arena, chunk))
		return false;
	if (!is_full(arena, chunk)) {
		*state &= DRY_CHUNK_NODE;
		return false;
	}
	bool due = (*state & (DRY_CHUNK_FULL | DRY_CHUNK_HUGE)) == DRY_CHUNK_FULL;
	*state |= DRY_CHUNK_FULL;
	return due;
}

size_t dry_arena_collapse(struct dry_arena *arena, size_t most)
{
	uint32_t due[COLLAPSES], count = 0, done = 0;
	bool good[COLLAPSES];
	size_t bytes = 0;

	if (!dry_arena_is_counted(arena))
		return 0;
	dry_lock_acquire(&arena->lock);
	uint32_t chunks = dry_arena_committed_locked(arena) >> arena->max_order;
	for (; done < LOOKS && done < chunks && count < COLLAPSES && (count + 1) * DRY_CHUNK_SIZE <= most; done++) {
		uint32_t chunk = arena->collapse_next < chunks ? arena->collapse_next : 0;

		arena->collapse_next = chunk + 1;
		if (look_at(arena, chunk))
			due[count++] = chunk;
	}
	dry_lock_release(&arena->lock);
	for (uint32_t i = 0; i < count; i++)
		good[i] = dry_port_collapse(dry_arena_address(arena, due[i] << arena->max_order), DRY_CHUNK_SIZE);
	dry_lock_acquire(&arena->lock);
	for (uint32_t i = 0; i < count; i++) {
		bytes += good[i] ? DRY_CHUNK_SIZE : 0;
		if (good[i] && (*dry_chunk(arena, due[i]) & DRY_CHUNK_FULL) != 0)
			*dry_chunk(arena, due[i]) |= DRY_CHUNK_HUGE;
	}
	dry_lock_release(&arena->lock);
	return bytes;
}

void dry_arena_forgo_huge(struct dry_arena *arena)
{
	dry_lock_acquire(&arena->lock);
	arena->huge = 0;
	dry_lock_release(&arena->lock);
}

void dry_arena_advise_huge(struct dry_arena *arena, enum dry_huge huge)
{
	uint32_t chunks, from, to;

	if (!dry_arena_is_counted(arena))
		return;
	dry_lock_acquire(&arena->lock);
	chunks = dry_arena_committed_locked(arena) >> arena->max_order;
	for (from = 0; from < chunks; from = to + 1) {
		/* what lies in lost ones is others' */
		for (to = from; to < chunks && dry_chunk_is_whole(arena, to);)
			to++;
		if (to != from)
			dry_port_advise_huge(dry_arena_address(arena, from << arena->max_order),
					     (size_t)(to - from) * DRY_CHUNK_SIZE, huge);
	}
	dry_lock_release(&arena->lock);
}

bool dry_huge_is_affordable(void)
{
	static _Atomic uint64_t seen; /* relaxed: until when, in ms, and what, in bit 0; who sees an old one looks once more */
	uint64_t now = dry_port_clock_ms(), last = atomic_load_explicit(&seen, memory_order_relaxed);

	if (now < last >> 1)
		return last & 1;
	size_t limit = dry_port_memory_limit_again();
	bool affordable = limit == 0 || limit >= GROUP;
	atomic_store_explicit(&seen, (now + LOOK_AGAIN) << 1 | affordable, memory_order_relaxed);
	return affordable;
}
