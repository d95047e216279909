/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "core/asking.h"

enum dry_asking_result dry_asking_begin(struct dry_asking *turn)
{
	uint32_t ended = atomic_load_explicit(&turn->ended, memory_order_acquire);
	uintptr_t self = dry_backing_self(), owner = 0;

	if (atomic_compare_exchange_strong_explicit(&turn->owner, &owner, self, memory_order_acquire, memory_order_relaxed))
		return DRY_ASKING_TAKEN;
	for (unsigned n = 0; owner != self && n < DRY_ASKING_PATIENCE; n++) {
		if (atomic_load_explicit(&turn->ended, memory_order_acquire) != ended)
			return DRY_ASKING_WAITED;
		dry_backing_pause();
	}
	return DRY_ASKING_REFUSED;
}

void dry_asking_end(struct dry_asking *turn)
{
	atomic_fetch_add_explicit(&turn->ended, 1, memory_order_release);
	atomic_store_explicit(&turn->owner, 0, memory_order_release);
}
