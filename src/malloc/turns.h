/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Which allocation of a class or a typed cache of the default heap is sampled: for a heap profile (malloc/sample.h), or to be
 * guarded (guard/guard.h).
 *
 * Both are Poisson processes, of bytes as served the one, of allocations the other. By caches and slots they fall apart into
 * one each. So the array of a cache on a slot counts down to whichever of the two comes first (core/countdown.h); as such
 * processes remember nothing, both gaps may be drawn anew then. Allocations without an array share one count a class, and those
 * of no class, whose sizes differ, have a count for each of the two.
 *
 * Concurrency: means are relaxed atomics; a change is seen by each array at its next turn.
 */
#ifndef DRY_MALLOC_TURNS_H
#define DRY_MALLOC_TURNS_H

#include "heap/heap.h"
#include "malloc/size_class.h"

enum dry_turn { DRY_TURN_NONE, DRY_TURN_PROFILE, DRY_TURN_GUARD };

/*
 * From now on one turn of that kind on average every `mean` bytes, or allocations; 0: none. false: arrays of other threads could
 * not be told (dry_port_slot_fence()), and there is none.
 */
bool dry_turns_set(enum dry_turn kind, size_t mean);

/* Allocations of a class without arrays up to its next turn; 0: not drawn yet. Relaxed: one more or less does not matter. */
extern DRY_HIDDEN _Atomic int64_t dry_turns_direct[DRY_CLASS_COUNT];

/* Whether it is none's turn for sure; then it is counted. */
static inline bool dry_turns_pass(unsigned class)
{
	int64_t left = atomic_load_explicit(&dry_turns_direct[class], memory_order_relaxed);

	if (left <= 1)
		return false;
	atomic_store_explicit(&dry_turns_direct[class], left - 1, memory_order_relaxed);
	return true;
}

/*
 * Whose turn this allocation is, which goes the slow way: of a class, or `size` bytes of none (DRY_CLASS_COUNT); or of an object of
 * a cache that is no class's.
 */
enum dry_turn dry_turns_take(unsigned class, size_t size);
enum dry_turn dry_turns_take_object(struct dry_cache *root);

#endif
