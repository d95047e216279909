/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "stats/leaks.h"

#include "base/bits.h"
#include "base/compiler.h"
#include "base/fmt.h"
#include "port/contract.h"
#include "port/roots.h"
#include "stats/sites.h"

#define NONE  UINT32_MAX
#define APART 63 /* ranges */

struct range {
	uintptr_t from, to;
};

struct block {
	uintptr_t from, to;
	uint32_t site;
	uint32_t next; /* to be searched; NONE: the last */
	enum { NEW, REACHED, LOST, BEHIND } state;
	uint32_t behind;     /* of a LOST one: blocks that it leads to */
	size_t behind_bytes;
};

static struct {
	struct block *block; /* ascending */
	size_t count, room;
	struct range apart[APART]; /* this struct's, too: what points to the first block of an arena is no root */
	unsigned aparts;
	uint32_t todo;       /* blocks that were found, and not searched yet */
	struct block *cause; /* the lost block that leads to what is found; NULL: it is reached */
	size_t alive, alive_bytes;
} all;

/* ---- blocks ----------------------------------------------------------------------------------- */

static void add_block(uintptr_t address, size_t size, uint32_t site)
{
	all.block[all.count++] = (struct block){ .from = address, .to = address + (size != 0 ? size : 1), .site = site };
}

static void sift_down(size_t at, size_t count)
{
	struct block moved = all.block[at];

	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && all.block[child + 1].from > all.block[child].from)
			child++;
		if (all.block[child].from <= moved.from)
			break;
		all.block[at] = all.block[child];
	}
	all.block[at] = moved;
}

/* A heap sort, for it needs no memory. */
static void sort_blocks(void)
{
	for (size_t at = all.count / 2; at-- > 0;)
		sift_down(at, all.count);
	for (size_t left = all.count; left-- > 1;) {
		struct block last = all.block[0];
		all.block[0] = all.block[left];
		all.block[left] = last;
		sift_down(0, left);
	}
}

/* The first block that ends behind the address; NULL: there is none. */
static struct block *block_from(uintptr_t address)
{
	size_t low = 0, high = all.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (all.block[middle].to <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < all.count ? &all.block[low] : NULL;
}

/* ---- search ---------------------------------------------------------------------------------------- */

static void push(struct block *block)
{
	block->next = all.todo;
	all.todo = (uint32_t)(block - all.block);
}

static void found(struct block *block)
{
	struct block *cause = all.cause;

	if (cause == NULL && block->state == NEW) {
		block->state = REACHED;
		push(block);
	} else if (cause != NULL && block != cause && (block->state == NEW || block->state == LOST)) {
		cause->behind += 1 + block->behind;
		cause->behind_bytes += block->to - block->from + block->behind_bytes;
		if (block->state == NEW) /* what a lost one leads to has been searched */
			push(block);
		block->state = BEHIND;
	}
}

static DRY_UNCHECKED void search_words(uintptr_t from, uintptr_t to)
{
	uintptr_t low = all.block[0].from, span = all.block[all.count - 1].to - low;

	for (uintptr_t at = dry_round_up(from, sizeof(uintptr_t)); at + sizeof(uintptr_t) <= to; at += sizeof(uintptr_t)) {
		uintptr_t value = *(const volatile uintptr_t *)at;
		struct block *block = value - low < span ? block_from(value) : NULL;
		if (block != NULL && value >= block->from)
			found(block);
	}
}

/* A program may have made whole pages of one inaccessible. */
static void search_block(const struct block *block)
{
	size_t page = dry_port_page_size();

	for (uintptr_t from = block->from, to; from < block->to; from = to) {
		to = from - from % page + page;
		to = to < block->to ? to : block->to;
		if (to - from < page || dry_port_root_readable(from))
			search_words(from, to);
	}
}

static void search_found(void)
{
	while (all.todo != NONE) {
		struct block *block = &all.block[all.todo];
		all.todo = block->next;
		search_block(block);
	}
}

/* Of what is mapped in one piece, all but blocks and what is apart. */
static void search_root(uintptr_t from, uintptr_t to)
{
	while (from < to) {
		const struct block *block = block_from(from);
		struct range next = { to, to };
		if (block != NULL && block->from < to)
			next = (struct range){ block->from, block->to };
		for (unsigned i = 0; i < all.aparts; i++)
			if (all.apart[i].to > from && all.apart[i].from < next.from)
				next = all.apart[i];
		if (next.from > from)
			search_words(from, next.from);
		from = next.to;
	}
}

static bool search_all(void)
{
	if (!dry_port_roots(search_root))
		return false;
	search_found();
	for (size_t i = 0; i < all.count; i++) {
		if (all.block[i].state != NEW)
			continue;
		all.cause = &all.block[i];
		all.cause->state = LOST;
		push(all.cause);
		search_found();
	}
	return true;
}

/* ---- figures ---------------------------------------------------------------------------------------- */

static void count_all(void)
{
	dry_sites_close_locked();
	for (size_t i = 0; i < all.count; i++) {
		const struct block *block = &all.block[i];
		if (block->state == LOST)
			dry_sites_set_lost_locked(block->site, block->to - block->from, block->behind, block->behind_bytes);
		if (block->state == REACHED)
			all.alive_bytes += block->to - block->from;
		all.alive += block->state == REACHED;
	}
}

void dry_leaks_apart(uintptr_t from, uintptr_t to)
{
	if (all.aparts < APART)
		all.apart[all.aparts++] = (struct range){ from, to };
}

static bool make_room_locked(size_t count)
{
	size_t bytes = dry_round_up(count * sizeof(struct block), dry_port_page_size());
	uintptr_t from, to;

	all.block = count < NONE ? dry_port_reserve(bytes, dry_port_page_size(), false) : NULL;
	if (all.block == NULL || dry_port_commit(all.block, bytes) != 0)
		return false;
	dry_leaks_apart((uintptr_t)all.block, (uintptr_t)all.block + bytes);
	dry_leaks_apart((uintptr_t)&all, (uintptr_t)(&all + 1));
	dry_sites_table_locked(&from, &to);
	dry_leaks_apart(from, to);
	return true;
}

bool dry_leaks_find(void)
{
	bool done = true;

	all.todo = NONE;
	dry_sites_lock();
	size_t blocks = dry_sites_blocks_locked(NULL);
	if (blocks != 0) {
		done = make_room_locked(blocks);
		if (done) {
			dry_sites_blocks_locked(add_block);
			sort_blocks();
			done = search_all();
		}
	}
	if (done)
		count_all();
	dry_sites_unlock(false);
	return done;
}

void dry_leaks_write(dry_port_writer *write, void *arg)
{
	char line[96];

	dry_sites_write(write, arg, 1);
	write(arg, line, dry_format(line, sizeof(line), "# alive %zu %zu\n", all.alive, all.alive_bytes));
}
