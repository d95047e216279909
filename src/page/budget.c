/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "page/budget.h"

#include <stdatomic.h>
#include <stdint.h>

#include "base/compiler.h"

static _Atomic size_t used;
static _Atomic size_t limit = SIZE_MAX;

void dry_budget_limit(size_t bytes)
{
	atomic_store_explicit(&limit, bytes, memory_order_relaxed);
}

bool dry_budget_may_hold(size_t bytes)
{
	size_t most = atomic_load_explicit(&limit, memory_order_relaxed);

	return most != SIZE_MAX && bytes <= most;
}

static bool is_within(size_t bytes, size_t now, size_t most)
{
	return now <= most && bytes <= most - now;
}

bool dry_budget_has_room(size_t bytes)
{
	return is_within(bytes, dry_budget_used(), atomic_load_explicit(&limit, memory_order_relaxed));
}

size_t dry_budget_used(void)
{
	return atomic_load_explicit(&used, memory_order_relaxed);
}

void dry_budget_count(size_t bytes)
{
	atomic_fetch_add_explicit(&used, bytes, memory_order_relaxed);
}

bool dry_budget_take(size_t bytes)
{
	size_t most = atomic_load_explicit(&limit, memory_order_relaxed), now;

	if (DRY_LIKELY(most == SIZE_MAX)) {
		dry_budget_count(bytes);
		return true;
	}
	/* Compared first: what is refused must not be in the way of others for a moment. */
	now = dry_budget_used();
	do
		if (!is_within(bytes, now, most))
			return false;
	while (!atomic_compare_exchange_weak_explicit(&used, &now, now + bytes, memory_order_relaxed, memory_order_relaxed));
	return true;
}

void dry_budget_give(size_t bytes)
{
	atomic_fetch_sub_explicit(&used, bytes, memory_order_relaxed);
}

bool dry_budget_share_take(struct dry_budget_share *share, size_t bytes)
{
	if (!dry_budget_take(bytes))
		return false;
	/* A child of a fork between these two counts too much; the other way round it would give back what it has not got. */
	atomic_fetch_add_explicit(&share->taken, bytes, memory_order_relaxed);
	return true;
}

void dry_budget_share_give(struct dry_budget_share *share, size_t bytes)
{
	size_t taken = atomic_load_explicit(&share->taken, memory_order_relaxed), less;

	do /* no more than there is: dry_budget_share_forked() */
		less = bytes < taken ? bytes : taken;
	while (!atomic_compare_exchange_weak_explicit(&share->taken, &taken, taken - less, memory_order_relaxed,
						      memory_order_relaxed));
	dry_budget_give(less);
}

void dry_budget_share_forked(struct dry_budget_share *share, size_t there)
{
	size_t taken = atomic_load_explicit(&share->taken, memory_order_relaxed);

	if (taken > there)
		dry_budget_share_give(share, taken - there);
}
