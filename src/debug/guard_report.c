/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Reports of guarded blocks, also from the handler of a fault: no lock, no allocation. */
#include "base/fmt.h"
#include "debug/guard_internal.h"

void dry_guard_note_stack(struct dry_guard_stack *stack)
{
	stack->thread = 0;
	stack->count = 0;
}

/* "17 bytes after a block of 24 bytes" */
static void describe(char *text, size_t room, const struct dry_guard_block *block, uintptr_t address)
{
	const char *freed = __atomic_load_n(&block->state, __ATOMIC_ACQUIRE) == DRY_GUARD_HELD ? "freed " : "";
	uintptr_t end = block->user + block->size;

	if (address < block->user)
		dry_format(text, room, "%zu bytes before a %sblock of %zu bytes", (size_t)(block->user - address), freed,
			   block->size);
	else if (address >= end)
		dry_format(text, room, "%zu bytes after a %sblock of %zu bytes", (size_t)(address - end), freed, block->size);
	else
		dry_format(text, room, "%zu bytes into a %sblock of %zu bytes", (size_t)(address - block->user), freed,
			   block->size);
}

void dry_guard_report(enum dry_fatal_code code, const struct dry_guard_block *block, uintptr_t address)
{
	char detail[128];

	describe(detail, sizeof(detail), block, address);
	dry_fatal(code, (const void *)address, NULL, detail);
}

/* A guard page lies between two blocks: the nearer one is meant. NULL: nobody's. */
static const struct dry_guard_block *nearest(uintptr_t address)
{
	const struct dry_guard_region *g = &dry_guarded;
	uint32_t page = (uint32_t)((address - g->base) >> g->page_shift), next = page + 1 < g->pages ? g->owner[page + 1] : 0;
	const struct dry_guard_block *block = g->owner[page] != 0 ? &g->block[g->owner[page]] : NULL;

	if (block != NULL && page < block->page + block->pages)
		return block;
	if (next == 0 || (block != NULL && address - (block->user + block->size) < g->block[next].user - address))
		return block;
	return &g->block[next];
}

void dry_guard_report_fault(uintptr_t address, bool write, void *context)
{
	const struct dry_guard_block *block;
	char detail[128];
	size_t n;

	(void)context;
	if (address - dry_guarded.base >= dry_guarded.size)
		return;
	block = nearest(address);
	if (block == NULL)
		return;
	n = dry_format(detail, sizeof(detail), "%s, ", write ? "write" : "read");
	describe(detail + n, sizeof(detail) - n, block, address);
	dry_warn("%s: %p: %s",
		 __atomic_load_n(&block->state, __ATOMIC_ACQUIRE) == DRY_GUARD_HELD ? "use after free" : "access out of bounds",
		 (void *)address, detail);
}
