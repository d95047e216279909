/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Secure objects: the objects of caches with DRY_CACHE_SECURE. Nothing that the allocator believes
 * lies where a program's error reaches it.
 *
 *   slot    | size bytes asked for | slack, filled with a canary ... | 8 bytes, canary |
 *   shadow    side[(slot - arena base) / 16]: state, kind and slack up to 4,103 bytes, in a reservation of its own
 *
 * States of an object, changed by one compare-and-swap each:
 *
 *   FREE --hand out--> LIVE --free--> GOING --once wiped--> FREE, in the cache's pool (debug/pool.h) or its slab
 *                      LIVE --resize--> GOING --once its canary is there--> LIVE
 *
 * A FREE object is zero up to its last eight bytes; whatever differs when it is handed out was written after the free. The last
 * eight bytes are the same from the slab's making on, so that the object to the right can look at them at any time. Constructed
 * objects keep their content, of which a mark stands in the shadow of their second 16 bytes.
 *
 * Concurrency: no lock. A shadow is one atomic.
 *
 * Must not know: size classes, guarded blocks.
 */
#ifndef DRY_DEBUG_SECURE_H
#define DRY_DEBUG_SECURE_H

#include "core/cache.h"
#include "debug/pool.h"
#include "debug/tags.h"
#include "page/page.h"

extern const struct dry_debug_ops dry_debug_secure; /* of caches with DRY_CACHE_SECURE */

/* Shadows for all objects of the arena from now on. false: no room; objects are plain. Called once, for the default heap. */
bool dry_secure_init(struct dry_caches *caches);

/* The same for a heap of the program's own. */
void dry_secure_heap(struct dry_caches *caches);

/*
 * The usual cases, in one piece: an object for `size` bytes out of its cache's pool, NULL where there is no choice; and the free of
 * a live one of this kind of the default heap. NOT: it is anything else, and nothing was done.
 */
void *dry_secure_alloc(struct dry_cache *cache, size_t size);
enum dry_freed dry_secure_free(void *pointer, enum dry_kind kind);

/* An object of the default heap goes to the program: the pointer that it gets. */
static inline void *dry_secure_give(const struct dry_cache *cache, void *object, size_t size)
{
	bool tagged = dry_tags_are_used() && object != NULL && cache->debug == &dry_debug_secure && cache->ctor == NULL;

	return tagged ? dry_tags_give(object, size, cache->size) : object;
}

bool dry_secure_is_current_tagged(const void *pointer);
void dry_secure_report_old(const void *pointer);

/* false: an old pointer, or one without its tag, to an object that the program has now. */
static inline bool dry_secure_is_current(const void *pointer)
{
	return !dry_tags_are_used() || dry_secure_is_current_tagged(pointer);
}

/* The same of one that is to be freed, resized or measured, with a report. */
static inline bool dry_secure_admits(const void *pointer)
{
	bool current = dry_secure_is_current(pointer);

	if (DRY_UNLIKELY(!current))
		dry_secure_report_old(pointer);
	return current;
}

/* What an access to an object of the default heap hit that faulted for its tag. false: it was none. */
bool dry_secure_describe(const void *address, bool *freed, char *text, size_t room);

/* At the end of the process, of a heap with shadows: look at what was freed last, then at every object. */
void dry_secure_check(struct dry_caches *caches);

#endif
