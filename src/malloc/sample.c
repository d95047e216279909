/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/sample.h"

#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/fatal.h"
#include "core/alloc.h"
#include "core/batch.h"
#include "debug/chance.h"
#include "debug/secure.h"
#include "malloc/general.h"
#include "port/probe.h"
#include "port/stack.h"
#include "stats/leaks.h"
#include "stats/sites.h"

#define MEAN_MAX ((size_t)1 << 32)
#define TRIM     32u /* objects of an array that are too many, at a time */

#define SET      ((int64_t)1 << 48) /* in a count that was drawn: 0 is one that was not */

typedef _Atomic int64_t count;

static struct dry_heap *_Atomic home;
static count *counts;                         /* [slots][DRY_CLASS_COUNT]: left + SET; the pointer is immutable once set */
static count big_left;                        /* bytes */
static _Atomic int64_t seen[DRY_CLASS_COUNT];      /* objects that went into the class's arrays and were charged to a slot */
static bool whole;                                 /* all are noted; written at start */

/* Bytes to the next sample, a whole number of `unit`. */
static int64_t draw(size_t mean, size_t unit)
{
	return (int64_t)((dry_chance_exponential() * (mean >> 4) >> 12) / unit);
}

static int64_t objects_in(const struct dry_cache *cache)
{
	return (int64_t)atomic_load_explicit(&cache->node[0].brought, memory_order_relaxed);
}

/* ---- on and off ----------------------------------------------------------------------------- */

static bool make_counts(void)
{
	size_t bytes = dry_round_up(dry_port_slots() * DRY_CLASS_COUNT * sizeof(count), dry_port_page_size());
	count *made = dry_port_reserve(bytes, dry_port_page_size(), false), *none = NULL;

	if (made == NULL || dry_port_commit(made, bytes) != 0)
		return false; /* address space of a few pages, once */
	/* acq_rel: who sees the counts sees zeros; somebody else's may be there by now */
	if (!__atomic_compare_exchange_n(&counts, &none, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		dry_port_release(made, bytes);
	return true;
}

static bool make_heap(void)
{
	struct dry_heap_attr attr = { .name = "profile" };
	struct dry_heap *none = NULL, *made = dry_heap_create(&attr);

	if (made == NULL)
		return false;
	if (!atomic_compare_exchange_strong_explicit(&home, &none, made, memory_order_acq_rel, memory_order_acquire))
		dry_heap_destroy(made);
	return true;
}

/* Gaps are drawn anew, and what arrays hold by now is nobody's debt. Counts that were never used are 0, without memory. */
static void restart(size_t mean, bool again)
{
	size_t most = again ? (size_t)dry_port_slots() * DRY_CLASS_COUNT : 0;

	for (size_t i = 0; i < most; i++)
		if (atomic_load_explicit(&counts[i], memory_order_relaxed) != 0)
			atomic_store_explicit(&counts[i], 0, memory_order_relaxed);
	for (unsigned class = 0; class < DRY_CLASS_COUNT; class ++) {
		struct dry_cache *cache = atomic_load_explicit(&dry_main_heap.general[class], memory_order_acquire);
		atomic_store_explicit(&seen[class], cache != NULL ? objects_in(cache) : 0, memory_order_relaxed);
	}
	atomic_store_explicit(&big_left, draw(mean, 1) + 1, memory_order_relaxed);
}

bool dry_sample_set(size_t mean)
{
	uint64_t first = 0;

	if (mean == 0) {
		__atomic_store_n(&dry_profile.on, 0, __ATOMIC_RELEASE);
		return true;
	}
	dry_secure_seed();
	(void)dry_port_restricted(); /* who asks at the end first gets no file */
	if ((__atomic_load_n(&counts, __ATOMIC_ACQUIRE) == NULL && !make_counts()) || !dry_sites_init() ||
	    (atomic_load_explicit(&home, memory_order_acquire) == NULL && !make_heap()))
		return false;
	/* Samples of two means cannot be told apart: the first one stays. */
	if (mean > MEAN_MAX)
		mean = MEAN_MAX;
	bool again = !__atomic_compare_exchange_n(&dry_profile.mean, &first, mean, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	if (again)
		mean = (size_t)first;
	if (!__atomic_load_n(&dry_profile.on, __ATOMIC_RELAXED))
		restart(mean, again);
	/* release: who sees that it is on finds what was made */
	__atomic_store_n(&dry_profile.on, 1, __ATOMIC_RELEASE);
	return true;
}

bool dry_sample_all(void)
{
	whole = dry_sample_set(1);
	return whole;
}

/* ---- which ---------------------------------------------------------------------------------- */

static struct dry_array *alloc_array(const struct dry_cache *cache)
{
	const struct dry_caches *caches = cache->caches;
	uint32_t slot = dry_percpu_slot();

	/* acquire: pairs with the making of the area */
	char *area = slot < caches->slot_count ? __atomic_load_n(&caches->slots[slot], __ATOMIC_ACQUIRE) : dry_stopped_area;

	return dry_area_array(area, dry_alloc_place(cache));
}

/* The array has more than may come before the sample: the rest is freed again, and was never allocated. */
static void trim(struct dry_cache *cache, unsigned excess)
{
	void *object[TRIM];

	while (excess > 0) {
		unsigned n = (unsigned)dry_percpu_pop_batch(DRY_SLOTS(cache->caches), dry_alloc_place(cache), object,
							    excess < TRIM ? excess : TRIM);
		if (n == 0)
			return;
		atomic_fetch_sub_explicit(&cache->node[0].brought, n, memory_order_relaxed);
		/* Not to the slabs: what goes round between the two arrays would be less for good, and misses more. */
		unsigned kept = (unsigned)dry_percpu_push_batch(DRY_SLOTS(cache->caches), cache->free_place, object, n);
		if (kept < n)
			dry_node_flush(cache, dry_caches_home(cache->caches), object + kept, n - kept);
		excess -= n;
	}
}

/* From the class's cache, whose array is empty; then it has no more than `left`. */
static void *fill(struct dry_cache *cache, unsigned class, size_t size, count *left)
{
	int64_t before = objects_in(cache), rest = atomic_fetch_sub_explicit(left, 1, memory_order_relaxed) - 1 - SET;
	void *object = dry_general_alloc_slow(cache, size);
	unsigned avail = dry_array_avail(alloc_array(cache));

	if (rest < 0) /* another thread took from the count meanwhile */
		rest = 0;
	if ((int64_t)avail > rest) {
		trim(cache, avail - (unsigned)rest);
		avail = (unsigned)rest;
	}
	atomic_fetch_sub_explicit(left, avail, memory_order_relaxed);
	atomic_fetch_add_explicit(&seen[class], objects_in(cache) - before, memory_order_relaxed);
	return object;
}

/* Objects that were put into arrays, and that nobody was charged with. */
static int64_t owed(const struct dry_cache *cache, unsigned class)
{
	int64_t now = objects_in(cache), before = atomic_load_explicit(&seen[class], memory_order_relaxed);

	if (now <= before || !atomic_compare_exchange_strong_explicit(&seen[class], &before, now, memory_order_relaxed,
								     memory_order_relaxed))
		return 0;
	return now - before;
}

/*
 * How many are due where `rest` <= 0 may come before the next one; draws what is left then. More than one where frees filled the
 * array up.
 */
static uint32_t due(count *left, int64_t rest, size_t mean, size_t unit)
{
	int64_t more = draw(mean, unit);
	uint32_t samples = 1;

	for (; rest + more < 0; samples++)
		more += 1 + draw(mean, unit);
	atomic_fetch_add_explicit(left, more, memory_order_relaxed);
	return samples;
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

/* A block that stands for `samples`. */
static void *take(size_t size, size_t align, bool zero, uint32_t samples)
{
	struct dry_heap *heap = atomic_load_explicit(&home, memory_order_acquire);
	void *block = dry_general_alloc(heap, size, align, zero);
	uintptr_t frame[DRY_SITE_FRAMES];

	if (block == NULL)
		return NULL;
	struct dry_site_block as = { .size = size, .served = dry_general_usable(heap, block), .samples = samples };
	as.class = whole ? 0 : dry_class_size(dry_class_of(as.served)); /* of lost blocks a stack is one site */
	as.big = as.served > DRY_CLASS_MAX && !whole;
	unsigned frames = dry_port_stack(frame, whole ? DRY_WHOLE_FRAMES : DRY_SITE_FRAMES);
	if (dry_sites_add(block, &as, frame, frames)) {
		DRY_PROBE_3(otel_memory, alloc, (uintptr_t)block, size, samples * weight((size_t)dry_profile.mean, as.served));
		return block;
	}
	dry_general_free(heap, block);
	return NULL;
}

static bool take_big(size_t mean, size_t size, size_t align, bool zero, void **block)
{
	if (atomic_fetch_sub_explicit(&big_left, (int64_t)size, memory_order_relaxed) > (int64_t)size)
		return false;
	/* Not added: what is left does not depend on what was before. */
	atomic_store_explicit(&big_left, draw(mean, 1) + 1, memory_order_relaxed);
	*block = take(size, align, zero, 1);
	return *block != NULL;
}

bool dry_sample_allocate(struct dry_heap *heap, size_t size, size_t align, bool zero, void **block)
{
	unsigned class = dry_general_class(heap, size, align);

	/* acquire: pairs with dry_sample_set() */
	if (!__atomic_load_n(&dry_profile.on, __ATOMIC_ACQUIRE) || !heap->is_default)
		return false;
	if (whole) {
		*block = take(size, align, zero, 1);
		return *block != NULL;
	}
	size_t mean = (size_t)dry_profile.mean;
	if (class == DRY_CLASS_COUNT)
		return take_big(mean, size, align, zero, block);
	struct dry_cache *cache = dry_general_cache(heap, class);
	uint32_t slot = dry_percpu_slot();
	if (cache == NULL || !dry_is_split(cache) || dry_array_avail(alloc_array(cache)) != 0)
		return false; /* what is in the array has been charged */
	count *left = &counts[(slot < dry_port_slots() ? slot : 0) * DRY_CLASS_COUNT + class];
	if (atomic_load_explicit(left, memory_order_relaxed) == 0)
		atomic_store_explicit(left, SET + draw(mean, cache->size), memory_order_relaxed);
	int64_t owe = owed(cache, class), rest = atomic_fetch_sub_explicit(left, owe, memory_order_relaxed) - owe - SET;
	if (rest <= 0) {
		*block = take(size, align, zero, due(left, rest, mean, cache->size));
		return *block != NULL;
	}
	*block = fill(cache, class, size + (size == 0), left);
	if (*block != NULL && zero)
		memset(*block, 0, size);
	return true;
}

bool dry_sample_contains(const void *ptr)
{
	struct dry_heap *heap = atomic_load_explicit(&home, memory_order_acquire);

	return heap != NULL &&
	       (dry_arena_contains(dry_heap_arena(heap), ptr) || dry_extent_size(&heap->extents, ptr) != 0);
}

void dry_sample_free(void *block)
{
	if (dry_sites_remove(block)) {
		DRY_PROBE_1(otel_memory, free, (uintptr_t)block);
		dry_general_free(atomic_load_explicit(&home, memory_order_relaxed), block);
	} else {
		dry_fatal(DRY_FATAL_INVALID_POINTER, block, NULL, "among sampled blocks: freed twice, or no start of one");
	}
}

size_t dry_sample_size(void *block)
{
	size_t size = dry_sites_size(block);

	return size != SIZE_MAX ? size : DRY_NOT_LIVE;
}

/* ---- out ------------------------------------------------------------------------------------------ */

static void write_all(dry_port_writer *write, void *arg)
{
	dry_sites_write(write, arg, __atomic_load_n(&dry_profile.mean, __ATOMIC_RELAXED));
}

bool dry_sample_write(const char *path)
{
	return dry_sites_init() && dry_port_save(path, write_all);
}

static void keep_apart(const struct dry_arena *arena)
{
	dry_leaks_apart(arena->base, arena->base + ((uintptr_t)arena->reserved << arena->page_shift));
}

bool dry_sample_write_lost(const char *path)
{
	struct dry_heap *heap = atomic_load_explicit(&home, memory_order_acquire);
	size_t left;

	if (heap == NULL)
		return false;
	dry_extent_decay(&heap->extents, 0, &left); /* those that are free would be roots */
	keep_apart(dry_heap_arena(heap));
	keep_apart(&heap->caches.backing.meta.own);
	dry_leaks_apart((uintptr_t)heap->extents.table, (uintptr_t)(heap->extents.table + heap->extents.buckets));
	/* What says where an arena begins is no pointer to the first object there. */
	dry_lock_acquire(&dry_heaps_lock);
	for (const struct dry_heap *each = dry_heaps; each != NULL; each = each->next)
		dry_leaks_apart((uintptr_t)&each->caches.backing.arena.base, (uintptr_t)(&each->caches.backing.arena.base + 1));
	dry_lock_release(&dry_heaps_lock);
	return dry_leaks_find() && dry_port_save(path, dry_leaks_write);
}

bool dry_sample_is_home(const struct dry_caches *caches)
{
	struct dry_heap *heap = atomic_load_explicit(&home, memory_order_acquire);

	return heap != NULL && caches == &heap->caches;
}

void dry_sample_reap(void)
{
	struct dry_heap *heap = atomic_load_explicit(&home, memory_order_acquire);

	if (heap != NULL)
		dry_heap_reap(heap);
}
