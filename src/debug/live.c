/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/live.h"

#include "base/fatal.h"

struct dry_side dry_live;

bool dry_live_claim(const void *block)
{
	size_t offset = (uintptr_t)block - dry_live.base;

	if (offset >= dry_side_covered(&dry_live))
		dry_side_look(&dry_live);
	if (*dry_live_at(offset)) {
		dry_fatal(DRY_FATAL_DOUBLE_FREE, block, NULL, "by two at once");
		return false;
	}
	*dry_live_at(offset) = 1;
	return true;
}
