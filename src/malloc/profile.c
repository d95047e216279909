/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/profile.h"

#include <drystone/drystone.h>

#include "base/annotate.h"
#include "base/error.h"
#include "base/fatal.h"
#include "base/fmt.h"
#include "core/create.h"
#include "core/reap.h"
#include "debug/fail.h"
#include "debug/hooks.h"
#include "debug/secure.h"
#include "debug/select.h"
#include "guard/guard.h"
#include "malloc/options.h"
#include "malloc/size_class.h"

#define COLD_BIG    16u /* big blocks of a process that are guarded in the default profile */
#define COLD_BYTES  ((size_t)16 << 20) /* of them together */
#define COLD_SMALL  8u  /* small blocks likewise */
#define COLD_SIZE   4u  /* of them of each size */
#define FIRST       256u /* allocations of a process that are guarded under secure:1 */
#define FIRST_SIZE  32u  /* and of each size */
#define BIG         DRY_CLASS_COUNT /* in place of a class: none is as big */
#define WATCH_FULL  2048u /* bytes; of sizes above, fewer are watched */
#define COVER_MIN   ((size_t)64 << 20)
#define MIB         ((size_t)1 << 20)

static _Atomic bool sampling; /* every slow allocation has to come by; else only those of a class without a cache */

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
	size_t cover = dry_backing_bytes(&heap->caches.backing);

	if (__atomic_exchange_n(&tried, true, __ATOMIC_RELAXED))
		return __atomic_load_n(&noted, __ATOMIC_ACQUIRE);
	/* Where address space is short the program needs it more. */
	if (!dry_option_secure && dry_port_address_room() != SIZE_MAX)
		return false;
	while (cover >= COVER_MIN && !dry_secure_init(&heap->caches.backing, cover))
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

bool dry_profile_start(struct dry_heap *heap)
{
	bool forget = false;

	started = true;
	off = dry_annotate != NULL || dry_debug_selects() || dry_fail_selects();
	if (dry_fail_selects()) {
		/* Every allocation has to come by, and under the name that its cache always has. */
		heap->caches.hooks = dry_hooks_failing();
		forget = true;
	}
	if (off)
		return forget;
	if (dry_option_secure) {
		heap->caches.hooks = dry_hooks_secure();
		dry_secure_keep_many(true);
		forget = true;
		if (!make_notes(heap) || !make_guards(true))
			dry_warn("secure:1: no address space for all of it");
	}
	bool sampled = dry_option_guard || dry_option_secure;
	if (sampled || dry_option_watch != 0)
		dry_guard_report_faults(sampled);
	if (sampled)
		dry_guard_sample(dry_option_guard_rate);
	atomic_store_explicit(&sampling, sampled, memory_order_relaxed);
	return forget;
}

DRY_EXPORT int dry_guard(size_t mean)
{
	if (mean != 0 && (dry_heap_get(NULL) == NULL || !make_guards(true)))
		return -DRY_ENOMEM;
	dry_guard_sample(mean);
	if (mean != 0)
		atomic_store_explicit(&sampling, true, memory_order_relaxed);
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
	int error;

	struct dry_cache_attr attr = { .name = name, .size = size - DRY_SECURE_TAIL };
	attr.flags = DRY_CACHE_NO_MERGE | DRY_CACHE_SECURE;
	attr.align = align < DRY_NATURAL_MAX ? align : DRY_NATURAL_MAX;
	cache = dry_cache_make(&heap->caches, &attr, false, &error);
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
		*object = dry_heap_alloc_slow(cache);
	if (*object == NULL && cache != NULL && dry_option_secure && dry_heap_trim(heap) != 0)
		*object = dry_heap_alloc_slow(cache);
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

static void *sample(struct dry_heap *heap, size_t size)
{
	if (off || !atomic_load_explicit(&sampling, memory_order_relaxed) ||
	    !dry_guard_due(since_last(heap, dry_class_of(size | (size == 0)))) || !make_guards(true))
		return NULL;
	return dry_guard_alloc(size, 1, true);
}

static bool allocate_first(struct dry_heap *heap, size_t size, size_t align, void **object)
{
	unsigned class = size <= DRY_CLASS_MAX - DRY_SECURE_TAIL ? dry_class_of(size) : BIG;

	if (DRY_UNLIKELY(off))
		return false;
	bool asks = atomic_load_explicit(&sampling, memory_order_relaxed);
	bool due = asks && dry_guard_due(class != BIG ? since_last(heap, class) : 1);
	/* The first stack of a process costs as much as a hundred blocks: not for those that every process has. */
	if ((due || is_first(size, class)) && make_guards(asks))
		*object = dry_guard_alloc(size, align, due || dry_option_secure);
	if (*object == NULL && class != BIG && (dry_option_secure || count_to(&cold[class], watched(size))))
		return alloc_secure(heap, size, align, object);
	return *object != NULL;
}

static bool allocate(struct dry_heap *heap, size_t size, size_t align, bool is_first_of_class, void **object)
{
	*object = NULL;
	if (is_first_of_class)
		return allocate_first(heap, size, align, object);
	*object = sample(heap, size);
	return *object != NULL;
}

static void free_block(struct dry_heap *heap, void *block)
{
	(void)heap;
	dry_guard_free(block);
}

const struct dry_secondary dry_profile_secondary = { allocate, dry_guard_contains, free_block, dry_guard_size };

/* ---- end and fork ------------------------------------------------------------------------ */

void dry_profile_finish(struct dry_heap *heap)
{
	if (!dry_option_exit_check || !heap->ready)
		return;
	if (noted)
		dry_secure_check_all();
	dry_guard_check_all();
	/* Frees that are still in array caches have not been looked at. */
	if (dry_heap_is_quiet(heap))
		dry_caches_reap(&heap->caches, true);
}

void dry_profile_before_fork(void)
{
	dry_guard_lock();
}

void dry_profile_after_fork(bool in_child)
{
	dry_guard_unlock(in_child);
}
