/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the files of the page layer share among themselves. */
#ifndef DRY_PAGE_INTERNAL_H
#define DRY_PAGE_INTERNAL_H

#include "base/annotate.h"
#include "base/bits.h"
#include "page/budget.h"
#include "page/page.h"

static inline uint32_t dry_chunk_pages(const struct dry_arena *arena)
{
	return UINT32_C(1) << arena->max_order;
}

/* Address space between two pages that are never committed. */
static inline void *dry_reserve_apart(size_t size, bool readable)
{
	size_t guard = dry_port_page_size();
	char *start = dry_port_reserve(size + 2 * guard, guard, readable);

	return start != NULL ? start + guard : NULL;
}
static inline void dry_release_apart(void *start, size_t size)
{
	size_t guard = dry_port_page_size();

	dry_port_release((char *)start - guard, size + 2 * guard);
}
static inline void *dry_map_apart(size_t size)
{
	void *start = dry_reserve_apart(size, false);

	if (start != NULL && dry_port_commit(start, size) != 0) {
		dry_release_apart(start, size);
		start = NULL;
	}
	return start;
}

/* Pages that the limit still allows. The lock is held. */
static inline size_t dry_arena_room_locked(const struct dry_arena *arena)
{
	return arena->limit_pages - arena->used - arena->charged;
}

/* Committed pages, for holders of the lock. relaxed: the lock orders it. */
static inline uint32_t dry_arena_committed_locked(const struct dry_arena *arena)
{
	return atomic_load_explicit(&arena->committed, memory_order_relaxed);
}

/* Its pages count for the process's limit. */
static inline bool dry_arena_is_counted(const struct dry_arena *arena)
{
	return arena->owns_memory && arena->source.reserve == NULL;
}

/* Bytes of descriptors and map beside `size` bytes of pages; the array of chunks has one for each. */
static inline size_t dry_arena_desc_bytes(const struct dry_arena *arena, size_t size)
{
	return (size >> arena->page_shift) * sizeof(struct dry_page);
}
static inline size_t dry_arena_map_bytes(size_t size)
{
	return (size >> DRY_GRANULE_SHIFT) * sizeof(uint16_t);
}

/* Bytes of the array that was asked for later, beside `pages` pages: they count for the process's limit, but for the retired. */
static inline size_t dry_arena_side_bytes(const struct dry_arena *arena, size_t pages)
{
	return (pages << arena->page_shift) / 16 * arena->side;
}

/* Free pages without memory behind them, about. The lock is held. */
static inline size_t dry_arena_absent_locked(const struct dry_arena *arena)
{
	return arena->free_clean + arena->dirty_clean;
}

/* Pages in limbo come back in a moment. false: there are none. Drops the lock. */
static inline bool dry_arena_settles_locked(struct dry_arena *arena)
{
	if (arena->limbo_count == 0)
		return false;
	dry_lock_release(&arena->lock);
	dry_port_yield();
	dry_lock_acquire(&arena->lock);
	return true;
}

/* Let the process's count follow what the arena has. The lock is held. */
static inline void dry_arena_recount_locked(struct dry_arena *arena)
{
	size_t now = dry_arena_committed_locked(arena) - arena->lost - dry_arena_absent_locked(arena);

	if (!dry_arena_is_counted(arena) || now == arena->counted)
		return;
	if (now > arena->counted)
		dry_budget_count((now - arena->counted) << arena->page_shift);
	else
		dry_budget_give((arena->counted - now) << arena->page_shift);
	arena->counted = now;
}

/* ---- pages of blocks, from a user's source or (reserve NULL) from the port ---- */

static inline size_t dry_source_unit(const struct dry_page_source *source)
{
	return source->unit != 0 ? source->unit : dry_port_page_size();
}
static inline void *dry_source_reserve(const struct dry_page_source *source, size_t size, size_t align)
{
	return source->reserve != NULL ? source->reserve(source->arg, size, align) : dry_port_reserve(size, align, false);
}
/* A source may write to free memory, of which a checker has been told that nobody does. */
static inline void dry_source_may_write(void *addr, size_t size, bool may)
{
	if (DRY_UNLIKELY(dry_annotate != NULL))
		(may ? dry_annotate->opened : dry_annotate->closed)(addr, size);
}
static inline bool dry_source_commit_own(const struct dry_page_source *source, void *addr, size_t size, unsigned node, bool again)
{
	if (again)
		dry_source_may_write(addr, size, true);
	int rc = source->commit(source->arg, addr, size, node);
	if (again)
		dry_source_may_write(addr, size, false);
	return rc == 0;
}
/* placed: on a node; else where it is touched first. again: it was purged, and may be another node's. */
static inline bool dry_source_commit(const struct dry_page_source *source, void *addr, size_t size, unsigned node, bool placed,
				     bool again)
{
	if (source->reserve != NULL)
		return dry_source_commit_own(source, addr, size, node, again);
	if (!again && dry_port_commit(addr, size) != 0)
		return false;
	if (placed)
		dry_port_place(addr, size, node);
	return true;
}
/* Of a range that begins at `start`, a part that was committed. In so little no huge page of more than a chunk fits. */
#define DRY_PIECEMEAL_FROM ((size_t)16 << 20)
static inline void dry_commit_piecemeal(uintptr_t start, void *addr, size_t size)
{
	if ((uintptr_t)addr + size - start > DRY_PIECEMEAL_FROM)
		dry_port_piecemeal(addr, size, DRY_CHUNK_SIZE);
}
static inline void dry_source_purge(const struct dry_page_source *source, void *addr, size_t size)
{
	if (source->reserve == NULL) {
		dry_port_purge(addr, size);
		return;
	}
	dry_source_may_write(addr, size, true);
	source->purge(source->arg, addr, size);
	dry_source_may_write(addr, size, false);
}
static inline void dry_source_release(const struct dry_page_source *source, void *addr, size_t size)
{
	if (source->reserve != NULL)
		source->release(source->arg, addr, size);
	else
		dry_port_release(addr, size);
}

/*
 * A byte per chunk, the first one's at the end, of an arena that owns its memory: its node, whether it is retired, short, what
 * huge.c knows of it; or: lost.
 */
#define DRY_CHUNK_NODE    0x07u
#define DRY_CHUNK_SHORT   0x08u /* its first pages are lost: `count` of the first one's descriptor */
#define DRY_CHUNK_LOST    0x10u
#define DRY_CHUNK_GONE    (DRY_CHUNK_LOST | DRY_CHUNK_SHORT) /* lost, for we gave it up: it may be had again */
#define DRY_CHUNK_HUGE    0x20u /* has got huge pages since it was last seen with a free page in it */
#define DRY_CHUNK_FULL    0x40u /* had no free page when last looked at */
#define DRY_CHUNK_RETIRED 0x80u

static inline uint8_t *dry_chunk(const struct dry_arena *arena, uint32_t chunk)
{
	return arena->chunk_end - 1 - chunk;
}
static inline bool dry_chunk_is_retired(const struct dry_arena *arena, uint32_t chunk)
{
	return (*dry_chunk(arena, chunk) & DRY_CHUNK_RETIRED) != 0;
}
static inline bool dry_chunk_is_lost(const struct dry_arena *arena, uint32_t chunk)
{
	return (*dry_chunk(arena, chunk) & DRY_CHUNK_LOST) != 0;
}
static inline bool dry_chunk_is_gone(const struct dry_arena *arena, uint32_t chunk)
{
	return *dry_chunk(arena, chunk) == DRY_CHUNK_GONE;
}
static inline bool dry_chunk_is_short(const struct dry_arena *arena, uint32_t chunk)
{
	return (*dry_chunk(arena, chunk) & (DRY_CHUNK_LOST | DRY_CHUNK_SHORT)) == DRY_CHUNK_SHORT;
}
/* Nothing in it is others'. */
static inline bool dry_chunk_is_whole(const struct dry_arena *arena, uint32_t chunk)
{
	return (*dry_chunk(arena, chunk) & (DRY_CHUNK_LOST | DRY_CHUNK_SHORT)) == 0;
}
/* The node of a page in a chunk that is not retired. */
static inline uint8_t dry_node_of(const struct dry_arena *arena, uint32_t index)
{
	return arena->owns_memory ? *dry_chunk(arena, index >> arena->max_order) & DRY_CHUNK_NODE : 0;
}

static inline struct dry_arena_lists *dry_lists(struct dry_arena *arena, unsigned node)
{
	return node == 0 ? &arena->lists : &arena->more[node - 1];
}

/* buddy.c; the lock is held */

/* Put pages that belong to nobody on the free lists, merging them with free buddies. */
void dry_buddy_put_locked(struct dry_arena *arena, uint32_t index, uint32_t count, bool dirty);
/* The same where it is known that nothing can be merged; of each `total` pages about `clean` are clean. */
void dry_buddy_put_apart_locked(struct dry_arena *arena, uint32_t index, uint32_t count, uint32_t clean, uint32_t total);
/* Take a free block off its list; its kind becomes NONE. */
void dry_buddy_unlink_locked(struct dry_arena *arena, uint32_t index);

/* Of `count` pages in free blocks from `index` on: how many have no memory behind them, about. */
uint32_t dry_buddy_absent_locked(const struct dry_arena *arena, uint32_t index, uint32_t count);
/* Whether the process's limit has room for `count` pages of free blocks from `index` on; then they are counted, and to be taken. */
bool dry_buddy_afford_locked(struct dry_arena *arena, uint32_t index, uint32_t count);
/* Take them; what is left of the last one goes back. Counts them as used. */
void dry_buddy_take_locked(struct dry_arena *arena, uint32_t index, uint32_t count);

/* purge.c; purge all that is dirty; the lock is held, and dropped meanwhile. Pages purged. */
size_t dry_arena_purge_all_locked(struct dry_arena *arena);

/* wide.c; the lock is held */

/* Free blocks side by side, from the start of a chunk (or of a block for as many), that hold `count` pages: the first, or NIL. */
uint32_t dry_wide_find_locked(struct dry_arena *arena, uint32_t count, uint32_t align_pages, unsigned node);

/* reserve.c */

/* For an arena of `want` bytes, else less; in a window the first `first` of them. false: there is no room. */
bool dry_reserve_begin(struct dry_arena *arena, size_t want, size_t first);
/*
 * In a window, with the lock held; from and end count bytes from the base. The arrays for all up to the end; only then the
 * pages. 0, -EBUSY: others have memory there, -EAGAIN: so much may not be locked, -ENOMEM. Two calls, because malloc's
 * deepest go through them (docs/design/stack.md).
 */
bool dry_reserve_arrays_locked(struct dry_arena *arena, size_t end);
int dry_reserve_pages_locked(struct dry_arena *arena, size_t from, size_t end);
/* Commit the first `bytes` of an array. What is committed stays so if a later step fails. */
bool dry_array_extend(struct dry_arena_array *array, size_t bytes);
/* Takes back all from page `from` on; there were `before`. */
void dry_reserve_undo_locked(struct dry_arena *arena, uint32_t before, uint32_t from);
/* All of it, but for a user's memory. */
void dry_reserve_end(struct dry_arena *arena);

/* grow.c; the lock is held */

/*
 * Make a chunk of a node free: a retired one, else the next one of the reservation, which is short where a limit leaves no
 * room for a whole one: 2^order pages at least.
 */
bool dry_arena_grow_locked(struct dry_arena *arena, unsigned order, unsigned node);
/* Where that cannot be: pages of another node, in front of a short chunk of it. */
bool dry_arena_grow_other_locked(struct dry_arena *arena, unsigned order, unsigned node);
/* The next chunk of the reservation only. */
bool dry_arena_extend_locked(struct dry_arena *arena, unsigned order, unsigned node);
/* Make a retired chunk free. */
void dry_chunk_revive_locked(struct dry_arena *arena, uint32_t chunk);
/* And one that was given up. 0; -EBUSY: others have mapped memory there, so it is lost for good; -EAGAIN, -ENOMEM: as it was. */
int dry_chunk_regain_locked(struct dry_arena *arena, uint32_t chunk, unsigned node);
/* Take a chunk that is one free block out of use, and its metadata with it. It is clean, or about to be unmapped. */
void dry_chunk_retire_locked(struct dry_arena *arena, uint32_t chunk);

/* give_up.c; the lock is held */

/* Where a limit counts them: wholly free chunks beyond half of what is in use, and two. */
void dry_arena_give_excess_locked(struct dry_arena *arena);
/* Unmap a retired chunk of an arena in a window. */
void dry_chunk_give_up_locked(struct dry_arena *arena, uint32_t chunk);

#endif
