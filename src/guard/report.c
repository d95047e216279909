/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reports of guarded blocks, also from the handler of a fault: no lock, no allocation. A report is its line, then the
 * stacks of the access (or call), of the allocation and of the free.
 */

#include "base/fmt.h"
#include "debug/secure.h"
#include "guard/guard.h"
#include "guard/empty.h"
#include "guard/internal.h"
#include "debug/say.h"
#include "port/stack.h"

void dry_guard_note_stack(struct dry_guard_stack *stack)
{
	stack->thread = dry_port_thread();
	stack->count = dry_port_stack(stack->frame, DRY_GUARD_FRAMES);
}

static void say_stack(const char *what, const struct dry_guard_stack *stack)
{
	if (stack->count == 0)
		return;
	dry_debug_say("%s by thread %u", what, stack->thread);
	dry_debug_say_frames(stack->frame, stack->count);
}

static void say_owners(const struct dry_guard_block *block)
{
	say_stack("allocated", &block->allocated);
	say_stack("freed", &block->freed);
}

static bool is_freed(const struct dry_guard_block *block)
{
	return __atomic_load_n(&block->state, __ATOMIC_ACQUIRE) == DRY_GUARD_HELD;
}

/* "17 bytes after a block of 24 bytes" */
static void describe(char *text, size_t room, const struct dry_guard_block *block, bool freed, uintptr_t address)
{
	uintptr_t end = block->user + block->size;
	size_t far = address < block->user ? block->user - address : address >= end ? address - end : address - block->user;

	dry_format(text, room, "%zu bytes %s a %sblock of %zu bytes", far,
		   address < block->user                    ? "before" :
		   address >= end && address != block->user ? "after" :
							      "into",
		   freed ? "freed " : "", block->size);
}

/* For explain(); relaxed, all: of two threads' reports at once the later one has its owners named. */
static const struct dry_guard_block *reported;
static uintptr_t reporter; /* dry_port_self() */
static void (*usual)(enum dry_fatal_code code, const void *address);

/* Between the line and the end of the process, which a handler may leave by a jump: from here on all is as it was. */
static void explain(enum dry_fatal_code code, const void *address)
{
	void (*before)(enum dry_fatal_code, const void *) = __atomic_load_n(&usual, __ATOMIC_RELAXED);
	const struct dry_guard_block *block = __atomic_load_n(&reported, __ATOMIC_RELAXED);

	if (__atomic_load_n(&reporter, __ATOMIC_RELAXED) != dry_port_self()) {
		if (before != NULL)
			before(code, address);
		return;
	}
	__atomic_store_n(&dry_fatal_explain, before, __ATOMIC_RELAXED);
	dry_debug_say_call(code, address);
	say_owners(block);
}

void dry_guard_report(enum dry_fatal_code code, const struct dry_guard_block *block, uintptr_t address)
{
	void (*before)(enum dry_fatal_code, const void *) = __atomic_load_n(&dry_fatal_explain, __ATOMIC_RELAXED);
	char detail[128];

	/* Damage that its free finds was done before. */
	bool found = code == DRY_FATAL_OVERFLOW || code == DRY_FATAL_UNDERFLOW;
	describe(detail, sizeof(detail), block, !found && is_freed(block), address);
	if (before != explain)
		__atomic_store_n(&usual, before, __ATOMIC_RELAXED);
	__atomic_store_n(&reported, block, __ATOMIC_RELAXED);
	__atomic_store_n(&reporter, dry_port_self(), __ATOMIC_RELAXED);
	__atomic_store_n(&dry_fatal_explain, explain, __ATOMIC_RELAXED);
	dry_fatal(code, (const void *)address, NULL, detail);
}

/* Behind a live block, where it once had memory perhaps, or a page more. NULL: nobody's. */
static const struct dry_guard_block *before(uint32_t page)
{
	const struct dry_guard_region *g = &dry_guarded;
	const struct dry_guard_block *block;
	uint32_t far = __atomic_load_n(&g->longest, __ATOMIC_RELAXED) + 1;

	while (page > 0 && g->owner[page] == 0 && far-- > 0)
		page--;
	block = &g->block[g->owner[page]];
	return g->owner[page] != 0 && !is_freed(block) ? block : NULL;
}

/* A guard page lies between two blocks: the nearer one is meant. NULL: nobody's. */
static const struct dry_guard_block *nearest(uintptr_t address)
{
	const struct dry_guard_region *g = &dry_guarded;
	uint32_t page = (uint32_t)((address - g->base) >> g->page_shift);
	uint32_t next = page + 1 < g->size >> g->page_shift ? g->owner[page + 1] : 0;
	const struct dry_guard_block *block = g->owner[page] != 0 ? &g->block[g->owner[page]] : NULL;

	if (block == NULL && next == 0)
		return before(page);
	if (block != NULL && page < block->page + block->pages)
		return block;
	if (next == 0 || (block != NULL && address - (block->user + block->size) < g->block[next].user - address))
		return block;
	return &g->block[next];
}

/* What faulted: the code; -1: nothing of ours. */
static int explain_fault(uintptr_t address, const struct dry_guard_block *block, char *text, size_t room)
{
	const struct dry_backing *backing = &dry_main_heap.caches.backing;
	const struct dry_slab *slab;
	bool freed;

	if (block != NULL) {
		describe(text, room, block, is_freed(block), address);
		return is_freed(block) ? DRY_FATAL_USE_AFTER_FREE : DRY_FATAL_OUT_OF_BOUNDS;
	}
	if (dry_guard_contains((const void *)address)) {
		dry_format(text, room, "where a guarded block was");
		return DRY_FATAL_USE_AFTER_FREE;
	}
	if (dry_empty_contains((const void *)address)) {
		dry_format(text, room, "a block of 0 bytes");
		return DRY_FATAL_OUT_OF_BOUNDS;
	}
	if (!dry_backing_contains(backing, (const void *)address) ||
	    dry_arena_index(&backing->arena, (const void *)address) >=
		    atomic_load_explicit(&backing->arena.committed, memory_order_relaxed))
		return -1;
	if (dry_secure_describe((const void *)address, &freed, text, room))
		return freed ? DRY_FATAL_USE_AFTER_FREE : DRY_FATAL_OUT_OF_BOUNDS;
	if (backing->pages == NULL)
		return -1;
	slab = dry_backing_find(backing, (const void *)address);
	dry_format(text, room, "%s%s", slab != NULL ? "after a slab of " : "where a slab was",
		   slab != NULL ? slab->cache->name : "");
	return slab != NULL ? DRY_FATAL_OUT_OF_BOUNDS : DRY_FATAL_USE_AFTER_FREE;
}

void dry_guard_report_fault(uintptr_t pointer, const char *access, uintptr_t pc)
{
	uintptr_t address = (uintptr_t)dry_tags_strip((const void *)pointer); /* systems leave the tag out, or do not */
	const struct dry_guard_block *block = dry_guard_contains((const void *)address) ? nearest(address) : NULL;
	uintptr_t frame[DRY_GUARD_FRAMES];
	char detail[128];
	int code = explain_fault(address, block, detail, sizeof(detail));
	unsigned count, first = 0;

	if (access == NULL)
		dry_warn("%s, or after a free: some time before the stack below (tags:sync says where)",
			 dry_fatal_text(DRY_FATAL_OUT_OF_BOUNDS));
	else if (code < 0)
		return;
	else
		dry_warn("%s: %p: %s, %s", dry_fatal_text((enum dry_fatal_code)code), (void *)address, access, detail);
	dry_debug_say("access by thread %u", dry_port_thread());
	if (pc != 0)
		dry_debug_say_frames(&pc, 1);
	/* First comes the way out of the handler; by tables for unwinding, then pc again. */
	count = dry_port_stack(frame, DRY_GUARD_FRAMES);
	while (first < count && frame[first] != pc)
		first++;
	first = first < count ? first + 1 : 1;
	if (count > first)
		dry_debug_say_frames(frame + first, count - first);
	if (block != NULL)
		say_owners(block);
}
