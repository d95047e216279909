/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Countdowns: after so many allocations of a cache on a slot, one fails as if its array were empty, so that who samples
 * allocations comes by. A hit pays nothing for it (port/word.h).
 *
 *   of an array:  none ─── dry_countdown_all(on) ───> UNARMED ── dry_countdown_take() ──> running ── pops ──> OVER
 *                 none <─ dry_countdown_stop(), once it is off, by whoever misses         running <── dry_countdown_take() ──┘
 *
 * Allocations of UNARMED and OVER arrays go the slow way until somebody takes their news.
 *
 * Concurrency: each call works on the slot that its caller is on at that moment. Who has moved since finds another array, whose
 * countdown runs; then a sample comes one allocation later than it should.
 *
 * Must not know: what is sampled, or how gaps are drawn.
 */
#ifndef DRY_CORE_COUNTDOWN_H
#define DRY_CORE_COUNTDOWN_H

#include "core/cache.h"

enum dry_countdown { DRY_COUNTDOWN_NONE, DRY_COUNTDOWN_RUNNING, DRY_COUNTDOWN_UNARMED, DRY_COUNTDOWN_OVER };

/* Of others, free objects may be read, or have been filled for checks: nothing can stand for them. */
static inline bool dry_countdown_suits(const struct dry_cache *root)
{
	return (root->flags & (DRY_CACHE_TYPESAFE_BY_RCU | DRY_CACHE_DEBUG)) == 0;
}

/*
 * The arrays of all caches that suit, those to come too, are UNARMED from now on; or countdowns that still run are the last. Any
 * number of threads may be using them. false: a thread stayed inside of a sequence; arrays that exist have no countdown.
 */
bool dry_countdown_all(struct dry_caches *caches, bool on);

/* An allocation goes the slow way; one that finds the array empty counts as a pop. NONE: there is no array. */
enum dry_countdown dry_countdown_pass(struct dry_cache *cache);

/* Whether this slot's is UNARMED or OVER; a hint. */
bool dry_countdown_waits(const struct dry_cache *cache);

/* So many allocations, then the next. Only of an array that is UNARMED or OVER; what it was, otherwise RUNNING. */
enum dry_countdown dry_countdown_take(struct dry_cache *cache, uint64_t left);

/* If this one is over: never again. Whether it was. */
bool dry_countdown_end(struct dry_cache *cache);

/* The same, of a cache whose countdowns are ending. */
static inline bool dry_countdown_stop(struct dry_cache *cache)
{
	/* relaxed: who comes too late finds it again */
	return DRY_UNLIKELY(__atomic_load_n(&cache->countdowns, __ATOMIC_RELAXED) == DRY_COUNTDOWNS_ENDING) &&
	       dry_countdown_end(cache);
}

#endif
