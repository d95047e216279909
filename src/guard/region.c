/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "guard/guard.h"

#include "base/bits.h"
#include "debug/canary.h"
#include "guard/internal.h"

#define APART  ((size_t)256 << 20) /* address space on both sides of each */
#define FIRST  ((size_t)1 << 20)   /* a region begins with it: programs may lock all they have (mlockall) */
#define LEAST  ((size_t)16 << 20)  /* of one that is reserved whole */
#define BLOCKS ((size_t)64 << 10)  /* bytes that block[] begins with */

struct dry_guard_region dry_guarded = { .lock = DRY_LOCK_INIT(DRY_RANK_GUARD) };

bool dry_guard_contains(const void *ptr)
{
	uintptr_t base = dry_guard_base();

	/* acquire: pairs with the release of who made it grow */
	return base != 0 && (uintptr_t)ptr - base < __atomic_load_n(&dry_guarded.size, __ATOMIC_ACQUIRE);
}

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

bool dry_guard_more_blocks_locked(void)
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
	g->sparse = dry_guard_more_blocks_locked();
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

bool dry_guard_extend_locked(uint32_t pages)
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
