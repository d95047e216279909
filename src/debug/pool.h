/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Where a cache's freed objects wait, and out of which those are chosen that are handed out next.
 *
 *   freed --> waiting, first in, first out --> candidates, of which one is chosen by chance --> handed out
 *                                               |    ^
 *                                   as many as   v    |   until there is a choice
 *                                are too many    slabs
 *
 * So an object goes from its free to its next use without its slab, and the slab's lock is taken once for many of them.
 *
 * Concurrency: a pool lies in an array of the cache that it has no other use for, guarded by that array's lock, which fork takes as
 * any other: in node 0's shared array, until two threads meet there; from then on slots have one each, in their local arrays. An
 * object belongs to the pool that it was freed into, so a thread that goes on elsewhere in the midst of it does no harm.
 */
#ifndef DRY_DEBUG_POOL_H
#define DRY_DEBUG_POOL_H

#include "core/cache.h"

#define DRY_POOL_BIG ((size_t)1 << 20)

/* In the entry of a depot, whose `avail` counts what is in it. Guarded by the depot's lock; inspect.h says where things are. */
struct dry_object_pool {
	uint32_t candidates; /* entry[0..candidates) */
	uint32_t room;       /* for them: twice a choice */
	uint32_t waits;      /* in the ring behind entry[room], from `oldest` on */
	uint32_t oldest;
	uint32_t ring;       /* its places: a power of two */
	uint32_t places;     /* of them to be used */
	size_t most_bytes;   /* of those that may wait, when `places` was last reckoned */
	uint64_t choices;    /* made, and in the upper half the pool's number */
	uint64_t chance;     /* for the next four, 16 bits each, of which those are gone that were used */
	void *entry[];
};

/* Of big objects what waits, and what a choice takes, is no more than a MiB each, or two of them. */
static inline uint32_t dry_pool_few(size_t size)
{
	return size <= DRY_POOL_BIG / 2 ? (uint32_t)(DRY_POOL_BIG / size) : 2;
}

/* Of how many free objects one is chosen, at the least. */
static inline uint32_t dry_pool_choice(const struct dry_cache *cache)
{
	if (DRY_UNLIKELY(cache->size > DRY_POOL_BIG / 16))
		return dry_pool_few(cache->size);
	return cache->size <= 1024 ? 64 : 16;
}

/* One object, chosen out of dry_pool_choice(cache) at least. NULL: there are not as many. Counted. */
void *dry_pool_take(struct dry_cache *cache);

/*
 * Where there are not: makes the pool, if there is none, fetches objects from the slabs, then has one chosen out of them, if they
 * are enough. Two calls in turns until it is, because malloc's deepest go through them (docs/design/stack.md). false: no memory.
 */
bool dry_pool_prepare(struct dry_cache *cache);
bool dry_pool_fill(struct dry_cache *cache, dry_gfp gfp, unsigned node, void **chosen);

/* Out of as many as there are in any pool. NULL: there is none. */
void *dry_pool_take_any(struct dry_cache *cache);

enum dry_freed {
	DRY_FREED_NOT,
	DRY_FREED_WAITS,
	DRY_FREED_SPILLED, /* it waits, and others went to their slabs */
};

/* A freed object waits, and is counted. NOT: there is no memory for that. */
enum dry_freed dry_pool_put(struct dry_cache *cache, void *object);

/* All of it into the slabs, and the pools' own memory back. */
void dry_pool_drain(struct dry_cache *cache);

/* Calls fn for each object in it, under a pool's lock; not if somebody has that. At the end of the process. */
void dry_pool_each(struct dry_cache *cache, void (*fn)(const struct dry_cache *, const char *));

/* For a process that may have so much memory: fewer wait. At any time, by one thread. */
void dry_pools_fit(size_t memory);

#endif
