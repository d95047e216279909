/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "guard/guard.h"

#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/fatal.h"
#include "core/alloc.h"
#include "guard/internal.h"
#include "page/budget.h"
#include "debug/object.h"
#include "debug/canary.h"
#include "port/guard.h"

#define GAP    15   /* pages between two blocks, while there is room */
#define GROWTH 4    /* by more than a quarter of it a block moves */
#define FILL   0xab /* around the object, within its pages */
#define SPREAD ((size_t)2 << 30) /* the region grows so far before a place is used again */

void dry_guard_report_faults(void)
{
	static atomic_flag done = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set_explicit(&done, memory_order_relaxed))
		dry_port_on_fault(dry_guard_report_fault);
}

/* ---- places; the lock is held ------------------------------------------------- */

/*
 * `pages` pages in a row that are nobody's, searched for from the cursor on, once around; 0: none within so many blocks. Each room
 * is looked at from its end: who is met there is passed with all that lies before, and no page is looked at twice.
 */
static uint32_t find_room_locked(uint32_t pages, uint32_t most)
{
	struct dry_guard_region *g = &dry_guarded;
	uint32_t start = g->cursor, known = 0, ends = 0; /* known: pages from start on that are nobody's */
	bool grows = true; /* what the system refused once, it is not asked for again at each step */

	for (uint32_t skips = 0; skips < most;) {
		if (start + pages > dry_guard_pages() && grows && g->size < SPREAD) {
			grows = dry_guard_extend_locked(pages);
			continue;
		}
		if (1 + pages > dry_guard_pages())
			return 0;
		if (start + pages > dry_guard_pages()) {
			if (ends++ != 0)
				return 0;
			start = 1;
			known = 0;
			continue;
		}
		uint32_t left = pages;
		while (left > known && g->owner[start + left - 1] == 0)
			left--;
		if (left == known)
			return start;
		const struct dry_guard_block *block = &g->block[g->owner[start + left - 1]];
		uint32_t end = start + pages, next = block->page + block->pages + 1;
		start = next > start + left ? next : start + left; /* one that grows meanwhile may end further on */
		known = start < end ? end - start : 0;
		skips++;
	}
	return 0;
}

/* Its pages and the guard after them. */
static void own_locked(const struct dry_guard_block *block, uint32_t id)
{
	for (uint32_t i = 0; i <= block->pages; i++)
		dry_guarded.owner[block->page + i] = id;
}

/* The oldest held block gives up its place and its number. */
static uint32_t let_go_locked(void)
{
	struct dry_guard_region *g = &dry_guarded;
	uint32_t id = g->held[g->held_first % g->held_max];
	struct dry_guard_block *block = &g->block[id];

	g->held_first++;
	own_locked(block, 0);
	block->state = DRY_GUARD_UNUSED;
	return id;
}

/* relaxed: a hint */
static _Atomic uint32_t fitting = UINT32_MAX;

void dry_guard_fit(uint32_t live)
{
	atomic_store_explicit(&fitting, live, memory_order_relaxed);
}

/* A number for a new block; 0: as many are live as may be. */
static uint32_t take_id_locked(void)
{
	struct dry_guard_region *g = &dry_guarded;

	if (g->live >= g->live_max || g->live >= atomic_load_explicit(&fitting, memory_order_relaxed))
		return 0;
	if (g->spare != 0) {
		uint32_t id = g->spare;
		g->spare = g->block[id].next;
		return id;
	}
	if (g->fresh <= g->blocks_max &&
	    ((g->fresh + 1) * sizeof(struct dry_guard_block) <= g->block_size || dry_guard_more_blocks_locked()))
		return __atomic_fetch_add(&g->fresh, 1, __ATOMIC_RELAXED);
	return g->held_first != g->held_end ? let_go_locked() : 0;
}

static void give_id_locked(uint32_t id)
{
	dry_guarded.block[id].state = DRY_GUARD_UNUSED;
	dry_guarded.block[id].next = dry_guarded.spare;
	dry_guarded.spare = id;
}

/* ---- blocks ---------------------------------------------------------------------- */

static size_t alignment(size_t size, size_t align)
{
	size_t natural = size < 16 ? 8 : 16; /* what every allocation has */

	return align > natural ? align : natural;
}

static size_t bytes_of(const struct dry_guard_block *block)
{
	return (size_t)block->pages << dry_guarded.page_shift;
}

static void fill_sides(const struct dry_guard_block *block)
{
	char *start = dry_guard_page(block->page), *end = start + bytes_of(block);
	char *object = (char *)block->user;

	memset(start, FILL, (size_t)(object - start));
	memset(object + block->size, FILL, (size_t)(end - object) - block->size);
}

/* false after a report. */
static bool verify_sides(const struct dry_guard_block *block)
{
	const char *start = dry_guard_page(block->page), *end = start + bytes_of(block);
	const char *object = (const char *)block->user, *bad = dry_other_byte(start, object, FILL);
	enum dry_fatal_code code = DRY_FATAL_UNDERFLOW;

	if (bad == NULL) {
		code = DRY_FATAL_OVERFLOW;
		bad = dry_other_byte(object + block->size, end, FILL);
	}
	if (bad != NULL)
		dry_guard_report(code, block, (uintptr_t)bad);
	return bad == NULL;
}

static struct dry_budget_share share;

/* 0; -EBUSY: others' memory is there; -ENOMEM. */
static int get_pages(uint32_t page, uint32_t pages)
{
	char *start = dry_guard_page(page);
	size_t bytes = (size_t)pages << dry_guarded.page_shift;
	int rc;

	if (pages == 0)
		return 0;
	if (!dry_budget_share_take(&share, bytes))
		return -DRY_ENOMEM;
	rc = dry_guarded.sparse ? dry_port_reserve_at(start, bytes, DRY_ACCESS_WRITE) : dry_port_commit(start, bytes);
	if (rc != 0)
		dry_budget_share_give(&share, bytes);
	else
		atomic_fetch_add_explicit(&dry_main_heap.guarded, bytes, memory_order_relaxed);
	return rc;
}

static void give_pages(uint32_t page, uint32_t pages)
{
	char *start = dry_guard_page(page);
	size_t bytes = (size_t)pages << dry_guarded.page_shift;

	if (pages == 0)
		return;
	atomic_fetch_sub_explicit(&dry_main_heap.guarded, bytes, memory_order_relaxed);
	if (dry_guarded.sparse)
		dry_port_release(start, bytes);
	else
		dry_port_decommit(start, bytes);
	dry_budget_share_give(&share, bytes);
}

/* Pages behind a block of so many that the next ones leave free, while there is room: so far it grows where it is. */
static uint32_t to_grow(uint32_t pages)
{
	return pages / GROWTH;
}

/*
 * A place for `pages` pages and the one after them that faults, the first at a multiple of `align`, a page at least; 0: there is
 * none. Pages that the alignment takes before it are nobody's.
 */
static uint32_t find_place_locked(uint32_t pages, size_t align)
{
	struct dry_guard_region *g = &dry_guarded;
	uint32_t least = (uint32_t)(align >> g->page_shift) + pages, room = least + to_grow(pages);
	uint32_t at = find_room_locked(room, DRY_GUARD_SKIPS);

	if (at == 0) {
		uint32_t end = dry_guard_pages();
		at = dry_guard_extend_locked(room) ? end : 0;
	}
	/* The region is small: all of it, and held blocks make room, twice as many each time. */
	for (uint32_t leave = 1; at == 0; leave *= 2) {
		at = find_room_locked(room, UINT32_MAX);
		if (at == 0 && g->held_first == g->held_end && (room == least || (at = find_room_locked(least, UINT32_MAX)) == 0))
			return 0;
		for (uint32_t i = 0; at == 0 && i < leave && g->held_first != g->held_end; i++)
			give_id_locked(let_go_locked());
	}
	return (uint32_t)((dry_round_up((uintptr_t)dry_guard_page(at), align) - g->base) >> g->page_shift);
}

/* For reports, which may miss what another thread does now: relaxed. */
static void note_length(uint32_t pages)
{
	if (pages > __atomic_load_n(&dry_guarded.longest, __ATOMIC_RELAXED))
		__atomic_store_n(&dry_guarded.longest, pages, __ATOMIC_RELAXED);
}

/* A block that nobody knows of yet, without memory; NULL: no room, or as many as there may be. */
static struct dry_guard_block *take_place(size_t size, size_t align)
{
	struct dry_guard_region *g = &dry_guarded;
	size_t within = align < dry_guard_page_size() ? align : dry_guard_page_size();
	uint32_t pages = (uint32_t)(dry_round_up(size, dry_guard_page_size()) >> g->page_shift), id, at = 0;
	struct dry_guard_block *block;

	dry_lock_acquire(&g->lock);
	/* Those of no bytes have another place to be. */
	id = pages != 0 || g->live < g->live_max / 2 ? take_id_locked() : 0;
	if (id != 0)
		at = find_place_locked(pages, align > dry_guard_page_size() ? align : dry_guard_page_size());
	if (at == 0) {
		if (id != 0)
			give_id_locked(id);
		dry_lock_release(&g->lock);
		return NULL;
	}
	block = &g->block[id];
	block->page = at;
	block->pages = pages;
	note_length(pages);
	block->size = size;
	block->user = (uintptr_t)dry_guard_page(at) + dry_round_down(((size_t)pages << g->page_shift) - size, within);
	block->state = DRY_GUARD_MAKING;
	g->live++;
	own_locked(block, id);
	/* Far, so that a wrong index does not meet the next one, and where is not to be known. */
	g->cursor = at + pages + 1 + GAP + to_grow(pages) + (uint32_t)(dry_secret_random() & 3);
	dry_lock_release(&g->lock);
	return block;
}

void *dry_guard_alloc(size_t size, size_t align)
{
	struct dry_guard_region *g = &dry_guarded;
	struct dry_guard_block *block;

	align = alignment(size, align);
	if (dry_guard_base() == 0 || size > g->most / 8 || align > g->most / 8)
		return NULL;
	block = take_place(size, align);
	if (block == NULL)
		return NULL;
	int rc = get_pages(block->page, block->pages);
	if (rc != 0) {
		dry_lock_acquire(&g->lock);
		g->live--;
		if (rc == -DRY_EBUSY) { /* the place is nobody's for good */
			block->state = DRY_GUARD_UNUSED;
		} else {
			own_locked(block, 0);
			give_id_locked((uint32_t)(block - g->block));
		}
		dry_lock_release(&g->lock);
		return NULL;
	}
	fill_sides(block);
	block->kind = DRY_KIND_MALLOC;
	block->instead = NULL;
	block->allocated.count = block->freed.count = 0;
	dry_guard_note_stack(&block->allocated);
	__atomic_store_n(&block->state, DRY_GUARD_LIVE, __ATOMIC_RELEASE); /* pairs with find_live() */
	return (void *)block->user;
}

/* The block whose pages ptr is in, which may be nobody's, and its state. */
static struct dry_guard_block *find_block(const void *ptr, uint8_t *state)
{
	const struct dry_guard_region *g = &dry_guarded;
	uint32_t id = g->owner[((uintptr_t)ptr - g->base) >> g->page_shift];
	struct dry_guard_block *block = &g->block[id];

	*state = id != 0 ? __atomic_load_n(&block->state, __ATOMIC_ACQUIRE) : DRY_GUARD_UNUSED;
	return block;
}

static bool lives(const struct dry_guard_block *block, uint8_t state, const void *ptr)
{
	return (state == DRY_GUARD_LIVE || state == DRY_GUARD_FROZEN) && block->user == (uintptr_t)ptr;
}

/* The block at ptr; NULL after a report if it is none that lives. */
static struct dry_guard_block *find_live(const void *ptr, bool freeing)
{
	uint8_t state;
	struct dry_guard_block *block = find_block(ptr, &state);

	if (lives(block, state, ptr))
		return block;
	if (state == DRY_GUARD_UNUSED)
		dry_fatal(DRY_FATAL_INVALID_POINTER, ptr, NULL, "no guarded block is there, or no longer");
	else if (block->user != (uintptr_t)ptr)
		dry_guard_report(DRY_FATAL_INTERIOR, block, (uintptr_t)ptr);
	else
		dry_guard_report(freeing ? DRY_FATAL_DOUBLE_FREE : DRY_FATAL_USE_AFTER_FREE, block, (uintptr_t)ptr);
	return NULL;
}

void *dry_guard_alloc_instead(struct dry_cache *cache, void *object)
{
	void *ptr = dry_guard_alloc(cache->object_size, cache->align);
	uint8_t state;

	if (ptr != NULL)
		find_block(ptr, &state)->instead = object;
	return ptr;
}

void dry_guard_free(void *ptr, const struct dry_cache *of)
{
	struct dry_guard_region *g = &dry_guarded;
	struct dry_guard_block *block = find_live(ptr, true);
	struct dry_cache *cache = block != NULL ? dry_heap_cache_instead(block->instead) : NULL;
	uint8_t live = DRY_GUARD_LIVE;

	if (block == NULL)
		return;
	if (of != NULL && of->root != cache) {
		dry_guard_report(DRY_FATAL_WRONG_CACHE, block, (uintptr_t)ptr);
		return;
	}
	/* Of two frees at once only one makes the change. */
	if (!__atomic_compare_exchange_n(&block->state, &live, DRY_GUARD_HELD, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		if (live != DRY_GUARD_FROZEN)
			dry_guard_report(DRY_FATAL_DOUBLE_FREE, block, (uintptr_t)ptr);
		return;
	}
	if (cache != NULL && cache->dtor != NULL)
		cache->dtor(ptr, cache->arg);
	verify_sides(block);
	dry_guard_note_stack(&block->freed);
	if (cache != NULL)
		dry_free_slow(cache, block->instead);
	give_pages(block->page, block->pages);
	dry_lock_acquire(&g->lock);
	g->live--;
	while (g->held_end - g->held_first >= g->held_max)
		give_id_locked(let_go_locked());
	g->held[g->held_end++ % g->held_max] = (uint32_t)(block - g->block);
	dry_lock_release(&g->lock);
}

enum dry_kind dry_guard_kind(const void *ptr, enum dry_kind to)
{
	uint8_t state;
	struct dry_guard_block *block = find_block(ptr, &state);
	enum dry_kind before;

	if (!lives(block, state, ptr))
		return DRY_KIND_UNKNOWN;
	before = (enum dry_kind)block->kind;
	block->kind = (uint8_t)to;
	return before;
}

size_t dry_guard_size(void *ptr, bool freeing)
{
	const struct dry_guard_block *block = find_live(ptr, freeing);

	return block != NULL ? block->size : SIZE_MAX;
}

/* The `count` pages behind `first`, the one behind a block's, become somebody's, or nobody's (0). */
static void own_next_locked(uint32_t first, uint32_t count, uint32_t id)
{
	for (uint32_t i = 1; i <= count; i++)
		dry_guarded.owner[first + i] = id;
}

/* The next `more` pages behind a block's, which become its own; false: they are somebody's, or there is no memory. */
static bool take_next(const struct dry_guard_block *block, uint32_t more)
{
	struct dry_guard_region *g = &dry_guarded;
	uint32_t first = block->page + block->pages, free = 1;

	dry_lock_acquire(&g->lock);
	while (free <= more && first + free < dry_guard_pages() && g->owner[first + free] == 0)
		free++;
	if (free > more)
		own_next_locked(first, more, (uint32_t)(block - g->block));
	dry_lock_release(&g->lock);
	if (free <= more)
		return false;
	if (get_pages(first, more) == 0)
		return true;
	dry_lock_acquire(&g->lock);
	own_next_locked(first, more, 0);
	dry_lock_release(&g->lock);
	return false;
}

/* All behind the block's first `pages`, the next of which faults from now on. Nobody has one before its memory is gone. */
static void leave_next(const struct dry_guard_block *block, uint32_t pages)
{
	uint32_t first = block->page + pages, less = block->pages - pages;

	give_pages(first, less);
	dry_lock_acquire(&dry_guarded.lock);
	own_next_locked(first, less, 0);
	dry_lock_release(&dry_guarded.lock);
}

static bool set_pages(struct dry_guard_block *block, uint32_t pages)
{
	if (pages > block->pages && !take_next(block, pages - block->pages))
		return false;
	if (pages < block->pages)
		leave_next(block, pages);
	block->pages = pages;
	note_length(pages);
	return true;
}

bool dry_guard_resize(void *ptr, size_t size)
{
	uint8_t state, live = DRY_GUARD_LIVE;
	struct dry_guard_block *block = find_block(ptr, &state);
	size_t most = block->size / GROWTH;

	/* Of a free at once only one makes the change. */
	if (!lives(block, state, ptr) || size + most < block->size || size > block->size + most ||
	    !__atomic_compare_exchange_n(&block->state, &live, DRY_GUARD_MAKING, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	uint32_t before = block->pages;
	uint32_t pages = (uint32_t)(dry_round_up(block->user + size - (uintptr_t)dry_guard_page(block->page),
						 dry_guard_page_size()) >> dry_guarded.page_shift);
	bool stays = verify_sides(block) && set_pages(block, pages);
	if (stays) {
		bool less = size < block->size;

		block->size = size;
		/* The rest of what was filled before is the program's now; the rest of what is new, or was left, is not. */
		if (pages != before || less)
			fill_sides(block);
		dry_guard_note_stack(&block->allocated);
	}
	__atomic_store_n(&block->state, DRY_GUARD_LIVE, __ATOMIC_RELEASE); /* pairs with find_live() */
	return stays;
}

void dry_guard_check_all(void)
{
	struct dry_guard_region *g = &dry_guarded;

	if (dry_guard_base() == 0)
		return;
	for (uint32_t id = 1; id < __atomic_load_n(&g->fresh, __ATOMIC_RELAXED); id++) {
		struct dry_guard_block *block = &g->block[id];
		uint8_t live = DRY_GUARD_LIVE;
		/* A thread that still runs and frees it now leaves it as it is. */
		if (!__atomic_compare_exchange_n(&block->state, &live, DRY_GUARD_FROZEN, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		verify_sides(block);
		__atomic_store_n(&block->state, DRY_GUARD_LIVE, __ATOMIC_RELEASE);
	}
}

void dry_guard_lock(void)
{
	dry_lock_acquire_unranked(&dry_guarded.lock);
}

void dry_guard_unlock(bool in_child)
{
	if (in_child)
		dry_budget_share_forked(&share, atomic_load_explicit(&dry_main_heap.guarded, memory_order_relaxed));
	dry_lock_forked(&dry_guarded.lock, in_child);
}
