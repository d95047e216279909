/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/profile.h"

#include <drystone/drystone.h>

#include "base/annotate.h"
#include "base/error.h"
#include "base/fatal.h"
#include "base/fmt.h"
#include "core/cache.h"
#include "core/fast.h"
#include "core/slab.h"
#include "debug/fail.h"
#include "debug/guard.h"
#include "debug/secure.h"
#include "debug/select.h"
#include "malloc/general.h"
#include "malloc/options.h"

#define COLD_BIG    16u /* big blocks of a process that are guarded in the default profile */
#define COLD_BYTES  ((size_t)16 << 20) /* of them together */
#define COLD_SMALL  8u  /* small blocks likewise */
#define COLD_SIZE   4u  /* of them of each size */
#define FIRST       256u /* allocations of a process that are guarded under secure:1 */
#define FIRST_SIZE  32u  /* and of each size */
#define BIG         DRY_CLASS_COUNT /* in place of a class: none is as big */
#define WATCH_FULL  2048u /* bytes; of sizes above, fewer are watched */
#define COVER_MIN   ((size_t)64 << 20)
#define NATURAL_MAX 4096u
#define MIB         ((size_t)1 << 20)

_Atomic bool dry_profile_asks;

static _Atomic size_t cold_bytes;
static bool started, noted;                /* options are known; there are notes for secure objects */
static bool tried;
static bool off; /* a memory checker or a debugging cache sees more, or a test is to meet the usual caches */
static _Atomic uint32_t cold[DRY_CLASS_COUNT], cold_big, first, first_of[DRY_CLASS_COUNT];
static struct dry_cache *_Atomic caches[2][DRY_CLASS_COUNT]; /* [aligned], of secure objects; made at first use */
static _Atomic uint64_t seen[DRY_CLASS_COUNT];           /* objects that went into the class's arrays, when last looked at */

/* ---- start ------------------------------------------------------------------- */

/* Notes for as much of the arena as there is room for. */
static bool make_notes(struct dry_heap *heap)
{
	size_t cover = heap->arena.granules << DRY_GRANULE_SHIFT;

	if (__atomic_exchange_n(&tried, true, __ATOMIC_RELAXED))
		return __atomic_load_n(&noted, __ATOMIC_ACQUIRE);
	/* Where address space is short the program needs it more. */
	if (!dry_option_secure && dry_port_address_room() != SIZE_MAX)
		return false;
	while (cover >= COVER_MIN && !dry_secure_init(heap, cover))
		cover /= 2;
	__atomic_store_n(&noted, cover >= COVER_MIN, __ATOMIC_RELEASE);
	return cover >= COVER_MIN;
}

/*
 * The region for guarded blocks, with the first of them: many processes need none. asked_for: else the program needs
 * address space that is short more.
 */
static bool make_guards(bool asked_for)
{
	struct dry_guard_attr attr = { .region = 1024 * MIB, .live = 64, .held = 64 };
	size_t room;

	if (DRY_LIKELY(dry_guard_ready()))
		return true;
	room = dry_port_address_room();
	if (room != SIZE_MAX && !asked_for)
		return false;
	if (dry_option_guard)
		attr.live = attr.held = 1024;
	if (dry_option_secure)
		attr = (struct dry_guard_attr){ 16384 * MIB, 16384, 2048 };
	if (room != SIZE_MAX && attr.region > room / 8)
		attr.region = room / 8;
	return dry_guard_init(&attr);
}

void dry_profile_start(struct dry_heap *heap)
{
	started = true;
	off = dry_annotate != NULL || dry_debug_selects() || dry_fail_selects();
	if (dry_fail_selects()) {
		/* Every allocation has to come by the gate, and under the name that its cache always has. */
		dry_caches_plain = true;
		dry_general_forget(heap);
		dry_alloc_gate = dry_fail_allows;
	}
	if (off)
		return;
	if (dry_option_secure) {
		dry_caches_plain = dry_caches_secure = true;
		dry_secure_keep_many(true);
		dry_general_forget(heap);
		if (!make_notes(heap) || !make_guards(true))
			dry_warn("secure:1: no address space for all of it");
	}
	bool sampled = dry_option_guard || dry_option_secure;
	if (sampled || dry_option_watch != 0)
		dry_guard_report_faults(sampled);
	if (sampled)
		dry_guard_sample(dry_option_guard_rate);
	atomic_store_explicit(&dry_profile_asks, sampled, memory_order_relaxed);
}

DRY_EXPORT int dry_guard(size_t mean)
{
	if (mean != 0 && (dry_heap_get(NULL) == NULL || !make_guards(true)))
		return -DRY_ENOMEM;
	dry_guard_sample(mean);
	if (mean != 0)
		atomic_store_explicit(&dry_profile_asks, true, memory_order_relaxed);
	return 0;
}

/* ---- allocation ------------------------------------------------------------------ */

/* Add one to a count that stops at max; whether it had not got there. relaxed: one more or less does not matter. */
static bool count_to(_Atomic uint32_t *count, uint32_t max)
{
	return atomic_load_explicit(count, memory_order_relaxed) < max &&
	       atomic_fetch_add_explicit(count, 1, memory_order_relaxed) < max;
}

/* Allocations of a class since the last slow one: those of its arrays, and this one. */
static size_t since_last(const struct dry_heap *heap, unsigned class)
{
	const struct dry_cache *cache = atomic_load_explicit(&heap->general[class], memory_order_acquire);
	uint64_t now, before;

	if (cache == NULL)
		return 1;
	now = atomic_load_explicit(&cache->node[0].bulk_allocs, memory_order_relaxed);
	before = atomic_exchange_explicit(&seen[class], now, memory_order_relaxed);
	return now > before ? (size_t)(now - before) + 1 : 1;
}

/* aligned: as the class's size lets it be; else as little as will do, which leaves room for a canary before the first object. */
static struct dry_cache *make_cache(struct dry_heap *heap, unsigned class, bool aligned)
{
	size_t size = dry_class_size(class), align = aligned ? size & -size : 16;
	struct dry_cache *expected = NULL, *cache;
	char name[32];

	if (!make_notes(heap))
		return NULL;
	dry_format(name, sizeof(name), "secure-%zu%s", size, aligned ? "-aligned" : "");
	struct dry_cache_attr attr = { .name = name, .size = size - DRY_SECURE_TAIL };
	attr.flags = DRY_CACHE_NO_MERGE | DRY_CACHE_SECURE;
	attr.align = align < NATURAL_MAX ? align : NATURAL_MAX;
	cache = dry_cache_create_split(heap, &attr, false);
	if (cache == NULL || !dry_secure_is(cache))
		return NULL;
	/* acq_rel: publishes the cache; who loses the race drops its own, still unused */
	if (!atomic_compare_exchange_strong_explicit(&caches[aligned][class], &expected, cache, memory_order_acq_rel,
						     memory_order_acquire)) {
		dry_cache_destroy(cache);
		return expected;
	}
	return cache;
}

/* true: *object is the answer, NULL without memory. false: no cache for it, or one that is good for the first blocks only. */
static bool alloc_secure(struct dry_heap *heap, size_t size, size_t align, void **object)
{
	unsigned class = dry_class_for(size + DRY_SECURE_TAIL, align);
	bool aligned = align > 16;
	struct dry_cache *cache;

	if (class >= DRY_CLASS_COUNT)
		return false;
	cache = atomic_load_explicit(&caches[aligned][class], memory_order_acquire);
	if (cache == NULL)
		cache = make_cache(heap, class, aligned);
	if (cache != NULL)
		*object = dry_alloc_slow(cache);
	if (*object == NULL && cache != NULL && dry_option_secure && dry_heap_trim(heap) != 0)
		*object = dry_alloc_slow(cache);
	if (*object != NULL)
		dry_secure_set_size(cache, *object, size);
	/* From a usual cache, made for want of memory, the class would be unprotected from then on. */
	return *object != NULL || (dry_option_secure && make_notes(heap));
}

/* How many first allocations of a size are watched: fewer of the bigger ones, for each touches pages of its own. */
static uint32_t watched(size_t size)
{
	uint64_t share = dry_option_watch;

	if (size > WATCH_FULL)
		share = share * WATCH_FULL / size + (share != 0);
	return (uint32_t)share;
}

/* Whether another of the first big blocks is guarded: their pages are not used again. */
static bool afford(size_t size)
{
	size_t sum = atomic_load_explicit(&cold_bytes, memory_order_relaxed);

	if (sum > COLD_BYTES || size > COLD_BYTES - sum || !count_to(&cold_big, COLD_BIG))
		return false;
	atomic_fetch_add_explicit(&cold_bytes, size, memory_order_relaxed);
	return true;
}

/* Whether this is one of the first that are guarded. Before the options are known a region would be of the wrong size. */
static bool is_first(size_t size, unsigned class)
{
	if (!started || (dry_option_watch == 0 && !dry_option_secure))
		return false;
	if (dry_option_secure)
		return class == BIG || count_to(&first, FIRST) || count_to(&first_of[class], FIRST_SIZE);
	return class == BIG ? afford(size) : count_to(&first_of[class], COLD_SIZE) && count_to(&first, COLD_SMALL);
}

void *dry_profile_sample(struct dry_heap *heap, size_t size)
{
	if (off || !dry_guard_due(since_last(heap, dry_class_of(size | (size == 0)))) || !make_guards(true))
		return NULL;
	return dry_guard_alloc(size, 1, true);
}

bool dry_profile_alloc(struct dry_heap *heap, size_t size, size_t align, void **object)
{
	unsigned class = size <= DRY_CLASS_MAX - DRY_SECURE_TAIL ? dry_class_of(size) : BIG;

	*object = NULL;
	if (!heap->is_default || DRY_UNLIKELY(off))
		return false;
	bool asks = atomic_load_explicit(&dry_profile_asks, memory_order_relaxed);
	bool due = asks && dry_guard_due(class != BIG ? since_last(heap, class) : 1);
	/* The first stack of a process costs as much as a hundred blocks: not for those that every process has. */
	if ((due || is_first(size, class)) && make_guards(asks))
		*object = dry_guard_alloc(size, align, due || dry_option_secure);
	if (*object == NULL && class != BIG && (dry_option_secure || count_to(&cold[class], watched(size))))
		return alloc_secure(heap, size, align, object);
	return *object != NULL;
}

/* ---- blocks -------------------------------------------------------------------------- */

/* The slab of an object in a secure cache; NULL: it is in none. */
static struct dry_page *secure_slab(struct dry_heap *heap, const void *object)
{
	struct dry_page *slab = dry_arena_contains(&heap->arena, object) ? dry_arena_run_of(&heap->arena, object) : NULL;

	return slab != NULL && slab->kind == DRY_PAGE_SLAB && dry_secure_is(slab->slab.cache) ? slab : NULL;
}

bool dry_profile_size(struct dry_heap *heap, void *object, size_t *size)
{
	struct dry_page *slab;

	if (heap->is_default && dry_guard_contains(object)) {
		*size = dry_guard_size(object);
		return true;
	}
	slab = secure_slab(heap, object);
	if (slab != NULL)
		*size = dry_secure_size(slab->slab.cache, slab, object);
	return slab != NULL;
}

bool dry_profile_resize(struct dry_heap *heap, void *object, size_t size)
{
	struct dry_page *slab = secure_slab(heap, object);
	struct dry_cache *cache = slab != NULL ? slab->slab.cache : NULL;

	if (cache == NULL || size > cache->object_size || size < cache->object_size / 2)
		return false;
	return dry_secure_resize(cache, slab, object, size);
}

bool dry_profile_sized(struct dry_heap *heap, void *object, size_t size)
{
	char detail[64];
	size_t real;

	if (!dry_option_secure || object == NULL || !dry_profile_size(heap, object, &real))
		return true;
	if (real == SIZE_MAX)
		return false;
	if (real == size)
		return true;
	dry_format(detail, sizeof(detail), "freed as %zu bytes, it has %zu", size, real);
	dry_fatal(DRY_FATAL_WRONG_SIZE, object, NULL, detail);
	return false;
}

/* ---- end and fork ------------------------------------------------------------------------ */

void dry_profile_finish(struct dry_heap *heap)
{
	if (!dry_option_exit_check || !heap->ready)
		return;
	if (noted)
		dry_secure_check_all(heap);
	dry_guard_check_all();
	/* Frees that are still in array caches have not been looked at. */
	if (dry_heap_is_quiet(heap))
		dry_heap_return_objects(heap, true);
}

void dry_profile_before_fork(void)
{
	dry_guard_lock();
}

void dry_profile_after_fork(bool in_child)
{
	dry_guard_unlock(in_child);
}
