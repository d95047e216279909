/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Where a pointer leads, and what is known of a block then: what allocation, free (general.c) and realloc (resize.c) share. */
#ifndef DRY_MALLOC_FOUND_H
#define DRY_MALLOC_FOUND_H

#include "debug/hooks.h"
#include "debug/live.h"
#include "debug/object.h"
#include "debug/secure.h"
#include "heap/heap.h"
#include "malloc/classes.h"

#define DRY_RUN_USUAL  ((size_t)128 << 10) /* bigger blocks are extents, while there are not too many of them */
#define DRY_RUN_MAX    ((size_t)1 << 20)   /* bigger ones always are */
#define DRY_SIZE_LIMIT ((size_t)PTRDIFF_MAX)

/* Where a pointer leads. */
struct dry_found {
	const struct dry_secondary *secondary; /* its block; then nothing else is known */
	struct dry_page *run;                  /* of the arena; NULL: an extent, or nothing */
	struct dry_slab *slab;                 /* in it; NULL: none */
	size_t room;                           /* bytes usable at ptr, DRY_NOT_LIVE or DRY_REPORTED */
};

/* freeing: for a free, of which a report then is. */
struct dry_found dry_general_find(struct dry_heap *heap, void *ptr, bool freeing);

/* An address, not NULL. */
void dry_general_free_at(struct dry_heap *heap, void *object);

/* Not from the secondary allocator. */
void *dry_general_alloc_own(struct dry_heap *heap, size_t size, size_t align, bool zero);

/* secure:1: what lies in a big block that is not guarded, behind its first `from` bytes, may have been another's. */
static inline bool dry_general_clears(const struct dry_heap *heap)
{
	return heap->caches.hooks == &dry_hooks_secure && dry_secure_zero;
}
void dry_general_clear_from(struct dry_heap *heap, void *object, size_t from);

/* The size of a block in a page of a class, without a look at the page. 0: it may be anything else. */
static inline size_t dry_general_class_size(const struct dry_heap *heap, const void *object)
{
	const struct dry_arena *arena = &heap->caches.backing.arena;
	size_t granule = ((uintptr_t)object - arena->base) >> DRY_GRANULE_SHIFT;

	if (!heap->is_default || granule >= dry_arena_granules(arena) || (dry_live_is_on() && !dry_live_has(&dry_live, object)))
		return 0;
	return dry_class_size_at[arena->map[granule] / (DRY_AREA_UNIT / 8)];
}

/* A heap over given memory, or with a limit, has nothing but its arena. */
static inline bool dry_general_arena_only(const struct dry_heap *heap)
{
	const struct dry_arena *arena = &heap->caches.backing.arena;

	return !arena->owns_memory || arena->limit_pages != SIZE_MAX;
}

/* Of a live object of a debugged cache `size` bytes were asked for. false: it cannot have that size. */
static inline bool dry_general_debug_size(struct dry_cache *cache, void *object, size_t size)
{
	return cache->debug->sized == NULL || cache->debug->sized(cache, object, size);
}

/* The pointer that the program gets to an object of a debugged cache. */
static inline void *dry_general_to_program(const struct dry_cache *cache, void *object, size_t size)
{
	return dry_heap_of(cache->caches)->is_default ? dry_secure_give(cache, object, size) : object;
}

#endif
