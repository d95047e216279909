/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the files of guarded blocks share among themselves. */
#ifndef DRY_GUARD_INTERNAL_H
#define DRY_GUARD_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fatal.h"
#include "port/contract.h"

#define DRY_GUARD_SKIPS  64 /* blocks in the way before a search ends */
#define DRY_GUARD_FRAMES 32

enum dry_guard_state {
	DRY_GUARD_UNUSED = 0,
	DRY_GUARD_MAKING, /* its place is taken, its pages not there yet */
	DRY_GUARD_LIVE,
	DRY_GUARD_HELD,
	DRY_GUARD_FROZEN, /* live, and looked at: the process is ending */
};

struct dry_guard_stack {
	uint32_t thread; /* 0: nothing noted */
	uint32_t count;
	uintptr_t frame[DRY_GUARD_FRAMES];
};

/* Written by who has it in state MAKING, or frees it; else immutable. */
struct dry_guard_block {
	uintptr_t user; /* the object */
	size_t size;    /* asked for */
	uint32_t page, pages;
	uint32_t next;  /* UNUSED: in the list of spare numbers; guarded by lock */
	uint8_t state;  /* enum dry_guard_state; atomic */
	uint8_t kind;   /* LIVE: enum dry_kind */
	void *instead;  /* the object of a cache that it stands for; NULL: none */
	struct dry_guard_stack allocated, freed;
};

/*
 * owner[p] = number of the block that page p, or the page before it, belongs to; 0: nobody.
 * held_end - held_first = blocks in state HELD that are in the ring; both only grow.
 */
struct dry_guard_region {
	uintptr_t base; /* atomic; 0: there is none. most to block, but for size: immutable once it is set */
	bool tried;     /* there is one, or no room for it; guarded by lock */
	size_t most;    /* bytes that it may have */
	size_t size;    /* that it has, as owner[] knows them; grows with the lock held, atomic */
	uint32_t blocks_max, live_max, held_max;
	uint8_t page_shift;
	bool sparse; /* of its pages those of live blocks are mapped, and no other */
	uint32_t *owner;
	struct dry_guard_block *block; /* [0] is nobody's */
	struct dry_lock lock;          /* guards what follows, owner[] and the list of spare numbers */
	uint32_t live; /* being made, too */
	uint32_t longest; /* pages of the longest block that there was; of reports; relaxed */
	uint32_t cursor, fresh, spare; /* fresh is read without the lock when the process ends */
	uint32_t *held, held_first, held_end;
	size_t block_size; /* bytes of block[] that are there */
};

extern struct dry_guard_region dry_guarded DRY_HIDDEN;

/* acquire: pairs with the release of who made the region, in the midst of other threads' work perhaps */
static inline uintptr_t dry_guard_base(void)
{
	return __atomic_load_n(&dry_guarded.base, __ATOMIC_ACQUIRE);
}

static inline size_t dry_guard_page_size(void)
{
	return (size_t)1 << dry_guarded.page_shift;
}

static inline char *dry_guard_page(uint32_t page)
{
	return (char *)dry_guarded.base + ((size_t)page << dry_guarded.page_shift);
}

static inline uint32_t dry_guard_pages(void)
{
	return (uint32_t)(dry_guarded.size >> dry_guarded.page_shift);
}

/* region.c */

/* `pages` more at least, at the end of the region. */
bool dry_guard_extend_locked(uint32_t pages);
/* Twice as many blocks. false: there are as many as there may be, or no memory. */
bool dry_guard_more_blocks_locked(void);

/* report.c */

/* Where the caller is, seen from the program. */
void dry_guard_note_stack(struct dry_guard_stack *stack);
/* One line of report as dry_fatal() would give, then the stacks. */
void dry_guard_report(enum dry_fatal_code code, const struct dry_guard_block *block, uintptr_t address);
/* For the port: a fault somewhere. */
void dry_guard_report_fault(uintptr_t pointer, const char *access, uintptr_t pc);

#endif
