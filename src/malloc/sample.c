/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/sample.h"

#include <string.h>

#include "base/fatal.h"
#include "core/alloc.h"
#include "debug/hooks.h"
#include "malloc/general.h"
#include "port/probe.h"
#include "port/stack.h"
#include "stats/leaks.h"
#include "stats/sites.h"

#define MEAN_MAX ((size_t)1 << 32)

static bool whole; /* all are noted; written at start */

/* ---- on and off ----------------------------------------------------------------------------- */

static bool make_heap(void)
{
	struct dry_heap_attr attr = { .name = "profile" };
	struct dry_heap *none = NULL, *made = dry_heap_create(&attr);

	if (made == NULL)
		return false;
	made->caches.hooks = &dry_hooks_sparing; /* a refill is a long way down (docs/design/stack.md) */
	if (!atomic_compare_exchange_strong_explicit(&dry_main_heap.apart, &none, made, memory_order_acq_rel, memory_order_acquire))
		dry_heap_destroy(made);
	return true;
}

bool dry_sample_set(size_t mean)
{
	uint64_t first = 0;

	if (mean == 0) {
		__atomic_store_n(&dry_profile.on, 0, __ATOMIC_RELEASE);
		return true;
	}
	(void)dry_port_restricted(); /* who asks at the end first gets no file */
	if (!dry_sites_init() || (dry_heap_apart(&dry_main_heap) == NULL && !make_heap()))
		return false;
	/* Samples of two means cannot be told apart: the first one stays. */
	if (mean > MEAN_MAX)
		mean = MEAN_MAX;
	__atomic_compare_exchange_n(&dry_profile.mean, &first, mean, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	/* release: who sees that it is on finds what was made */
	__atomic_store_n(&dry_profile.on, 1, __ATOMIC_RELEASE);
	return true;
}

bool dry_sample_all(void)
{
	whole = dry_sample_set(1);
	return whole;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/*
 * Bytes that a sampled block of `size` stands for: size / (1 - exp(-size / mean)), by the first terms of its series, and above two
 * means by its limit; 3 % off at most.
 */
static uint64_t weight(uint64_t mean, uint64_t size)
{
	if (size < 2 * mean)
		return mean + size / 2 + size / 12 * size / mean;
	return size + (size < 40 * mean ? size >> (3 * size / (2 * mean)) : 0);
}

/* Too much for a small stack. Who finds it in use has one from the heap. */
static struct {
	atomic_flag busy;
	uintptr_t frame[DRY_SITE_FRAMES];
} common = { .busy = ATOMIC_FLAG_INIT };

/* Asked for before there is more of ours on the stack: to new memory it is a long way. NULL: none. */
static uintptr_t *get_frames(struct dry_heap *heap)
{
	/* acquire, release: guards the frames */
	if (!atomic_flag_test_and_set_explicit(&common.busy, memory_order_acquire))
		return common.frame;
	return dry_general_alloc(heap, sizeof(common.frame), sizeof(common.frame[0]), false);
}

static void put_frames(struct dry_heap *heap, uintptr_t *frame)
{
	if (frame == common.frame)
		atomic_flag_clear_explicit(&common.busy, memory_order_release);
	else
		dry_general_free(heap, frame);
}

void dry_sample_forked(void)
{
	atomic_flag_clear_explicit(&common.busy, memory_order_relaxed);
}

/* The block, with its stack; or NULL, and it is free. The frames are done with. */
DRY_FAST void *noted(struct dry_heap *heap, void *block, const struct dry_site_block *as, uintptr_t *frame)
{
	unsigned frames = dry_port_stack(frame, whole ? DRY_WHOLE_FRAMES : DRY_SITE_FRAMES);
	bool added = dry_sites_add(block, as, frame, frames);

	put_frames(heap, frame);
	if (added) {
		DRY_PROBE_3(otel_memory, alloc, (uintptr_t)block, as->size, weight((size_t)dry_profile.mean, as->served));
		return block;
	}
	dry_general_free(heap, block);
	return NULL;
}

/* Here and below a function by itself, which is called last: a frame less to follow. */
static DRY_NOINLINE void *noted_block(struct dry_heap *heap, void *block, size_t size, uintptr_t *frame)
{
	struct dry_site_block as = { .size = size, .served = dry_general_usable(heap, block) };
	as.class = whole ? 0 : dry_class_size(dry_class_of(as.served)); /* of lost blocks a stack is one site */
	as.big = as.served > DRY_CLASS_MAX && !whole;
	return noted(heap, block, &as, frame);
}

/* A block with room for its stack; NULL: neither. */
DRY_FAST void *alloc_both(struct dry_heap *heap, size_t size, size_t align, bool zero, uintptr_t **frame)
{
	void *block;

	*frame = get_frames(heap);
	block = *frame != NULL ? dry_general_alloc(heap, size, align, zero) : NULL;
	if (block == NULL && *frame != NULL)
		put_frames(heap, *frame);
	return block;
}

/* A frame less on a way that is long (docs/design/stack.md). */
DRY_FAST void *take(size_t size, size_t align, bool zero)
{
	struct dry_heap *heap = dry_heap_apart(&dry_main_heap);
	uintptr_t *frame;
	void *block = alloc_both(heap, size, align, zero, &frame);

	return block != NULL ? noted_block(heap, block, size, frame) : NULL;
}

static DRY_NOINLINE void *noted_object(struct dry_heap *heap, void *block, struct dry_cache *cache, void *object, uintptr_t *frame)
{
	struct dry_site_block as = { .size = cache->object_size, .served = cache->root->size, .class = cache->object_size,
				     .name = cache->name, .instead = object };

	return noted(heap, block, &as, frame);
}

void *dry_sample_instead(struct dry_cache *cache, void *object)
{
	struct dry_heap *heap = dry_heap_apart(&dry_main_heap);
	uintptr_t *frame;
	void *block = alloc_both(heap, cache->object_size, cache->root->align, false, &frame);

	return block != NULL ? noted_object(heap, block, cache, object, frame) : NULL;
}

void *dry_sample_allocate(size_t size, size_t align, bool zero, bool turn)
{
	/* acquire: pairs with dry_sample_set() */
	bool on = __atomic_load_n(&dry_profile.on, __ATOMIC_ACQUIRE);

	return on && (whole || turn) ? take(size, align, zero) : NULL;
}

bool dry_sample_contains(const void *ptr)
{
	struct dry_heap *heap = dry_heap_apart(&dry_main_heap);

	return heap != NULL &&
	       (dry_arena_contains(dry_heap_arena(heap), ptr) || dry_extent_size(&heap->extents, ptr) != 0);
}

void dry_sample_free(void *block, const struct dry_cache *of)
{
	struct dry_site_block as;
	struct dry_cache *cache;

	if (of != NULL && dry_sites_find(block, &as) && dry_heap_cache_instead(as.instead) != of->root) {
		cache = dry_heap_cache_instead(as.instead);
		dry_fatal(DRY_FATAL_WRONG_CACHE, block, of->name, cache != NULL ? cache->name : "of no cache");
		return;
	}
	/* Of two frees at once only one ends it. */
	if (!dry_sites_remove(block, &as)) {
		dry_fatal(DRY_FATAL_INVALID_POINTER, block, NULL, "among sampled blocks: freed twice, or no start of one");
		return;
	}
	cache = dry_heap_cache_instead(as.instead);
	DRY_PROBE_1(otel_memory, free, (uintptr_t)block);
	if (cache != NULL && cache->dtor != NULL)
		cache->dtor(block, cache->arg);
	dry_general_free(dry_heap_apart(&dry_main_heap), block);
	if (cache != NULL)
		dry_free_slow(cache, as.instead);
}

size_t dry_sample_size(void *block)
{
	struct dry_site_block as;

	return dry_sites_find(block, &as) ? as.size : DRY_NOT_LIVE;
}

/* ---- out ------------------------------------------------------------------------------------------ */

#define PRIVATE 0600 /* it says where code lies */

static void write_all(dry_port_writer *write, void *arg)
{
	dry_sites_write(write, arg, __atomic_load_n(&dry_profile.mean, __ATOMIC_RELAXED));
}

bool dry_sample_write(const char *path)
{
	return dry_sites_init() && dry_port_save(path, PRIVATE, write_all);
}

static void keep_apart(const struct dry_arena *arena)
{
	dry_leaks_apart(arena->base, arena->base + ((uintptr_t)arena->reserved << arena->page_shift));
}

bool dry_sample_write_lost(const char *path)
{
	struct dry_heap *heap = dry_heap_apart(&dry_main_heap);

	if (heap == NULL)
		return false;
	dry_extent_decay(&heap->extents, 0); /* those that are free would be roots */
	keep_apart(dry_heap_arena(heap));
	keep_apart(&heap->caches.backing.meta.own);
	dry_leaks_apart((uintptr_t)heap->extents.table, (uintptr_t)(heap->extents.table + heap->extents.buckets));
	/* What says where an arena begins is no pointer to the first object there. */
	dry_lock_acquire(&dry_heaps_lock);
	for (const struct dry_heap *each = dry_heaps; each != NULL; each = each->next)
		dry_leaks_apart((uintptr_t)&each->caches.backing.arena.base, (uintptr_t)(&each->caches.backing.arena.base + 1));
	dry_lock_release(&dry_heaps_lock);
	return dry_leaks_find() && dry_port_save(path, PRIVATE, dry_leaks_write);
}
