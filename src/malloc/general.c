/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/general.h"

#include <string.h>

#include "base/annotate.h"
#include "base/error.h"
#include "base/fatal.h"
#include "base/fmt.h"
#include "core/cache.h"
#include "core/debug_ops.h"
#include "core/fast.h"
#include "debug/guard.h"
#include "debug/secure.h"
#include "malloc/profile.h"

_Static_assert(DRY_CLASS_COUNT == DRY_GENERAL_CACHES, "a heap has room for every class");

#define RUN_MAX     ((size_t)1 << 20) /* bigger blocks are extents */
#define SIZE_LIMIT  ((size_t)PTRDIFF_MAX)
#define NATURAL_MAX 4096u             /* classes are aligned to their lowest bit, up to a page */

size_t dry_class_limit;
uint16_t dry_class_at[DRY_CLASS_MAX / 16 + 1];

/*
 * The way back, for the default heap: the size of a class by the place of the array that its frees push, which is what
 * the page map holds. 0: not the place of a class. Written once per class, before its first page.
 */
static uint16_t size_at[DRY_AREA_MAX / DRY_AREA_UNIT];
_Static_assert(DRY_CLASS_MAX <= UINT16_MAX, "the size of a class fits");

/* The size of a block in a page of a class, without a look at the page. 0: it may be anything else. */
static size_t class_size_of(const struct dry_heap *heap, const void *object)
{
	size_t granule = ((uintptr_t)object - heap->arena.base) >> DRY_GRANULE_SHIFT;

	return heap->is_default && granule < heap->arena.granules ?
		       size_at[heap->arena.map[granule] / (DRY_AREA_UNIT / 8)] :
		       0;
}

static void publish(unsigned class, const struct dry_cache *cache)
{
	size_t from = class == 0 ? 0 : dry_class_size(class - 1) / 16 + 1, to = dry_class_size(class) / 16;

	if (cache->free_at != 0)
		__atomic_store_n(&size_at[cache->free_at / (DRY_AREA_UNIT / 8)], (uint16_t)cache->size, __ATOMIC_RELAXED);
	for (size_t i = from; i <= to; i++)
		__atomic_store_n(&dry_class_at[i], (uint16_t)cache->alloc_at, __ATOMIC_RELEASE);
	/* release: who sees the limit sees the port ready */
	__atomic_store_n(&dry_class_limit, DRY_CLASS_MAX + 1, __ATOMIC_RELEASE);
}

void dry_general_forget(struct dry_heap *heap)
{
	__atomic_store_n(&dry_class_limit, 0, __ATOMIC_RELAXED);
	for (unsigned class = 0; class < DRY_CLASS_COUNT; class ++) {
		struct dry_cache *cache = atomic_load_explicit(&heap->general[class], memory_order_relaxed);
		if (cache != NULL)
			dry_format(cache->name, sizeof(cache->name), "start-%zu", dry_class_size(class));
		atomic_store_explicit(&heap->general[class], NULL, memory_order_relaxed);
	}
	for (size_t i = 0; i <= DRY_CLASS_MAX / 16; i++)
		__atomic_store_n(&dry_class_at[i], 0, __ATOMIC_RELAXED);
}

static DRY_SLOW struct dry_cache *make_cache(struct dry_heap *heap, unsigned class)
{
	size_t size = dry_class_size(class), align = size & -size;
	struct dry_cache *expected = NULL, *cache;
	char name[32];

	dry_format(name, sizeof(name), "kmalloc-%zu", size);
	struct dry_cache_attr attr = { .name = name, .size = size, .flags = DRY_CACHE_NO_MERGE };
	attr.align = align < NATURAL_MAX ? align : NATURAL_MAX;
	cache = dry_cache_create_split(heap, &attr, true);
	if (cache == NULL)
		return NULL;
	/* acq_rel: publishes the cache; who loses the race drops its own, still unused */
	if (!atomic_compare_exchange_strong_explicit(&heap->general[class], &expected, cache, memory_order_acq_rel,
						     memory_order_acquire)) {
		dry_cache_destroy(cache);
		return expected;
	}
	if (heap->is_default)
		publish(class, cache);
	return cache;
}

struct dry_cache *dry_general_cache(struct dry_heap *heap, unsigned class)
{
	/* acquire: pairs with make_cache() */
	struct dry_cache *cache = atomic_load_explicit(&heap->general[class], memory_order_acquire);

	return DRY_LIKELY(cache != NULL) ? cache : make_cache(heap, class);
}

unsigned dry_class_for(size_t size, size_t align)
{
	unsigned class = dry_class_of(size);

	if (align > NATURAL_MAX)
		return DRY_CLASS_COUNT;
	while (class < DRY_CLASS_COUNT && (dry_class_size(class) & (align - 1)) != 0)
		class ++;
	return class;
}

static void *alloc_run(struct dry_heap *heap, size_t size, size_t align, bool zero)
{
	struct dry_arena *arena = &heap->arena;
	size_t page = (size_t)1 << arena->page_shift;
	uint32_t pages = (uint32_t)((size + page - 1) >> arena->page_shift);
	uint32_t align_pages = align > page ? (uint32_t)(align >> arena->page_shift) : 1;
	struct dry_page *run = dry_arena_alloc(arena, pages, align_pages, dry_heap_node(heap));

	if (run == NULL)
		return NULL;
	void *object = dry_arena_address(arena, dry_arena_index_of(arena, run));
	if (zero && (run->flags & DRY_PAGE_DIRTY))
		memset(object, 0, size);
	dry_heap_exchange(heap);
	return object;
}

static void *alloc_extent(struct dry_heap *heap, size_t size, size_t align, bool zero)
{
	bool zeroed = false;
	void *object = dry_extent_alloc(&heap->extents, size, align, dry_heap_node(heap), &zeroed);

	/* The arena may sit on the address space that is missing. */
	if (object == NULL && align <= DRY_CHUNK_SIZE && dry_arena_give_up(&heap->arena, size + align))
		object = dry_extent_alloc(&heap->extents, size, align, dry_heap_node(heap), &zeroed);
	if (object != NULL && zeroed) {
		atomic_fetch_add_explicit(&heap->arena.fresh, size >> heap->arena.page_shift, memory_order_relaxed);
		dry_heap_exchange(heap);
	}
	return object != NULL && zero && !zeroed ? memset(object, 0, size) : object;
}

/* A heap over given memory, or with a limit, has nothing but its arena. */
static bool arena_only(const struct dry_heap *heap)
{
	return !heap->arena.owns_memory || heap->arena.limit_pages != SIZE_MAX;
}

static void *alloc_big(struct dry_heap *heap, size_t size, size_t align, bool zero)
{
	bool only = arena_only(heap);
	size_t room = heap->arena.granules << DRY_GRANULE_SHIFT;
	bool fits = size <= room && align <= room && (only || (size <= DRY_CHUNK_SIZE && align <= DRY_CHUNK_SIZE));
	void *object = NULL;

	if (fits && (size <= RUN_MAX || only))
		object = alloc_run(heap, size, align, zero);
	if (object == NULL && !only)
		object = alloc_extent(heap, size, align, zero);
	if (object == NULL && fits && !only)
		object = alloc_run(heap, size, align, zero);
	return object;
}

/* A general object's run or slab; NULL: not in the arena. */
static struct dry_page *page_of(const struct dry_heap *heap, const void *object)
{
	return dry_arena_contains(&heap->arena, object) ? dry_arena_run_of(&heap->arena, object) : NULL;
}

/* Bytes from its start to the end of its place; 0: not ours. */
static size_t room_of(struct dry_heap *heap, const void *object)
{
	const struct dry_page *page;

	if (object == NULL)
		return 0;
	page = page_of(heap, object);
	if (page == NULL)
		return dry_extent_size(&heap->extents, object);
	if (page->kind != DRY_PAGE_SLAB)
		return (size_t)page->count << heap->arena.page_shift;
	struct dry_cache *cache = page->slab.cache;
	return cache->debug != NULL && cache->debug->usable != NULL ? cache->debug->usable(cache, object) : cache->size;
}

/* Of a live object of a debugged cache `size` bytes were asked for. */
static void debug_size(struct dry_cache *cache, void *object, size_t size)
{
	if (cache->debug->sized != NULL)
		cache->debug->sized(cache, object, size);
}

void *dry_general_alloc_slow(struct dry_cache *cache, size_t size)
{
	void *object = dry_alloc_slow(cache);

	if (DRY_UNLIKELY(cache->annotated) && object != NULL)
		dry_annotate->cut(cache->heap, object, cache->object_size, size);
	if (DRY_UNLIKELY(cache->debug != NULL) && object != NULL)
		debug_size(cache, object, size);
	return object;
}

void *dry_general_alloc(struct dry_heap *heap, size_t size, size_t align, bool zero)
{
	unsigned class = DRY_CLASS_COUNT;

	if (size > SIZE_LIMIT || align > SIZE_LIMIT / 2 + 1)
		return NULL;
	void *watched;
	if (dry_profile_alloc(heap, size, align, &watched))
		return watched != NULL && zero && !dry_secure_zero ? memset(watched, 0, size) : watched;
	if (size == 0)
		size = 1;
	if (size <= DRY_CLASS_MAX)
		class = dry_class_for(size, align);
	if (class < DRY_CLASS_COUNT) {
		struct dry_cache *cache = dry_general_cache(heap, class);
		void *object = cache != NULL ? dry_percpu_pop_packed(DRY_SLOTS(heap), cache->alloc_at) : NULL;
		if (DRY_UNLIKELY(object == NULL) && cache != NULL)
			object = dry_general_alloc_slow(cache, size);
		return object != NULL && zero ? memset(object, 0, size) : object;
	}
	if (DRY_UNLIKELY(dry_alloc_gate != NULL) && heap->is_default && !dry_alloc_gate(NULL))
		return NULL;
	void *object = alloc_big(heap, size, align, zero);
	if (object == NULL && dry_heap_trim(heap) != 0)
		object = alloc_big(heap, size, align, zero);
	if (DRY_UNLIKELY(dry_annotate != NULL) && object != NULL) {
		dry_annotate->given(heap, object, size, zero);
		dry_annotate->closed((char *)object + size, room_of(heap, object) - size);
	}
	return object;
}

static DRY_SLOW void report_foreign(struct dry_heap *heap, void *object)
{
	void *extent = dry_extent_of(&heap->extents, object);

	if (extent != NULL)
		dry_fatal(DRY_FATAL_INTERIOR, object, NULL, "big block");
	else if (dry_extent_was_freed(&heap->extents, object))
		dry_fatal(DRY_FATAL_DOUBLE_FREE, object, NULL, "big block, freed twice");
	else
		dry_fatal(DRY_FATAL_INVALID_POINTER, object, NULL, "never given out");
}

static void free_in_arena(struct dry_heap *heap, void *object)
{
	struct dry_arena *arena = &heap->arena;
	struct dry_page *run = dry_arena_run_of(arena, object);

	if (run == NULL && dry_extent_free(&heap->extents, object))
		return; /* where the arena gave up address space */
	if (run == NULL)
		dry_fatal(DRY_FATAL_INVALID_POINTER, object, NULL, "in a free page: never given out, or freed twice");
	else if (run->kind == DRY_PAGE_SLAB)
		dry_free_slow(run->slab.cache, object);
	else if (dry_arena_address(arena, dry_arena_index_of(arena, run)) != object)
		dry_fatal(DRY_FATAL_INTERIOR, object, NULL, "page run");
	else
		dry_arena_free(arena, run);
}

/* A big block is about to go; what a slab has, its cache tells of. */
static DRY_SLOW void annotate_free(struct dry_heap *heap, void *object)
{
	const struct dry_page *page = page_of(heap, object);
	size_t size = dry_extent_size(&heap->extents, object);

	if (page != NULL && page->kind == DRY_PAGE_RUN &&
	    dry_arena_address(&heap->arena, dry_arena_index_of(&heap->arena, page)) == object)
		size = (size_t)page->count << heap->arena.page_shift;
	else if (page != NULL)
		return;
	if (size == 0)
		return;
	dry_annotate->taken(heap, object, size);
	if (page == NULL) /* it may be unmapped, and others' memory come in its place */
		dry_annotate->opened(object, size);
}

void dry_general_free(struct dry_heap *heap, void *object)
{
	if (object == NULL)
		return;
	if (DRY_UNLIKELY(dry_annotate != NULL))
		annotate_free(heap, object);
	if (dry_arena_contains(&heap->arena, object))
		free_in_arena(heap, object);
	else if (heap->is_default && dry_guard_contains(object))
		dry_guard_free(object);
	else if (!dry_extent_free(&heap->extents, object))
		report_foreign(heap, object);
}

size_t dry_general_usable(struct dry_heap *heap, const void *object)
{
	size_t watched, room = class_size_of(heap, object);

	if (DRY_LIKELY(room != 0))
		return room;
	if (object != NULL && dry_profile_size(heap, (void *)(uintptr_t)object, &watched))
		return watched != SIZE_MAX ? watched : 0;
	room = room_of(heap, object);
	if (DRY_UNLIKELY(room == 0) && object != NULL && page_of(heap, object) == NULL)
		dry_fatal(DRY_FATAL_INVALID_POINTER, object, NULL, "its size was asked for, and it is no block");
	return DRY_UNLIKELY(dry_annotate != NULL) && room != 0 ? dry_annotate->size(object, room) : room;
}

bool dry_general_size_holds(struct dry_heap *heap, void *object, size_t size)
{
	struct dry_page *page = page_of(heap, object);
	char detail[64];

	/* With red zones the usable size is what was asked for. 0: no live object, which the free reports. */
	if (page == NULL || page->kind != DRY_PAGE_SLAB || (page->slab.cache->flags & DRY_CACHE_RED_ZONE) == 0)
		return true;
	size_t asked = page->slab.cache->debug->usable(page->slab.cache, object);
	if (asked == 0 || asked == (size != 0 ? size : 1))
		return true;
	dry_format(detail, sizeof(detail), "freed as %zu bytes, it has %zu", size, asked);
	dry_fatal(DRY_FATAL_WRONG_SIZE, object, page->slab.cache->name, detail);
	return false;
}

/* Change the size where it stands, or by moving pages; NULL: has to be copied. */
static void *resize_big(struct dry_heap *heap, void *object, size_t size, size_t old)
{
	struct dry_page *run = page_of(heap, object);

	if (size <= DRY_CLASS_MAX)
		return NULL;
	if (run == NULL)
		return size > RUN_MAX ? dry_extent_resize(&heap->extents, object, size, true) : NULL;
	if (run->kind != DRY_PAGE_RUN || (size > RUN_MAX && !arena_only(heap)) || size > heap->arena.granules << DRY_GRANULE_SHIFT)
		return NULL;
	size_t page = (size_t)1 << heap->arena.page_shift;
	uint32_t pages = (uint32_t)((size + page - 1) >> heap->arena.page_shift);
	if (size > old)
		return dry_arena_extend_run(&heap->arena, run, pages) ? object : NULL;
	dry_arena_trim_run(&heap->arena, run, pages);
	return object;
}

/* It stays where it is; a debugged cache is to know its size. */
static void *resized(struct dry_heap *heap, void *object, size_t size)
{
	struct dry_page *page = page_of(heap, object);

	if (page != NULL && page->kind == DRY_PAGE_SLAB && page->slab.cache->debug != NULL)
		debug_size(page->slab.cache, object, size);
	return object;
}

void *dry_general_realloc(struct dry_heap *heap, void *object, size_t size)
{
	size_t old = class_size_of(heap, object);
	bool watched = old == 0 && dry_profile_size(heap, object, &old);
	void *copy;

	if (!watched && old == 0)
		old = room_of(heap, object);
	if (watched && old == SIZE_MAX)
		return NULL; /* reported */
	if (!watched && old == 0) {
		dry_general_free(heap, object); /* says what is wrong with it */
		return NULL;
	}
	if (size > SIZE_LIMIT)
		return NULL;
	if (watched) {
		if (dry_profile_resize(heap, object, size))
			return object;
	} else if (DRY_UNLIKELY(dry_annotate != NULL)) {
		/* It always moves, so that pointers to the old place are found out. */
		old = dry_annotate->size(object, old);
	} else {
		/* Not worth a copy: it fits, and at most half would be wasted. */
		if (size <= old && (size >= old / 2 || old <= 64))
			return resized(heap, object, size);
		copy = resize_big(heap, object, size, old);
		if (copy != NULL)
			return copy;
	}
	copy = dry_general_alloc(heap, size, 16, false);
	if (copy == NULL)
		return NULL;
	memcpy(copy, object, size < old ? size : old);
	dry_general_free(heap, object);
	return copy;
}

/* ---- public ------------------------------------------------------------------------ */

static void *checked(void *object)
{
	if (DRY_UNLIKELY(object == NULL))
		dry_port_set_errno(DRY_ENOMEM);
	return object;
}

/* As the public header promises it; what the classes give by themselves, watched blocks do not. */
static size_t natural_align(size_t size)
{
	return dry_is_pow2(size) && size <= NATURAL_MAX ? size : 1;
}

DRY_EXPORT void *dry_alloc(dry_heap *heap, size_t size)
{
	heap = dry_heap_get(heap);
	return heap != NULL ? checked(dry_general_alloc(heap, size, natural_align(size), false)) : NULL;
}

DRY_EXPORT void *dry_zalloc(dry_heap *heap, size_t size)
{
	heap = dry_heap_get(heap);
	return heap != NULL ? checked(dry_general_alloc(heap, size, natural_align(size), true)) : NULL;
}

DRY_EXPORT void *dry_alloc_aligned(dry_heap *heap, size_t align, size_t size)
{
	if (!dry_is_pow2(align)) {
		dry_port_set_errno(DRY_EINVAL);
		return NULL;
	}
	heap = dry_heap_get(heap);
	return heap != NULL ? checked(dry_general_alloc(heap, size, align, false)) : NULL;
}

DRY_EXPORT void *dry_realloc(dry_heap *heap, void *object, size_t size)
{
	if (object == NULL)
		return dry_alloc(heap, size);
	heap = dry_heap_get(heap);
	return heap != NULL ? checked(dry_general_realloc(heap, object, size)) : NULL;
}

DRY_EXPORT void dry_free(dry_heap *heap, void *object)
{
	int saved = dry_port_get_errno();

	heap = dry_heap_get(heap);
	if (heap != NULL)
		dry_general_free(heap, object);
	dry_port_set_errno(saved);
}

DRY_EXPORT size_t dry_usable_size(dry_heap *heap, const void *object)
{
	heap = dry_heap_get(heap);
	return heap != NULL ? dry_general_usable(heap, object) : 0;
}
