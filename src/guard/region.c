/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "guard/guard.h"
#include "guard/internal.h"

struct dry_guard_region dry_guarded = { .lock = DRY_LOCK_INIT(DRY_RANK_GUARD) };

bool dry_guard_contains(const void *ptr)
{
	uintptr_t base = dry_guard_base();

	/* acquire: pairs with the release of who made it grow */
	return base != 0 && (uintptr_t)ptr - base < __atomic_load_n(&dry_guarded.size, __ATOMIC_ACQUIRE);
}
