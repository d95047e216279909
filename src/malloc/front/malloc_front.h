/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What stands behind the malloc family: core's default heap and its size classes. override.c finds this header through
 * the include path; src/tiny/malloc/ has another with the same functions:
 *
 *	fast_malloc, fast_free, fast_free_sized   keep and set errno as malloc() and free()
 *	front_zalloc                              sets errno
 *	front_realloc                             sets errno, or keeps it where there is memory
 *	front_aligned, front_usable               errno is the caller's
 *	fast_push                                 false: it is no hit, and nothing was done
 *	front_noted_below, front_note, front_free_as    as in malloc/kind.h
 *	front_size_holds                          keeps errno; false after a report: the block has another size
 */
#ifndef DRY_MALLOC_FRONT_H
#define DRY_MALLOC_FRONT_H

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "core/alloc.h"
#include "debug/live.h"
#include "debug/secure.h"
#include "malloc/background.h"
#include "malloc/general.h"
#include "malloc/kind.h"
#include "malloc/options.h"
#include "malloc/plain.h"
#include "malloc/process.h"
#include "malloc/size_class.h"
#include "malloc/slow.h"
#include "malloc/turns.h"
#include "port/here.h"

#define HEAP  (&dry_main_heap)
#define ARENA (&dry_main_heap.caches.backing.arena)
#define SLOTS DRY_SLOTS(&dry_main_heap.caches)
#define front_noted_below dry_noted_below
#define front_note        dry_kind_note
#define front_free_as     dry_kind_free
#define ALIGN 16 /* of every block, as libc's; dry_alloc() gives 8 below 16 bytes */

DRY_FAST size_t granule_of(const void *object)
{
	return ((uintptr_t)object - ARENA->base) >> DRY_GRANULE_SHIFT;
}

/* Neither a hit nor one of check:1. */
static DRY_SLOW void *malloc_miss(size_t size)
{
	struct dry_heap *heap = dry_heap_get(NULL);
	size_t slot = size | (size == 0);
	struct dry_cache *cache = NULL;
	void *object;

	if (DRY_LIKELY(heap != NULL && size <= DRY_CLASS_MAX - heap->caches.hooks->tail))
		cache = atomic_load_explicit(&HEAP->general[dry_class_of(slot + HEAP->caches.hooks->tail)], memory_order_acquire);
	if (DRY_LIKELY(cache != NULL)) {
		dry_background_poke();
		object = dry_general_ask_secondary(HEAP, size, ALIGN, false);
		return object != NULL ? object : dry_general_alloc_slow(cache, slot);
	}
	dry_process_begin();
	object = heap != NULL ? dry_slow_alloc(heap, size, ALIGN, false) : NULL;
	if (object == NULL)
		errno = ENOMEM;
	return object;
}

/* Out of an array of that place. Its slab may be gone, if two threads freed it at the same moment. */
static DRY_SLOW void *malloc_unsure(void *object, size_t size, uint32_t place)
{
	const struct dry_slab *slab = dry_backing_find(&HEAP->caches.backing, object);

	if (slab == NULL || slab->cache->place != place)
		dry_fatal(DRY_FATAL_DOUBLE_FREE, object, NULL, "by two at once, and its slab is gone");
	else if (dry_live_claim(slab->cache, object))
		return object;
	return malloc_miss(size);
}

/* secure:1, as a rule: neither a block of no bytes, nor a plain one, nor one whose turn it is, and its pool has a choice. */
static DRY_NOINLINE void *malloc_kept(size_t size)
{
	struct dry_cache *cache = NULL;
	unsigned class = 0;
	void *object = NULL;

	if (DRY_LIKELY(size - 1 < DRY_CLASS_MAX - DRY_SECURE_TAIL)) {
		class = dry_class_of(size + DRY_SECURE_TAIL);
		cache = atomic_load_explicit(&HEAP->general[class], memory_order_acquire);
	}
	if (DRY_LIKELY(cache != NULL) && cache->debug == &dry_debug_secure && !dry_plain_ever() && dry_turns_pass(class))
		object = dry_secure_alloc(cache, size);
	return DRY_LIKELY(object != NULL) ? object : malloc_miss(size);
}

static DRY_NOINLINE void *malloc_slow(size_t size)
{
	/* check:1: the hit, and that nobody has the block */
	if (size - 1 < dry_checked_limit) {
		uint32_t place = dry_class_at[(size + 15) / 16];
		void *object = dry_percpu_pop_here(SLOTS, place);
		if (DRY_LIKELY(object != NULL))
			return DRY_LIKELY(dry_live_mark(object, place)) ? object : malloc_unsure(object, size, place);
	}
	return dry_kinds_are_kept() ? malloc_kept(size) : malloc_miss(size);
}

static DRY_SLOW void free_miss(void *object)
{
	int saved = errno;

	if (dry_kinds_are_kept())
		dry_kind_free(object, DRY_KIND_MALLOC, "free");
	dry_slow_free(HEAP, object);
	errno = saved;
}

/* secure:1: what malloc_kept() gave, as a rule. */
static DRY_NOINLINE void free_kept(void *object)
{
	int saved = errno;
	enum dry_freed freed = dry_secure_free(object, DRY_KIND_MALLOC);

	if (DRY_LIKELY(freed == DRY_FREED_WAITS))
		return;
	if (freed == DRY_FREED_NOT)
		free_miss(object);
	else
		dry_background_freed();
	errno = saved;
}

/* A block that is no longer known as live, where the array has no room for it: as if nothing had been done yet. */
static DRY_SLOW void free_released(void *object)
{
	const struct dry_slab *slab = dry_backing_find(&HEAP->caches.backing, object);

	if (slab != NULL && dry_live_claim(slab->cache, object))
		free_miss(object);
}

static DRY_NOINLINE void free_slow(void *object)
{
	/* check:1: the hit of a block that the program has */
	if (!dry_live_take(&dry_live, object)) {
		if (dry_kinds_are_kept())
			free_kept(object);
		else
			free_miss(object);
		return;
	}
	uint32_t place = ARENA->map[granule_of(object)];
	dry_live_release(&dry_live, object, place);
	if (DRY_UNLIKELY(!dry_percpu_push_here(SLOTS, place, object)))
		free_released(object);
}

/* check:1: a block that the program has, and blocks of that size and alignment have its place. false: it is not known by that. */
DRY_FAST bool size_is_plain(const void *object, size_t size, size_t align)
{
	size_t rounded = dry_round_up(size, align);
	uint32_t place = rounded - 1 < dry_checked_limit && align <= DRY_NATURAL_MAX ? dry_class_at[(rounded + 15) / 16] : 0;

	return place != 0 && dry_live_has(&dry_live, object) && ARENA->map[granule_of(object)] == place;
}

static DRY_SLOW bool front_size_holds(void *object, size_t size, size_t align)
{
	int saved = errno;
	bool holds = object == NULL || dry_general_size_holds(HEAP, object, size, align);

	errno = saved;
	return holds;
}

static DRY_SLOW void free_sized_unsure(void *object, size_t size, size_t align)
{
	if (front_size_holds(object, size, align) && object != NULL)
		free_slow(object);
}

static DRY_NOINLINE void free_sized_slow(void *object, size_t size, size_t align)
{
	if (DRY_LIKELY(size_is_plain(object, size, align)))
		free_slow(object);
	else
		free_sized_unsure(object, size, align);
}

DRY_FAST void *fast_malloc(size_t size)
{
	/* The limit is 0 before there is a heap: then no sequence may be entered. */
	if (DRY_LIKELY(size < dry_hits.size)) {
		void *object = dry_percpu_pop_here(SLOTS, dry_class_at[(size + 15) / 16]);
		if (DRY_LIKELY(object != NULL))
			return object;
	}
	return malloc_slow(size);
}

DRY_FAST bool fast_push(void *object)
{
	size_t granule = granule_of(object);

	return DRY_LIKELY(granule < dry_hits.granules) && DRY_LIKELY(dry_percpu_push_here(SLOTS, ARENA->map[granule], object));
}

DRY_FAST void fast_free(void *object)
{
	/* NULL is pushed nowhere; programs free it often enough that it is not sent the long way */
	if (!fast_push(object) && object != NULL)
		free_slow(object);
}

/* As fast_free(); the size is looked at where the slow path has the time. */
DRY_FAST void fast_free_sized(void *object, size_t size, size_t align)
{
	if (!fast_push(object))
		free_sized_slow(object, size, align);
}

static inline void *front_zalloc(size_t size)
{
	if (size <= DRY_CLASS_MAX) {
		void *object = fast_malloc(size);
		return object != NULL ? memset(object, 0, size) : NULL;
	}
	struct dry_heap *heap = dry_heap_get(NULL);
	dry_process_begin();
	void *object = heap != NULL ? dry_slow_alloc(heap, size, ALIGN, true) : NULL;
	if (object == NULL)
		errno = ENOMEM;
	return object;
}

static DRY_NOINLINE void *aligned_slow(size_t align, size_t size)
{
	struct dry_heap *heap = dry_heap_get(NULL);

	dry_process_begin();
	return heap != NULL ? dry_slow_alloc(heap, size, align < ALIGN ? ALIGN : align, false) : NULL;
}

/* As fast_malloc(), with the class of dry_class_for(). */
DRY_FAST void *front_aligned(size_t align, size_t size)
{
	if (DRY_LIKELY(size < dry_hits.size && size != 0 && align <= DRY_NATURAL_MAX)) {
		void *object = dry_percpu_pop_here(SLOTS, dry_class_at[(dry_round_up(size, align) + 15) / 16]);
		if (DRY_LIKELY(object != NULL))
			return object;
	}
	return aligned_slow(align, size);
}

/* A block of a class: it stays, or is copied between two hits. NULL: not the fast case. */
DRY_FAST void *fast_realloc(void *object, size_t size)
{
	size_t granule = granule_of(object);

	if (DRY_UNLIKELY(granule >= dry_hits.granules || size >= dry_hits.size))
		return NULL;
	uint32_t place = ARENA->map[granule];
	size_t room = dry_class_size_at[place / (DRY_AREA_UNIT / 8)];
	if (room == 0 || dry_general_fits(size, room))
		return room != 0 ? object : NULL;
	void *copy = dry_percpu_pop_here(SLOTS, dry_class_at[(size + 15) / 16]);
	if (DRY_UNLIKELY(copy == NULL))
		return NULL;
	memcpy(copy, object, size < room ? size : room);
	if (DRY_UNLIKELY(!dry_percpu_push_here(SLOTS, place, object)))
		free_slow(object);
	return copy;
}

static DRY_NOINLINE void *realloc_slow(void *object, size_t size)
{
	int saved = errno;
	if (dry_kinds_are_kept())
		dry_kind_free(object, DRY_KIND_MALLOC, "realloc");
	void *moved = dry_slow_realloc(HEAP, object, size);

	errno = moved != NULL ? saved : ENOMEM;
	return moved;
}

DRY_FAST void *front_realloc(void *object, size_t size)
{
	void *moved = fast_realloc(object, size);

	return DRY_LIKELY(moved != NULL) ? moved : realloc_slow(object, size);
}

static inline size_t front_usable(const void *object)
{
	return dry_general_usable(HEAP, object);
}

#endif
