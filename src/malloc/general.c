/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/general.h"

#include <string.h>

#include "base/annotate.h"
#include "base/bits.h"
#include "base/fatal.h"
#include "base/fmt.h"
#include "core/alloc.h"
#include "core/batch.h"
#include "core/countdown.h"
#include "core/slab.h"
#include "core/walk.h"
#include "debug/hooks.h"
#include "malloc/found.h"
#include "port/probe.h"

#define MOST_EXTENTS 16384 /* live ones; then blocks up to DRY_RUN_MAX are runs */

/* Whose kept runs: of a private heap, whose runs nobody gives back by himself, those of one group. */
static uint32_t group_of(const struct dry_heap *heap)
{
	return heap->is_default ? dry_percpu_slot() : 0;
}

static void *alloc_run(struct dry_heap *heap, size_t size, size_t align, bool zero)
{
	struct dry_arena *arena = dry_heap_arena(heap);
	size_t page = (size_t)1 << arena->page_shift;
	uint32_t pages = (uint32_t)((size + page - 1) >> arena->page_shift);
	uint32_t align_pages = align > page ? (uint32_t)(align >> arena->page_shift) : 1;
	struct dry_page *run = align_pages == 1 ? dry_kept_take(&heap->kept, arena, pages, group_of(heap)) : NULL;

	if (run == NULL)
		run = dry_arena_alloc(arena, pages, align_pages, dry_caches_home(&heap->caches));
	if (run == NULL)
		return NULL;
	void *object = dry_arena_start(arena, run);
	if (zero && (run->flags & DRY_PAGE_DIRTY))
		memset(object, 0, size);
	dry_heap_balance(heap);
	return object;
}

static void *alloc_extent(struct dry_heap *heap, size_t size, size_t align, bool zero)
{
	unsigned node = dry_caches_home(&heap->caches);
	size_t dirty = 0;
	void *object = dry_extent_alloc(&heap->extents, size, align, node, &dirty);

	/* The arena may sit on what is missing, where that is limited. */
	while (object == NULL && align <= DRY_CHUNK_SIZE && size < PTRDIFF_MAX - DRY_CHUNK_SIZE &&
	       dry_heap_give_up(heap, size + align))
		object = dry_extent_alloc(&heap->extents, size, align, node, &dirty);
	dry_heap_balance(heap);
	if (object != NULL && zero)
		dry_extent_clear(&heap->extents, object, dirty < size ? dirty : size);
	return object;
}

/* Whether the arena could have it. */
static bool fits_arena(const struct dry_heap *heap, size_t size, size_t align)
{
	size_t room = dry_backing_bytes(&heap->caches.backing);

	return size <= room && align <= room &&
	       (dry_general_arena_only(heap) || (size <= DRY_CHUNK_SIZE && align <= DRY_CHUNK_SIZE));
}

/*
 * Extents are not bound to powers of two of pages, and are kept to be used again, which runs are not (docs/design/big-blocks.md);
 * but the system counts mappings (65,530), and a tool that watches finds reads of freed runs only. What a run leaves up to the
 * next multiple of such a power is for other sizes: where a limit counts that, and it is much, small blocks are extents, too.
 */
static bool is_for_extent(struct dry_heap *heap, size_t size)
{
	size_t page = (size_t)1 << dry_backing_page_shift(&heap->caches.backing), pages = (size + page - 1) / page;
	bool leaves_much = (((size_t)1 << dry_log2_ceil((uint32_t)pages)) - pages) * 8 > pages;
	/* an extent has pages of its own, and those of a source may be big */
	size_t source = heap->extents.source.unit / 2, usual = source > DRY_RUN_USUAL ? source : DRY_RUN_USUAL;
	bool wanted = size > usual ? dry_annotate == NULL : leaves_much && dry_port_is_scarce();

	return size > DRY_RUN_MAX || (wanted && dry_extents_live(&heap->extents) < MOST_EXTENTS);
}

static void *alloc_big(struct dry_heap *heap, size_t size, size_t align, bool zero)
{
	bool only = dry_general_arena_only(heap), fits = fits_arena(heap, size, align);
	void *object = NULL;

	if (fits && (only || !is_for_extent(heap, size)))
		object = alloc_run(heap, size, align, zero);
	if (object == NULL && !only)
		object = alloc_extent(heap, size, align, zero);
	if (object == NULL && fits && !only)
		object = alloc_run(heap, size, align, zero);
	return object;
}

static bool is_checked(const struct dry_cache *cache)
{
	return DRY_UNLIKELY(cache->flags & DRY_CACHE_CHECKED);
}

static size_t room_in_slab(const struct dry_slab *slab, const void *ptr, bool freeing)
{
	if (is_checked(slab->cache) && !dry_live_knows(slab->cache, ptr))
		return DRY_NOT_LIVE;
	const struct dry_debug_ops *debug = slab->cache->debug;

	return debug != NULL && debug->usable != NULL ? debug->usable(slab->cache, ptr, freeing) : slab->cache->size;
}

struct dry_found dry_general_find(struct dry_heap *heap, void *ptr, bool freeing)
{
	const struct dry_secondary *secondary = dry_heap_secondary(heap);
	struct dry_arena *arena = dry_heap_arena(heap);
	struct dry_found place = { .run = dry_arena_run_of(arena, ptr) };

	if (DRY_UNLIKELY(secondary != NULL) && secondary->contains(ptr)) {
		place.secondary = secondary;
		place.room = secondary->size(ptr, freeing);
		return place;
	}
	place.slab = dry_slab_in(place.run);
	if (place.slab != NULL)
		place.room = room_in_slab(place.slab, ptr, freeing);
	else if (place.run != NULL) /* a pointer into it is no block */
		place.room = dry_arena_start(arena, place.run) == ptr ? (size_t)place.run->count << arena->page_shift : 0;
	else
		place.room = dry_extent_size(&heap->extents, ptr);
	if (place.slab == NULL && place.room == 0)
		place.room = DRY_NOT_LIVE;
	return place;
}

DRY_FAST void *alloc_slow(struct dry_cache *cache, size_t size)
{
	void *object = dry_heap_try_slow(cache);

	if (DRY_LIKELY(cache->debug == NULL) || object == NULL)
		return object;
	dry_general_debug_size(cache, object, size);
	return dry_general_to_program(cache, object, size);
}

/* Of an object that is bigger than its class: then the class of a block no longer says what small size it was asked for with. */
static _Atomic bool gave_bigger; /* relaxed: who frees the block got it from who set this */

/* Bytes: what a program asks for that goes on after a failure, and libc for a thread (288); of bigger ones more would be wasted. */
#define LAST_MOST 512u

/* There is no more memory, but slabs of bigger classes, aligned as the cache's objects at least, may have free objects. */
static DRY_SLOW void *alloc_bigger(struct dry_cache *cache, size_t size)
{
	struct dry_heap *heap = dry_heap_of(cache->caches);
	const struct dry_secondary *secondary = dry_heap_secondary(heap);
	unsigned class = dry_class_of(cache->size), home = dry_caches_home(cache->caches);
	void *object = NULL;

	if (size > LAST_MOST || heap->caches.hooks->allows != NULL) /* that: it shall fail */
		return NULL;
	while (object == NULL && ++class < DRY_CLASS_COUNT) {
		struct dry_cache *bigger = atomic_load_explicit(&heap->general[class], memory_order_acquire);
		if (bigger != NULL && bigger->align >= cache->align && dry_node_has_free(bigger->root, home))
			object = alloc_slow(bigger, size);
	}
	if (object != NULL)
		atomic_store_explicit(&gave_bigger, true, memory_order_relaxed);
	return object == NULL && secondary != NULL ? secondary->last(size, cache->align) : object;
}

void *dry_general_alloc_slow(struct dry_cache *cache, size_t size)
{
	void *object = alloc_slow(cache, size);

	if (DRY_UNLIKELY(object == NULL)) {
		object = alloc_bigger(cache, size);
		if (object == NULL)
			dry_heap_failed(cache);
	}
	return object;
}

/* Not part of its caller, as small objects take that, too (docs/design/stack.md). */
static DRY_NOINLINE void *alloc_big_hard(struct dry_heap *heap, size_t size, size_t align, bool zero)
{
	void *object;

	if (DRY_UNLIKELY(heap->caches.hooks->allows != NULL) && !heap->caches.hooks->allows(NULL))
		return NULL;
	object = alloc_big(heap, size, align, zero);
	/* What a trim brings is pages of the arena: bigger blocks have no use for it. */
	bool fits = object == NULL && fits_arena(heap, size, align);
	for (unsigned tries = 0; fits && object == NULL && dry_heap_free_up(heap, size, tries); tries++)
		object = alloc_big(heap, size, align, zero);
	for (unsigned tries = 0; object == NULL && dry_heap_make_room(heap, size, tries); tries++)
		object = alloc_big(heap, size, align, zero);
	if (DRY_UNLIKELY(object == NULL)) {
		DRY_PROBE_1(drystone, failure, size);
		atomic_fetch_add_explicit(&heap->failures, 1, memory_order_relaxed); /* a statistic */
	}
	if (DRY_UNLIKELY(dry_annotate != NULL) && object != NULL) {
		dry_annotate->given(&heap->caches, object, size, zero);
		dry_annotate->closed((char *)object + size, dry_general_find(heap, object, false).room - size);
	}
	return object;
}

/* Whoever was asked before found that the array had an object; the pop that did not get it may have ended a countdown. */
static DRY_NOINLINE void *sampled_now(struct dry_heap *heap, struct dry_cache *cache, size_t size, size_t align, bool zero)
{
	bool waits = dry_heap_secondary(heap) != NULL && dry_countdown_waits(cache);

	return waits ? dry_general_ask_secondary(heap, size, align, zero) : NULL;
}

/* There was no memory for the class's cache. What its objects may ask for, it may, too. */
static DRY_NOINLINE struct dry_cache *make_cache_hard(struct dry_heap *heap, unsigned class)
{
	/* what a cache takes itself may be more */
	size_t least = (size_t)1 << dry_backing_page_shift(&heap->caches.backing), size = dry_class_size(class);
	struct dry_cache *cache = NULL;

	size = size > least ? size : least;
	for (unsigned tries = 0; cache == NULL && dry_heap_free_up(heap, size, tries); tries++)
		cache = dry_general_cache(heap, class);
	for (unsigned tries = 0; cache == NULL && dry_heap_make_room(heap, size, tries); tries++)
		cache = dry_general_cache(heap, class);
	return cache;
}

/* Of a class that has no cache, where none can be made. */
static DRY_NOINLINE void *alloc_run_instead(struct dry_heap *heap, size_t size, size_t align, bool zero)
{
	bool clears = dry_general_clears(heap);
	void *object = alloc_big_hard(heap, size, align, zero || clears);

	if (clears && object != NULL)
		dry_general_clear_from(heap, object, size);
	return object;
}

void *dry_general_alloc_own(struct dry_heap *heap, size_t size, size_t align, bool zero)
{
	void *object;

	if (size == 0)
		size = 1;
	unsigned class = dry_general_class(heap, size, align);
	if (class < DRY_CLASS_COUNT) {
		struct dry_cache *cache = dry_general_cache(heap, class);
		if (DRY_UNLIKELY(cache == NULL) && !dry_lock_none_held())
			return alloc_run_instead(heap, size, align, zero);
		if (DRY_UNLIKELY(cache == NULL))
			cache = make_cache_hard(heap, class);
		object = cache != NULL ? dry_percpu_pop(DRY_SLOTS(&heap->caches), cache->place) : NULL;
		if (object != NULL && is_checked(cache) && !dry_live_claim(cache, object))
			object = NULL;
		if (DRY_UNLIKELY(object == NULL) && cache != NULL) {
			object = sampled_now(heap, cache, size, align, zero);
			if (object == NULL)
				object = dry_general_alloc_slow(cache, size);
		}
		return object != NULL && zero ? memset(object, 0, size) : object;
	}
	return alloc_big_hard(heap, size, align, zero);
}

DRY_SLOW void dry_general_clear_from(struct dry_heap *heap, void *object, size_t from)
{
	struct dry_found place = dry_general_find(heap, object, false);

	if (place.slab == NULL && place.room != DRY_NOT_LIVE && place.room > from)
		memset((char *)object + from, 0, place.room - from);
}

static DRY_NOINLINE void *alloc_asked(struct dry_heap *heap, size_t size, size_t align, bool zero)
{
	void *object = dry_general_ask_secondary(heap, size, align, zero);

	if (object != NULL)
		return object;
	/* secure:1: too many are guarded, or it is a heap of its own. What lay there before is not for its owner to read. */
	bool clears = dry_general_clears(heap) && dry_general_class(heap, size, align) == DRY_CLASS_COUNT;
	object = dry_general_alloc_own(heap, size, align, zero || clears);
	if (clears && object != NULL) /* and what it has more than was asked for, which a realloc() may give */
		dry_general_clear_from(heap, object, size);
	return object;
}

void *dry_general_alloc(struct dry_heap *heap, size_t size, size_t align, bool zero)
{
	if (size > DRY_SIZE_LIMIT || align > DRY_SIZE_LIMIT / 2 + 1)
		return NULL;
	return DRY_UNLIKELY(dry_heap_secondary(heap) != NULL || dry_general_clears(heap)) ?
		       alloc_asked(heap, size, align, zero) :
		       dry_general_alloc_own(heap, size, align, zero);
}

/* What begins a page may have been a big block, whose memory is gone. */
static DRY_SLOW void report_foreign(struct dry_heap *heap, void *object)
{
	void *extent = dry_extent_of(&heap->extents, object);
	size_t page = (size_t)1 << dry_backing_page_shift(&heap->caches.backing);

	if (extent != NULL)
		dry_fatal(DRY_FATAL_INTERIOR, object, NULL, "big block");
	else if (dry_extent_was_freed(&heap->extents, object))
		dry_fatal(DRY_FATAL_DOUBLE_FREE, object, NULL, "big block, freed twice");
	else
		dry_fatal(DRY_FATAL_INVALID_POINTER, object, NULL,
			  (uintptr_t)object % page != 0 ? "never given out" : "never given out, or freed twice");
}

/* The arena has grown since the limit was published: frees of what is beyond come here until it is raised. */
static void raise_limit(const struct dry_heap *heap)
{
	size_t seen = __atomic_load_n(&dry_hits.granules, __ATOMIC_RELAXED), now = dry_arena_granules(&heap->caches.backing.arena);

	/* 0: no free is to be a hit. Who comes too late has lost nothing. */
	if (heap->is_default && seen != 0 && seen < now)
		__atomic_compare_exchange_n(&dry_hits.granules, &seen, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void free_in_arena(struct dry_heap *heap, void *object)
{
	struct dry_arena *arena = dry_heap_arena(heap);
	struct dry_page *run = dry_arena_run_of(arena, object);
	struct dry_slab *slab = dry_slab_in(run);

	raise_limit(heap);
	if (slab != NULL)
		dry_free_slow(slab->cache, object);
	else if (run == NULL && dry_extent_free(&heap->extents, object))
		return; /* where the arena gave up address space */
	else if (run == NULL)
		dry_fatal(DRY_FATAL_INVALID_POINTER, object, NULL, "in a free page: never given out, or freed twice");
	else if (dry_arena_start(arena, run) != object)
		dry_fatal(DRY_FATAL_INTERIOR, object, NULL, "page run");
	else if (!dry_page_claim(run))
		dry_fatal(DRY_FATAL_DOUBLE_FREE, object, NULL, "page run, freed by two at once");
	else if (heap->caches.backing.pages == NULL)
		dry_kept_put(&heap->kept, arena, run, group_of(heap));
	else /* slabs are let go by chunks that have nothing else in them */
		dry_arena_free(arena, run);
}

/* A big block is about to go; what a slab has, its cache tells of. */
static DRY_SLOW void annotate_free(struct dry_heap *heap, void *object)
{
	struct dry_found place = dry_general_find(heap, object, true);

	if (place.secondary != NULL || place.slab != NULL || place.room == DRY_NOT_LIVE ||
	    (place.run != NULL && dry_arena_start(dry_heap_arena(heap), place.run) != object))
		return;
	dry_annotate->taken(&heap->caches, object, place.room);
	if (place.run == NULL) /* it may be unmapped, and others' memory come in its place */
		dry_annotate->opened(object, place.room);
}

void dry_general_free_at(struct dry_heap *heap, void *object)
{
	const struct dry_secondary *secondary = dry_heap_secondary(heap);

	if (DRY_UNLIKELY(dry_annotate != NULL))
		annotate_free(heap, object);
	if (dry_arena_contains(dry_heap_arena(heap), object))
		free_in_arena(heap, object);
	else if (secondary != NULL && secondary->contains(object))
		secondary->free(NULL, object);
	else if (!dry_extent_free(&heap->extents, object))
		report_foreign(heap, object);
}

void dry_general_free(struct dry_heap *heap, void *pointer)
{
	if (pointer != NULL && dry_secure_admits(pointer))
		dry_general_free_at(heap, dry_tags_strip(pointer));
}

static DRY_SLOW void report_no_size(const void *object, const struct dry_found *place)
{
	const struct dry_slab *slab = place->slab;
	bool begins = slab != NULL && dry_slab_index(slab->cache, slab, object) != UINT32_MAX;
	enum dry_fatal_code code = place->run == NULL ? DRY_FATAL_INVALID_POINTER :
				   begins	      ? DRY_FATAL_USE_AFTER_FREE :
							DRY_FATAL_INTERIOR;

	dry_fatal(code, object, slab != NULL ? slab->cache->name : NULL, "its size was asked for, and it is no block");
}

size_t dry_general_usable(struct dry_heap *heap, const void *pointer)
{
	const void *object = dry_tags_strip(pointer);
	size_t room = dry_general_class_size(heap, object);
	struct dry_found place;

	if (DRY_LIKELY(room != 0) || object == NULL || !dry_secure_admits(pointer))
		return room;
	place = dry_general_find(heap, (void *)(uintptr_t)object, false);
	if (DRY_UNLIKELY(place.room == DRY_NOT_LIVE))
		report_no_size(object, &place);
	if (place.room == DRY_NOT_LIVE || place.room == DRY_REPORTED)
		return 0;
	return DRY_UNLIKELY(dry_annotate != NULL) ? dry_annotate->size(object, place.room) : place.room;
}

/* Whether the room of an object is what was asked for; not where it is all of its slot. */
static bool knows_sizes(const struct dry_cache *cache, size_t room)
{
	return cache->debug != NULL && cache->debug->usable != NULL && room != cache->size &&
	       (cache->flags & (DRY_CACHE_RED_ZONE | DRY_CACHE_SECURE)) != 0;
}

/* Whether `size` bytes would have been put there: as far as a class, or a number of pages, tells. An extent may be some bigger. */
static bool is_alike(struct dry_heap *heap, const struct dry_found *place, size_t size, size_t align)
{
	unsigned class = dry_general_class(heap, size, align);
	size_t pages = dry_round_up(size | (size == 0), (size_t)1 << dry_heap_arena(heap)->page_shift);

	if (place->slab != NULL)
		return class < DRY_CLASS_COUNT && dry_class_size(class) == place->room;
	return place->run == NULL ? dry_general_fits(pages, place->room) : pages == place->room;
}

/* What alloc_bigger() gave for `size` bytes perhaps; not where it is known what was asked for. */
static bool may_be_bigger(const struct dry_found *place, size_t size)
{
	return place->slab != NULL && size <= LAST_MOST && place->room > size && place->room == place->slab->cache->object_size &&
	       atomic_load_explicit(&gave_bigger, memory_order_relaxed);
}

bool dry_general_size_holds(struct dry_heap *heap, void *pointer, size_t size, size_t align)
{
	void *object = dry_tags_strip(pointer);
	struct dry_found place = dry_general_find(heap, object, true);
	bool checked = place.slab != NULL ? is_checked(place.slab->cache) : dry_live_is_on();
	char detail[64];

	if (!dry_secure_is_current(pointer)) /* its free says so */
		return true;
	/* Who watches over a block knows its size. */
	if (place.room == DRY_REPORTED)
		return false;
	if (place.secondary == NULL && !checked && (place.slab == NULL || !knows_sizes(place.slab->cache, place.room)))
		return true;
	if (checked && place.secondary == NULL && is_alike(heap, &place, size, align))
		return true;
	if (place.room == DRY_NOT_LIVE || place.room == size || place.room == (size != 0 ? size : 1))
		return true;
	if (may_be_bigger(&place, size))
		return true;
	dry_format(detail, sizeof(detail), "freed as %zu bytes, it has %zu", size, place.room);
	dry_fatal(DRY_FATAL_WRONG_SIZE, object, place.slab != NULL ? place.slab->cache->name : NULL, detail);
	return false;
}
