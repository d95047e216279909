/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * check:1: which blocks of the general caches the program has. Bytes beside the arena, one for each 16 of it: 1 where
 * such a block begins that is handed out, else 0. So what is freed twice, or begins in no block, is known at once, and no
 * block is handed out while it is another's.
 *
 * Concurrency: plain bytes, each its block's. Two frees of a block at the very same moment may both pass; then claim()
 * refuses to hand the block out a second time.
 */
#ifndef DRY_DEBUG_LIVE_H
#define DRY_DEBUG_LIVE_H

#include "base/compiler.h"
#include "debug/side.h"

extern struct dry_side dry_live DRY_HIDDEN;

static inline bool dry_live_is_on(void)
{
	return dry_live.at != NULL;
}

static inline char *dry_live_at(size_t offset)
{
	return dry_live.at + offset / 16;
}

/* The block is about to be handed out; false after a report: somebody has it. */
DRY_SLOW bool dry_live_claim(const void *block);

/* The same, in a hit; false: the other one has to be asked. */
DRY_FAST bool dry_live_mark(const void *block)
{
	size_t offset = (uintptr_t)block - dry_live.base;

	if (DRY_UNLIKELY(offset >= dry_side_covered(&dry_live)) || DRY_UNLIKELY(*dry_live_at(offset)))
		return false;
	*dry_live_at(offset) = 1;
	return true;
}

/* Whether a live block begins at any pointer. */
DRY_FAST bool dry_live_has(const void *ptr)
{
	size_t offset = (uintptr_t)ptr - dry_live.base;

	return offset < dry_side_covered(&dry_live) && offset % 16 == 0 && *dry_live_at(offset);
}

/* The same, and it is freed. */
DRY_FAST bool dry_live_release(const void *ptr)
{
	bool live = dry_live_has(ptr);

	if (DRY_LIKELY(live))
		*dry_live_at((uintptr_t)ptr - dry_live.base) = 0;
	return live;
}

#endif
