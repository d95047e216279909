/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "guard/guard.h"

#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/fatal.h"
#include "base/fmt.h"
#include "core/alloc.h"
#include "guard/internal.h"
#include "page/budget.h"
#include "debug/object.h"
#include "debug/canary.h"
#include "port/guard.h"

#define GAP  15   /* pages between two blocks, while there is room */
#define FILL 0xab /* around the object, within its pages */
#define APART  ((size_t)256 << 20) /* address space on both sides of each */
#define FIRST  ((size_t)1 << 20)  /* a region begins with it: programs may lock all they have (mlockall) */
#define LEAST  ((size_t)16 << 20) /* of one that is reserved whole */
#define BLOCKS ((size_t)64 << 10) /* bytes that block[] begins with */
#define SPREAD ((size_t)2 << 30) /* it grows so far before a place is used again */

static size_t page_size(void)
{
	return (size_t)1 << dry_guarded.page_shift;
}

static char *page_address(uint32_t page)
{
	return (char *)dry_guarded.base + ((size_t)page << dry_guarded.page_shift);
}

static uint32_t region_pages(void)
{
	return (uint32_t)(dry_guarded.size >> dry_guarded.page_shift);
}

/* ---- making ---------------------------------------------------------------- */

/*
 * Two places: no index of the program's, however wrong, leads from a block to what is known of it.
 *
 *   | gap | held[] | owner[] -> | block[] -> | gap |          | gap | region -> | gap |
 *
 * In windows the tables grow, and the gaps are free by their place alone; so is the region between its live blocks, which are all
 * that is mapped of it: what is reserved counts, too, against limits of locked memory (mlockall) and of address space. Where there
 * are no windows, all of it is reserved at once.
 */

static size_t owner_bytes(size_t region)
{
	return dry_round_up(region / dry_port_page_size() * sizeof(uint32_t), dry_port_page_size());
}

static size_t held_bytes(void)
{
	return dry_round_up(dry_guarded.held_max * sizeof(uint32_t), dry_port_page_size());
}

static size_t gap(void)
{
	return dry_port_address_room() == SIZE_MAX ? APART : dry_port_page_size();
}

/* `bytes` between gaps that are reserved, too. */
static char *reserve(size_t bytes)
{
	char *at = dry_port_reserve(bytes + 2 * gap(), dry_port_page_size(), false);

	return at != NULL ? at + gap() : NULL;
}

/* The same, committed, in a window where `most` have room. */
static char *commit_in_window(size_t bytes, size_t most)
{
	char *at = dry_port_window(dry_round_up(most, DRY_CHUNK_SIZE) + 2 * APART, DRY_CHUNK_SIZE);

	return at != NULL && dry_port_reserve_at(at + APART, bytes, DRY_ACCESS_WRITE) == 0 ? at + APART : NULL;
}

static size_t block_bytes(size_t blocks)
{
	return dry_round_up((blocks + 1) * sizeof(struct dry_guard_block), dry_port_page_size());
}

/* Twice as many blocks. false: there are as many as there may be, or no memory. */
static bool grow_blocks_locked(void)
{
	struct dry_guard_region *g = &dry_guarded;
	size_t have = g->block_size, left = block_bytes(g->blocks_max) - have, more = have != 0 ? have : BLOCKS;
	char *end = (char *)g->block + have;

	more = more < left ? more : left;
	if (more == 0 || dry_port_reserve_at(end, more, DRY_ACCESS_WRITE) != 0)
		return false;
	g->block_size = have + more;
	return true;
}

/* A region of `size` bytes, which becomes part of `most`; its tables are at `start`, before block[] there are `before` bytes. */
static void begin_locked(char *region, size_t size, size_t most, char *start, size_t before)
{
	struct dry_guard_region *g = &dry_guarded;

	dry_secret_seed();
	g->page_shift = (uint8_t)dry_log2_floor(dry_port_page_size());
	g->held = (uint32_t *)(void *)start;
	g->owner = (uint32_t *)(void *)(start + held_bytes());
	g->block = (struct dry_guard_block *)(void *)(start + before);
	g->cursor = 1;
	/* Blocks that were never used are taken in order; then those that went round. */
	g->fresh = 1;
	g->size = size;
	g->most = most;
	/* release: who sees the base (dry_guard_base()) finds the rest */
	__atomic_store_n(&g->base, (uintptr_t)region, __ATOMIC_RELEASE);
}

/* In windows: a region that grows to `most`. */
static bool make_sparse_locked(size_t most)
{
	struct dry_guard_region *g = &dry_guarded;
	size_t before = held_bytes() + owner_bytes(most), tables = held_bytes() + owner_bytes(FIRST);
	char *region = dry_port_sparse_window(most + 2 * APART, DRY_CHUNK_SIZE);
	char *start = region != NULL ? commit_in_window(tables, before + block_bytes(g->blocks_max)) : NULL;

	if (start == NULL)
		return false;
	g->block = (struct dry_guard_block *)(void *)(start + before);
	g->block_size = 0;
	g->sparse = grow_blocks_locked();
	if (g->sparse)
		begin_locked(region + APART, FIRST, most, start, before);
	else
		dry_port_release(start, tables);
	return g->sparse;
}

/* Reserved whole. */
static bool make_whole_locked(size_t size)
{
	struct dry_guard_region *g = &dry_guarded;
	size_t before = held_bytes() + owner_bytes(size), tables = before + block_bytes(g->blocks_max);
	char *start = reserve(tables), *region = start != NULL ? reserve(size) : NULL;

	if (region == NULL || dry_port_commit(start, tables) != 0) {
		if (region != NULL)
			dry_port_release(region - gap(), size + 2 * gap());
		if (start != NULL)
			dry_port_release(start - gap(), tables + 2 * gap());
		return false;
	}
	g->block_size = block_bytes(g->blocks_max);
	begin_locked(region, size, size, start, before);
	return true;
}

/* `pages` more at least, at the end of the region. */
static bool grow_locked(uint32_t pages)
{
	struct dry_guard_region *g = &dry_guarded;
	/* In chunks, as the arena grows: what is less than one is left to libraries. A small one is doubled. */
	size_t have = g->size, unit = have < DRY_CHUNK_SIZE ? have : DRY_CHUNK_SIZE;
	size_t least = dry_round_up((size_t)pages << g->page_shift, unit), old = owner_bytes(have);
	size_t step = dry_round_down(have / 4, unit), more;

	step = step < unit ? unit : step;
	step = step < least ? least : step;
	step = step < g->most - have ? step : g->most - have;
	for (; step >= least; step = dry_round_down(step / 2, unit)) {
		more = owner_bytes(have + step) - old;
		if (more == 0 || dry_port_reserve_at((char *)g->owner + old, more, DRY_ACCESS_WRITE) == 0) {
			__atomic_store_n(&g->size, have + step, __ATOMIC_RELEASE); /* pairs with dry_guard_contains() */
			return true;
		}
	}
	return false;
}

bool dry_guard_ready(void)
{
	return dry_guard_base() != 0;
}

bool dry_guard_init(const struct dry_guard_attr *attr)
{
	struct dry_guard_region *g = &dry_guarded;
	size_t size = dry_round_down(attr->region, DRY_CHUNK_SIZE);

	dry_lock_acquire(&g->lock);
	if (!g->tried) {
		g->live_max = attr->live;
		g->held_max = attr->held;
		g->blocks_max = attr->live + attr->held;
		/* The system may refuse so much: then less, by halves. */
		while (size >= LEAST && !make_sparse_locked(size) && !make_whole_locked(size))
			size = dry_round_down(size / 2, DRY_CHUNK_SIZE);
	}
	g->tried = true;
	dry_lock_release(&g->lock);
	return dry_guard_ready();
}

void dry_guard_report_faults(void)
{
	static atomic_flag done = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set_explicit(&done, memory_order_relaxed))
		dry_port_on_fault(dry_guard_report_fault);
}

/* ---- places; the lock is held ------------------------------------------------- */

/* `pages` pages in a row that are nobody's, searched for from the cursor on, once around; 0: none within so many blocks. */
static uint32_t find_room_locked(uint32_t pages, uint32_t most)
{
	struct dry_guard_region *g = &dry_guarded;
	uint32_t start = g->cursor, run = 0, ends = 0;
	bool grows = true; /* what the system refused once, it is not asked for again at each step */

	for (uint32_t skips = 0; skips < most;) {
		if (start + pages > region_pages() && grows && g->size < SPREAD) {
			grows = grow_locked(pages);
			continue;
		}
		if (1 + pages > region_pages())
			return 0;
		if (start + pages > region_pages()) {
			if (ends++ != 0)
				return 0;
			start = 1;
			run = 0;
			continue;
		}
		uint32_t id = g->owner[start + run];
		if (id != 0) {
			const struct dry_guard_block *block = &g->block[id];
			start = block->page + block->pages + 1;
			run = 0;
			skips++;
		} else if (++run == pages) {
			return start;
		}
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
	if (g->fresh <= g->blocks_max && ((g->fresh + 1) * sizeof(struct dry_guard_block) <= g->block_size || grow_blocks_locked()))
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
	char *start = page_address(block->page), *end = start + bytes_of(block);
	char *object = (char *)block->user;

	memset(start, FILL, (size_t)(object - start));
	memset(object + block->size, FILL, (size_t)(end - object) - block->size);
}

/* false after a report. */
static bool verify_sides(const struct dry_guard_block *block)
{
	const char *start = page_address(block->page), *end = start + bytes_of(block);
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

/* 0; -EBUSY: others' memory is there; -ENOMEM. */
static int get_pages(const struct dry_guard_block *block)
{
	char *start = page_address(block->page);
	size_t bytes = bytes_of(block);
	int rc;

	if (!dry_budget_take(bytes))
		return -DRY_ENOMEM;
	rc = dry_guarded.sparse ? dry_port_reserve_at(start, bytes, DRY_ACCESS_WRITE) : dry_port_commit(start, bytes);
	if (rc != 0)
		dry_budget_give(bytes);
	return rc;
}

static void give_pages(const struct dry_guard_block *block)
{
	if (dry_guarded.sparse)
		dry_port_release(page_address(block->page), bytes_of(block));
	else
		dry_port_decommit(page_address(block->page), bytes_of(block));
	dry_budget_give(bytes_of(block));
}

/*
 * A place for `pages` pages and the one after them that faults, the first at a multiple of `align`, a page at least; 0: there is
 * none. Pages that the alignment takes before it are nobody's.
 */
static uint32_t find_place_locked(uint32_t pages, size_t align)
{
	struct dry_guard_region *g = &dry_guarded;
	uint32_t room = (uint32_t)(align >> g->page_shift) + pages;
	uint32_t at = find_room_locked(room, DRY_GUARD_SKIPS);

	if (at == 0) {
		uint32_t end = region_pages();
		at = grow_locked(room) ? end : 0;
	}
	/* The region is small: all of it, and held blocks make room, twice as many each time. */
	for (uint32_t leave = 1; at == 0; leave *= 2) {
		at = find_room_locked(room, UINT32_MAX);
		if (at == 0 && g->held_first == g->held_end)
			return 0;
		for (uint32_t i = 0; at == 0 && i < leave && g->held_first != g->held_end; i++)
			give_id_locked(let_go_locked());
	}
	return (uint32_t)((dry_round_up((uintptr_t)page_address(at), align) - g->base) >> g->page_shift);
}

/* A block that nobody knows of yet, without memory; NULL: no room, or as many as there may be. */
static struct dry_guard_block *take_place(size_t size, size_t align)
{
	struct dry_guard_region *g = &dry_guarded;
	size_t within = align < page_size() ? align : page_size();
	uint32_t pages = (uint32_t)(dry_round_up(size, page_size()) >> g->page_shift), id, at = 0;
	struct dry_guard_block *block;

	dry_lock_acquire(&g->lock);
	id = take_id_locked();
	if (id != 0)
		at = find_place_locked(pages, align > page_size() ? align : page_size());
	if (at == 0) {
		if (id != 0)
			give_id_locked(id);
		dry_lock_release(&g->lock);
		return NULL;
	}
	block = &g->block[id];
	block->page = at;
	block->pages = pages;
	block->size = size;
	block->user = (uintptr_t)page_address(at) + dry_round_down(((size_t)pages << g->page_shift) - size, within);
	block->state = DRY_GUARD_MAKING;
	g->live++;
	own_locked(block, id);
	/* Far, so that a wrong index does not meet the next one, and where is not to be known. */
	g->cursor = at + pages + 1 + GAP + (uint32_t)(dry_secret_random() & 3);
	dry_lock_release(&g->lock);
	return block;
}

bool dry_guard_is_half_full(void)
{
	struct dry_guard_region *g = &dry_guarded;

	dry_lock_acquire(&g->lock);
	bool result = g->live >= g->live_max / 2;
	dry_lock_release(&g->lock);
	return result;
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
	int rc = block->pages != 0 ? get_pages(block) : 0;
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
	atomic_fetch_add_explicit(&dry_main_heap.guarded, bytes_of(block), memory_order_relaxed);
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
	atomic_fetch_sub_explicit(&dry_main_heap.guarded, bytes_of(block), memory_order_relaxed);
	if (block->pages != 0)
		give_pages(block);
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

size_t dry_guard_size(void *ptr)
{
	const struct dry_guard_block *block = find_live(ptr, false);

	return block != NULL ? block->size : SIZE_MAX;
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
		dry_lock_reinit(&dry_guarded.lock);
	else
		dry_lock_release(&dry_guarded.lock);
}
