/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Of a secure object: its shadow, and what it must look like. */
#ifndef DRY_DEBUG_SECURE_OBJECT_H
#define DRY_DEBUG_SECURE_OBJECT_H

#include <stdatomic.h>

#include "base/fatal.h"
#include "debug/canary.h"
#include "debug/object.h"
#include "debug/side.h"

enum { FRESH = 0, FREE = 1 << 14, LIVE = 2 << 14, GOING = 3 << 14, STATE = 3 << 14 };
enum { KIND_AT = 12, SLACK = (1 << KIND_AT) - 1 }; /* LIVE: enum dry_kind from that bit on; the slack, in bytes but the tail */

#define MOST_SLACK ((size_t)SLACK + DRY_SECURE_TAIL)
#define SHADOWED   16u /* bytes of the arena for each shadow */

/* NULL: its heap has none. */
static inline _Atomic uint16_t *shadow_of(const struct dry_cache *cache, const void *object)
{
	const struct dry_side *side = cache->caches->shadows;

	if (side == NULL || (uintptr_t)object - side->base >= dry_side_covered(side))
		return NULL;
	return (_Atomic uint16_t *)(void *)side->at + ((uintptr_t)object - side->base) / SHADOWED;
}

/* relaxed unless said otherwise: who holds an object got it from who wrote its shadow */
static inline uint16_t shadow_get(_Atomic uint16_t *shadow)
{
	return atomic_load_explicit(shadow, memory_order_relaxed);
}

/* Typed objects, whose size never changes, aligned to so much that they all leave more than a shadow can say. */
static inline bool is_spacious(const struct dry_cache *cache)
{
	return DRY_UNLIKELY(cache->size - cache->object_size > MOST_SLACK);
}

static inline size_t slack_of(const struct dry_cache *cache, uint16_t seen)
{
	return is_spacious(cache) ? cache->size - cache->object_size : (size_t)(seen & SLACK) + DRY_SECURE_TAIL;
}

/* Whether free objects of the cache are zero. */
static inline bool is_wiped(const struct dry_cache *cache)
{
	return cache->ctor == NULL && dry_secure_zero;
}

/* Whether their content stays, and is known by its mark: in the second of their shadows, where they have one. */
static inline bool is_marked(const struct dry_cache *cache)
{
	return cache->ctor != NULL && dry_secure_zero && cache->size >= 2 * SHADOWED;
}

static inline bool mark_holds(const char *object, const char *end, uint16_t mark)
{
	return mark == 0 || mark == dry_secret_mark(object, end);
}

static inline uint64_t canary_of(const struct dry_cache *cache, const char *object)
{
	return dry_canary_of(object + cache->size);
}

/* Of a free object: where its canary begins, of which only the tail is left if it was wiped. */
static inline const char *end_of_content(const struct dry_cache *cache, const char *object, size_t slack)
{
	return object + cache->size - (is_wiped(cache) ? DRY_SECURE_TAIL : slack);
}

void dry_secure_report_at(enum dry_fatal_code code, const struct dry_cache *cache, const void *object, const char *bad,
			  size_t size);

/* What a free object must look like. false after a report. */
bool dry_secure_verify_free(const struct dry_cache *cache, const char *object, _Atomic uint16_t *shadow, uint64_t canary);

#endif
