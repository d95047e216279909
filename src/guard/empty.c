/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "guard/empty.h"

#include <stdatomic.h>

#include "base/fatal.h"
#include "guard/internal.h"

#define COUNT ((size_t)4 << 20) /* addresses; a multiple of 64 */
#define STEP  16u
#define TRIES (COUNT / 64)         /* addresses that are looked at for one, at most */
#define MOST  (COUNT - COUNT / 64) /* live at once: of more a free address would be looked for too long */

static uintptr_t base; /* atomic; 0: there is none. bits: immutable once it is set */
static _Atomic uint64_t *bits;
static _Atomic size_t turn, live; /* relaxed: one more or less does not matter */

static bool make(void)
{
	size_t page = dry_port_page_size();
	char *bytes, *space;

	if (__atomic_load_n(&base, __ATOMIC_ACQUIRE) != 0)
		return true;
	dry_lock_acquire(&dry_guarded.lock);
	bytes = base == 0 ? dry_port_reserve(COUNT / 8 + 2 * page, page, false) : NULL;
	if (bytes != NULL && dry_port_commit(bytes + page, COUNT / 8) == 0) {
		/* Nothing is ever mapped there; where no place is known that stays free it is reserved. */
		space = dry_port_sparse_window(COUNT * STEP, page);
		if (space == NULL)
			space = dry_port_reserve(COUNT * STEP, page, false);
		bits = (_Atomic uint64_t *)(void *)(bytes + page);
		__atomic_store_n(&base, (uintptr_t)space, __ATOMIC_RELEASE);
	}
	if (bytes != NULL && base == 0)
		dry_port_release(bytes, COUNT / 8 + 2 * page);
	dry_lock_release(&dry_guarded.lock);
	return base != 0;
}

static size_t index_of(const void *ptr)
{
	return ((uintptr_t)ptr - __atomic_load_n(&base, __ATOMIC_ACQUIRE)) / STEP;
}

void *dry_empty_alloc(size_t align)
{
	size_t stride = align > STEP ? align / STEP : 1;

	if (align > dry_port_page_size() || !make() || atomic_load_explicit(&live, memory_order_relaxed) >= MOST)
		return NULL;
	for (size_t tries = 0; tries < TRIES / stride; tries++) {
		/* rounded up: what is before the turn was handed out last */
		size_t at = (atomic_fetch_add_explicit(&turn, stride, memory_order_relaxed) + stride - 1) / stride * stride % COUNT;
		uint64_t bit = (uint64_t)1 << at % 64;
		/* relaxed: nothing hangs on it but the address */
		if ((atomic_fetch_or_explicit(&bits[at / 64], bit, memory_order_relaxed) & bit) == 0) {
			atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
			return (void *)(base + at * STEP);
		}
	}
	return NULL;
}

bool dry_empty_contains(const void *ptr)
{
	return __atomic_load_n(&base, __ATOMIC_ACQUIRE) != 0 && index_of(ptr) < COUNT;
}

bool dry_empty_check(const void *ptr, bool free)
{
	size_t at = index_of(ptr);
	uint64_t bit = (uint64_t)1 << at % 64, seen;

	if ((uintptr_t)ptr % STEP != 0) {
		dry_fatal(DRY_FATAL_INTERIOR, ptr, NULL, "behind a block of 0 bytes");
		return false;
	}
	seen = free ? atomic_fetch_and_explicit(&bits[at / 64], ~bit, memory_order_relaxed) :
		      atomic_load_explicit(&bits[at / 64], memory_order_relaxed);
	if (free && (seen & bit) != 0)
		atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
	if ((seen & bit) == 0)
		dry_fatal(free ? DRY_FATAL_DOUBLE_FREE : DRY_FATAL_USE_AFTER_FREE, ptr, NULL, "a block of 0 bytes");
	return (seen & bit) != 0;
}
