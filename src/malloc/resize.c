/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* realloc of blocks of any heap: where they stand, by moving their pages, or by a copy. */
#include <string.h>

#include "base/annotate.h"
#include "base/fatal.h"
#include "debug/tags.h"
#include "malloc/found.h"
#include "malloc/general.h"

static void *resize_extent(struct dry_heap *heap, void *object, size_t size)
{
	size_t room = dry_general_clears(heap) ? dry_extent_size(&heap->extents, object) : 0, dirty;
	void *same = dry_extent_resize(&heap->extents, object, size, &dirty);

	if (DRY_UNLIKELY(room != 0) && same != NULL)
		dry_extent_clear(&heap->extents, (char *)same + room, dirty);
	dry_heap_balance(heap);
	return same;
}

/* false: it has to be copied, or another thread has freed it meanwhile, which was reported. */
static bool resize_run(struct dry_arena *arena, struct dry_found *place, void *object, uint32_t pages)
{
	bool stays = true;

	/* Until it is a run again a free is told that it is one too many. */
	if (!dry_page_claim(place->run)) {
		dry_fatal(DRY_FATAL_USE_AFTER_FREE, object, NULL, "page run, freed by another thread inside of realloc()");
		place->room = DRY_REPORTED;
		return false;
	}
	if (pages > dry_page_count(place->run))
		stays = dry_arena_extend_run(arena, place->run, pages);
	else
		dry_arena_trim_run(arena, place->run, pages);
	dry_page_unclaim(place->run);
	return stays;
}

/* Change the size where it stands, or by moving pages; NULL: has to be copied, or was reported. */
static void *resize_big(struct dry_heap *heap, struct dry_found *place, void *object, size_t size)
{
	struct dry_arena *arena = dry_heap_arena(heap);
	size_t page = (size_t)1 << arena->page_shift;

	if (size <= DRY_CLASS_MAX)
		return NULL;
	if (place->run == NULL)
		return size > DRY_RUN_USUAL ? resize_extent(heap, object, size) : NULL;
	if (place->slab != NULL || (size > DRY_RUN_MAX && !dry_general_arena_only(heap)) ||
	    size > dry_backing_bytes(&heap->caches.backing))
		return NULL;
	uint32_t pages = (uint32_t)((size + page - 1) >> arena->page_shift);
	if (!resize_run(arena, place, object, pages))
		return NULL;
	if (DRY_UNLIKELY(dry_general_clears(heap)))
		dry_general_clear_from(heap, object, place->room);
	return object;
}

/* In a block of a class; check:1 knows a block's size by its class. */
static bool stays(size_t size, size_t class)
{
	return DRY_UNLIKELY(dry_live_is_on()) ? size <= class && dry_class_size(dry_class_of(size)) == class :
						dry_general_fits(size, class);
}

/* Without a copy; NULL: it takes one, or was reported. */
static void *resize(struct dry_heap *heap, struct dry_found *place, void *object, size_t size)
{
	size_t tail = heap->caches.hooks->tail;

	if (DRY_UNLIKELY(dry_live_is_on()) && place->run != NULL && place->slab == NULL) /* check:1 knows its size by its pages */
		return resize_big(heap, place, object, size);
	/* Not by half and half again: a secure object's shadow has room for a slack of half its slot. */
	if (!dry_general_fits(size, place->room) ||
	    (place->slab != NULL && !dry_general_fits(size - 1, place->slab->cache->object_size + tail)))
		return resize_big(heap, place, object, size);
	if (place->slab == NULL || place->slab->cache->debug == NULL)
		return object;
	return dry_general_debug_size(place->slab->cache, object, size) ?
		       dry_general_to_program(place->slab->cache, object, size) :
		       NULL;
}

static void *copy_to(struct dry_heap *heap, void *object, size_t room, void *copy, size_t size)
{
	if (copy == NULL)
		return NULL;
	dry_tags_look(false); /* the object is an address here */
	memcpy(copy, object, size < room ? size : room);
	dry_tags_look(true);
	dry_general_free_at(heap, object);
	return copy;
}

/*
 * A block of no class, or one that is watched. DONE: `result` is what realloc returns; else it takes a copy of `room` bytes.
 * big: the secondary allocator was asked; and if there is no memory for a copy, the block may be resized yet. watched: it is known
 * of it what was asked for.
 */
#define DONE SIZE_MAX
struct way {
	size_t room;
	union {
		void *result;
		struct {
			bool big, watched;
		};
	};
};

static DRY_NOINLINE struct way find_way(struct dry_heap *heap, void *object, size_t size)
{
	struct dry_found place = dry_general_find(heap, object, false);
	void *copy;

	if (place.room == DRY_NOT_LIVE)
		dry_general_free_at(heap, object); /* says what is wrong with it */
	if (place.room == DRY_NOT_LIVE || place.room == DRY_REPORTED || size > DRY_SIZE_LIMIT)
		return (struct way){ .room = DONE };
	if (DRY_UNLIKELY(dry_annotate != NULL)) /* It always moves, so that pointers to the old place are found out. */
		return (struct way){ .room = dry_annotate->size(object, place.room), .watched = true };
	if (place.secondary != NULL && place.room != 0 && place.secondary->resize(object, size))
		return (struct way){ .room = DONE, .result = object };
	if (place.secondary != NULL)
		return (struct way){ .room = place.room, .watched = true };
	/* A big block that would stay is as good as a new one for who takes samples. */
	copy = place.slab == NULL ? dry_general_ask_secondary(heap, size, 16, false) : NULL;
	if (copy != NULL)
		return (struct way){ .room = DONE, .result = copy_to(heap, object, place.room, copy, size) };
	copy = resize(heap, &place, object, size);
	if (copy != NULL || place.room == DRY_REPORTED)
		return (struct way){ .room = DONE, .result = copy };
	return (struct way){ .room = place.room, .big = place.slab == NULL,
			     .watched = place.slab != NULL && place.slab->cache->debug != NULL };
}

/* Not part of its caller, whose frame is bigger (docs/design/stack.md). */
static DRY_NOINLINE void *move(struct dry_heap *heap, void *object, size_t room, size_t size, bool big)
{
	/* secure:1 clears what it gives in the latter only */
	void *copy = big && !dry_general_clears(heap) ? dry_general_alloc_own(heap, size, 16, false) :
							dry_general_alloc(heap, size, 16, false);

	return copy_to(heap, object, room, copy, size);
}

/* Two of them were too much for a limit; meanwhile what was free has been given back. */
static DRY_NOINLINE void *resize_again(struct dry_heap *heap, void *object, size_t size)
{
	struct dry_found place = dry_general_find(heap, object, false);

	return resize(heap, &place, object, size);
}

/* There is no memory for a copy of its first bytes: as with libc it stays as it is, but where it shall fail, or sizes are known. */
static bool stays_bigger(const struct dry_heap *heap, const struct way *way, size_t size)
{
	const struct dry_debug_hooks *hooks = heap->caches.hooks;

	return size <= way->room && !way->watched && hooks->tail == 0 && hooks->allows == NULL && !dry_live_is_on();
}

void *dry_general_realloc(struct dry_heap *heap, void *pointer, size_t size)
{
	void *object = dry_tags_strip(pointer);
	struct way way = { .room = dry_general_class_size(heap, object) };

	if (!dry_secure_admits(pointer))
		return NULL;
	if (way.room == 0 || DRY_UNLIKELY(dry_annotate != NULL)) {
		way = find_way(heap, object, size);
		if (way.room == DONE)
			return way.result;
	} else if (stays(size, way.room)) {
		return object;
	}
	if (size > DRY_SIZE_LIMIT)
		return NULL;
	void *copy = move(heap, object, way.room, size, way.big);
	if (copy == NULL && way.big)
		copy = resize_again(heap, object, size);
	return copy == NULL && stays_bigger(heap, &way, size) ? object : copy;
}
