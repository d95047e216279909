/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/secure.h"

#include <string.h>

#include "base/bits.h"
#include "base/fatal.h"
#include "base/fmt.h"
#include "core/batch.h"
#include "core/slab.h"
#include "debug/canary.h"
#include "debug/object.h"
#include "debug/side.h"
#include "page/huge.h"
#include "port/guard.h"

enum { FRESH = 0, FREE = 1 << 14, LIVE = 2 << 14, KEPT = 3 << 14, STATE = 3 << 14 };
enum { KIND_AT = 12, SLACK = (1 << KIND_AT) - 1 }; /* LIVE: enum dry_kind from that bit on; the slack, in bytes */

#define SHADOWED     16u   /* bytes of the arena for each shadow */
#define SMALL        1024u /* bytes of a slot; bigger ones have a ring of their own */
#define RING_SMALL   4096u
#define RING_BIG     256u
#define SHARE_SMALL  ((size_t)64 << 10) /* bytes of the process's memory for each place */
#define SHARE_BIG    ((size_t)4 << 20)
#define MAX_WAITS    1000u     /* for objects in the hands of threads that put them into their slabs */
#define MAX_CHECKED  (1u << 20) /* objects looked at when the process ends */
#define MAX_READ     ((size_t)64 << 20) /* bytes of free ones */

/* A ring of freed objects: the newest takes the place of the oldest. */
struct ring {
	_Atomic uint32_t next;
	_Atomic uint32_t places; /* relaxed: while it becomes smaller an object may be put behind the last one, and stays there */
	uint32_t most;
	void *_Atomic *place;
};

static void *_Atomic small_places[RING_SMALL], *_Atomic big_places[RING_BIG];
static struct ring rings[2] = { { 0, RING_SMALL, RING_SMALL, small_places }, { 0, RING_BIG, RING_BIG, big_places } };
static const struct dry_arena *arena; /* of the default heap, once there are shadows */
static struct dry_side shadows;
bool dry_secure_zero = true;

static const char *find_nonzero(const char *from, const char *to)
{
	return (const char *)dry_other_byte((const unsigned char *)from, (size_t)(to - from), 0);
}

/* ---- shadows ------------------------------------------------------------------ */

static _Atomic uint16_t *shadow_of(const struct dry_cache *cache, const void *object)
{
	const struct dry_side *side = cache->caches->shadows;

	if (side == NULL || (uintptr_t)object - side->base >= dry_side_covered(side))
		return NULL;
	return (_Atomic uint16_t *)(void *)side->at + ((uintptr_t)object - side->base) / SHADOWED;
}

/* relaxed unless said otherwise: who holds an object got it from who wrote its shadow */
static uint16_t shadow_get(_Atomic uint16_t *shadow)
{
	return atomic_load_explicit(shadow, memory_order_relaxed);
}

static void shadow_set(_Atomic uint16_t *shadow, unsigned state, size_t slack)
{
	/* release: pairs with the acquire of check_slab(), which looks at objects of others */
	atomic_store_explicit(shadow, (uint16_t)(state | slack), memory_order_release);
}

/* ---- reports --------------------------------------------------------------- */

static void report_at(enum dry_fatal_code code, const struct dry_cache *cache, const void *object, const char *bad,
		      size_t size)
{
	char detail[96];

	dry_format(detail, sizeof(detail), "%zu bytes were asked for, byte %s%zu is the first", size,
		   bad < (const char *)object ? "-" : "+",
		   bad < (const char *)object ? (size_t)((const char *)object - bad) : (size_t)(bad - (const char *)object));
	dry_fatal(code, object, cache->name, detail);
}

/* Whether free objects of the cache are zero. */
static bool is_wiped(const struct dry_cache *cache)
{
	return cache->ctor == NULL && dry_secure_zero;
}

/* Whether their content stays, and is known by its mark: in the second of their shadows, where they have one. */
static bool is_marked(const struct dry_cache *cache)
{
	return cache->ctor != NULL && dry_secure_zero && cache->size >= 2 * SHADOWED;
}

/* While the process ends others may hand it out and write to it: then it is no free object any more. */
static bool mark_holds(const char *object, const char *end, _Atomic uint16_t *shadow)
{
	uint16_t mark = shadow_get(shadow + 1);

	if (mark == 0 || mark == dry_secret_mark(object, end))
		return true;
	return (atomic_load_explicit(shadow, memory_order_acquire) & STATE) == LIVE || shadow_get(shadow + 1) != mark;
}

/* What a free, KEPT or FREE object must look like. false after a report. */
static bool verify_free(const struct dry_cache *cache, const char *object, _Atomic uint16_t *shadow)
{
	size_t slack = shadow_get(shadow) & SLACK;
	const char *end = object + cache->size - slack, *bad = is_wiped(cache) ? find_nonzero(object, end) : NULL;

	if (bad == NULL)
		bad = dry_canary_find_broken(end, object + cache->size);
	if (bad != NULL) {
		report_at(DRY_FATAL_POISON, cache, object, bad, cache->size - slack);
		return false;
	}
	if (!is_marked(cache) || mark_holds(object, end, shadow))
		return true;
	dry_fatal(DRY_FATAL_POISON, object, cache->name, "its content is not what it was when it was freed");
	return false;
}

/*
 * A live object's canaries, and those of the slot to its left. false, after a report: its own are broken. Canaries that
 * hold are never written again, for the owner of the slot to the right reads them whenever it likes.
 */
static bool verify_canaries(const struct dry_cache *cache, const char *object, size_t slack, uint32_t index)
{
	const char *bad = dry_canary_find_broken(object + cache->size - slack, object + cache->size);
	bool whole = bad == NULL;

	if (!whole)
		report_at(DRY_FATAL_OVERFLOW, cache, object, bad, cache->size - slack);
	bad = index > 0 || cache->lead != 0 ? dry_canary_find_broken(object - DRY_SECURE_TAIL, object) : NULL;
	if (bad != NULL)
		report_at(DRY_FATAL_UNDERFLOW, cache, object, bad, cache->size - slack);
	return whole;
}

/* ---- making ------------------------------------------------------------------- */

bool dry_secure_init(struct dry_caches *caches)
{
	if (!dry_side_init(&shadows, &caches->backing.arena, sizeof(uint16_t)))
		return false;
	dry_secret_seed();
	arena = &caches->backing.arena;
	dry_arena_forgo_huge(&caches->backing.arena);
	caches->shadows = &shadows;
	return true;
}

void dry_secure_heap(struct dry_caches *caches)
{
	caches->shadows = dry_side_make(caches, sizeof(uint16_t));
	dry_arena_forgo_huge(&caches->backing.arena);
}

/* ---- what the core calls ------------------------------------------------------- */

static void slab_made(struct dry_cache *cache, void *object)
{
	struct dry_side *side = cache->caches->shadows;
	char *end = (char *)object + cache->size;
	_Atomic uint16_t *shadow;

	if (side != NULL && (uintptr_t)object - side->base >= dry_side_covered(side))
		dry_side_look(side);
	shadow = shadow_of(cache, object);
	if (shadow == NULL)
		return;
	if (cache->ctor == NULL)
		memset(object, 0, cache->size - DRY_SECURE_TAIL);
	dry_canary_tail(end);
	if (cache->lead != 0 && object == dry_slab_objects(cache, dry_slab_of(cache, object)))
		dry_canary_tail(object);
	shadow_set(shadow, FREE, DRY_SECURE_TAIL);
	if (is_marked(cache))
		shadow_set(shadow + 1, 0, 0);
}

/* A live object now has `size` bytes, at most the cache's object size. */
static void set_size(struct dry_cache *cache, _Atomic uint16_t *shadow, void *object, size_t size)
{
	char *start = object;

	dry_canary_fill(start + size, start + cache->size - DRY_SECURE_TAIL);
	shadow_set(shadow, LIVE, cache->size - size);
}

static void handed_out(struct dry_cache *cache, void *object)
{
	_Atomic uint16_t *shadow = shadow_of(cache, object);
	char *start = object, *end = start + cache->size - DRY_SECURE_TAIL;
	size_t slack;

	if (shadow == NULL)
		return;
	slack = shadow_get(shadow) & SLACK;
	bool wiped = verify_free(cache, object, shadow);
	if (is_wiped(cache))
		memset(wiped ? end + DRY_SECURE_TAIL - slack : start, 0, wiped ? slack - DRY_SECURE_TAIL : (size_t)(end - start));
	set_size(cache, shadow, object, cache->object_size);
}

/* A free object whose slab is about to go. */
static void last_look(struct dry_cache *cache, void *object)
{
	_Atomic uint16_t *shadow = shadow_of(cache, object);

	if (shadow != NULL)
		verify_free(cache, object, shadow);
}

static struct dry_cache *cache_of(const void *object)
{
	return dry_slab_in(dry_arena_run_of(arena, object))->cache;
}

/* An object leaves the quarantine; nobody else has it. */
static void let_go(void *object)
{
	struct dry_cache *cache = cache_of(object);
	_Atomic uint16_t *shadow = shadow_of(cache, object);

	/* It is looked at when it is handed out, or its slab goes. */
	shadow_set(shadow, FREE, shadow_get(shadow) & SLACK);
	dry_node_put_slabs(cache, &object, 1);
	/* release: pairs with drain(); the cache may go after this */
	__atomic_fetch_sub(&cache->kept_objects, 1, __ATOMIC_RELEASE);
}

static void keep(struct dry_cache *cache, void *object)
{
	struct ring *ring = &rings[cache->size > SMALL];
	uint32_t at = atomic_fetch_add_explicit(&ring->next, 1, memory_order_relaxed) %
		      atomic_load_explicit(&ring->places, memory_order_relaxed);
	void *oldest;

	__atomic_fetch_add(&cache->kept_objects, 1, __ATOMIC_RELAXED);
	/* acq_rel: who takes an object out sees its content as who put it in left it */
	oldest = atomic_exchange_explicit(&ring->place[at], object, memory_order_acq_rel);
	if (oldest != NULL)
		let_go(oldest);
}

static void fit(struct ring *ring, size_t places)
{
	uint32_t now = places < ring->most ? (uint32_t)places + 1 : ring->most;

	atomic_store_explicit(&ring->places, now, memory_order_relaxed);
	for (uint32_t i = now; i < ring->most; i++) {
		void *object = atomic_exchange_explicit(&ring->place[i], NULL, memory_order_acq_rel);
		if (object != NULL)
			let_go(object);
	}
}

void dry_secure_fit(size_t memory)
{
	fit(&rings[0], memory / SHARE_SMALL);
	fit(&rings[1], memory / SHARE_BIG);
}

static bool taken_back(struct dry_cache *cache, void *object)
{
	_Atomic uint16_t *shadow = shadow_of(cache, object);
	struct dry_slab *slab;
	uint16_t seen;
	size_t slack;

	if (shadow == NULL)
		return true;
	seen = shadow_get(shadow);
	slack = seen & SLACK;
	/* Of two frees at once only one makes the change. */
	if ((seen & STATE) != LIVE ||
	    !atomic_compare_exchange_strong_explicit(shadow, &seen, (uint16_t)(KEPT | slack), memory_order_acq_rel,
						     memory_order_relaxed)) {
		if ((seen & STATE) == FRESH)
			dry_fatal(DRY_FATAL_INVALID_POINTER, object, cache->name, "never given out");
		else
			dry_fatal(DRY_FATAL_DOUBLE_FREE, object, cache->name, NULL);
		return false;
	}
	slab = dry_slab_of(cache, object);
	if (!verify_canaries(cache, object, slack, dry_slab_index(cache, slab, object))) {
		char *end = (char *)object + cache->size;
		dry_canary_fill(end - slack, end - DRY_SECURE_TAIL);
		dry_canary_tail(end);
	}
	if (is_wiped(cache))
		memset(object, 0, cache->size - slack);
	if (is_marked(cache)) /* in the slab or the ring, whoever looks at it got it from here */
		shadow_set(shadow + 1, 0, dry_secret_mark(object, (char *)object + cache->size - slack));
	if (cache->caches->shadows != &shadows) { /* the ring has none of heaps that may go */
		shadow_set(shadow, FREE, slack);
		return true;
	}
	keep(cache, object);
	return false;
}

/* The object goes back to where it was taken from; false: another is there meanwhile. */
static bool put_back(struct ring *ring, uint32_t at, void *object)
{
	void *none = NULL;

	return atomic_compare_exchange_strong_explicit(&ring->place[at], &none, object, memory_order_acq_rel,
						       memory_order_relaxed);
}

/*
 * What the ring has of the cache's objects goes into their slabs; how many. An object has to be taken out before its
 * cache can be asked for: else another thread may take it, and its slab be gone.
 */
static size_t sweep(struct dry_cache *cache, struct ring *ring)
{
	size_t found = 0;

	for (uint32_t i = 0; i < ring->most && __atomic_load_n(&cache->kept_objects, __ATOMIC_RELAXED) != 0; i++) {
		void *object = atomic_exchange_explicit(&ring->place[i], NULL, memory_order_acq_rel);
		if (object == NULL)
			continue;
		if (cache_of(object) == cache)
			found++;
		else if (put_back(ring, i, object))
			continue;
		let_go(object);
	}
	return found;
}

/*
 * A cache that is about to be destroyed waits for those of its objects that other threads take out of the ring right
 * now, to make room for their own. One that lives on, and gets new ones all the time, does not.
 */
static void drain(struct dry_cache *cache)
{
	struct ring *ring = &rings[cache->size > SMALL];

	sweep(cache, ring);
	for (unsigned tries = 0; tries < MAX_WAITS && __atomic_load_n(&cache->kept_objects, __ATOMIC_ACQUIRE) != 0; tries++) {
		if (tries == 0 && sweep(cache, ring) != 0)
			return;
		dry_port_yield();
	}
}

static size_t usable(struct dry_cache *cache, const void *object)
{
	const struct dry_slab *slab = dry_slab_of(cache, object);
	_Atomic uint16_t *shadow;
	uint16_t seen;

	if (dry_slab_index(cache, slab, object) == UINT32_MAX) {
		dry_fatal(DRY_FATAL_INTERIOR, object, cache->name, NULL);
		return DRY_REPORTED;
	}
	shadow = shadow_of(cache, object);
	if (shadow == NULL) /* it is plain: no canaries, and what was asked for is not known */
		return cache->size;
	seen = shadow_get(shadow);
	if ((seen & STATE) == LIVE)
		return cache->size - (seen & SLACK);
	dry_fatal(DRY_FATAL_USE_AFTER_FREE, object, cache->name, "it is not allocated");
	return DRY_REPORTED;
}

static bool sized(struct dry_cache *cache, void *object, size_t size)
{
	_Atomic uint16_t *shadow = shadow_of(cache, object);
	size_t slack = shadow != NULL ? shadow_get(shadow) & SLACK : 0;

	if (shadow == NULL)
		return true;
	if (cache->size - size > SLACK) /* more than a shadow can say */
		return false;
	/* What is written over was a canary; an object that was just handed out has none but the tail, which stays. */
	if (slack != cache->size - cache->object_size)
		verify_canaries(cache, object, slack, dry_slab_index(cache, dry_slab_of(cache, object), object));
	set_size(cache, shadow, object, size);
	return true;
}

static enum dry_kind kind(struct dry_cache *cache, void *object, enum dry_kind to)
{
	_Atomic uint16_t *shadow = shadow_of(cache, object);
	uint16_t seen = shadow != NULL ? shadow_get(shadow) : FRESH;

	/* A free at the same time ends it: then it has no kind. */
	while ((seen & STATE) == LIVE)
		if (atomic_compare_exchange_weak_explicit(shadow, &seen, (uint16_t)(LIVE | to << KIND_AT | (seen & SLACK)),
							  memory_order_relaxed, memory_order_relaxed))
			return (enum dry_kind)(seen >> KIND_AT & 3);
	return DRY_KIND_UNKNOWN;
}

bool dry_secure_suits(const struct dry_cache *cache)
{
	return cache->size - cache->object_size <= SLACK;
}

const struct dry_debug_ops dry_debug_secure = {
	.slab_made = slab_made,
	.handed_out = handed_out,
	.taken_back = taken_back,
	.last_look = last_look,
	.drain = drain,
	.sized = sized,
	.usable = usable,
	.kind = kind,
	.random = dry_secret_random,
};

/* ---- when the process ends ---------------------------------------------------- */

/*
 * An object in its slab. One that is being handed out now gets canaries where it was zero, so these are no damage.
 * true: it was free.
 */
static bool check_free(const struct dry_cache *cache, const char *object)
{
	_Atomic uint16_t *shadow = shadow_of(cache, object);
	uint16_t seen = shadow != NULL ? atomic_load_explicit(shadow, memory_order_acquire) : 0;
	const char *end = object + cache->size - (seen & SLACK), *bad = object;

	if ((seen & STATE) != FREE)
		return false;
	if (!is_wiped(cache))
		return is_marked(cache) && (verify_free(cache, object, shadow) || true);
	while ((bad = find_nonzero(bad, end)) != NULL && *(const unsigned char *)bad == dry_canary_byte((uintptr_t)bad))
		bad++;
	if (bad != NULL && atomic_load_explicit(shadow, memory_order_acquire) == seen)
		report_at(DRY_FATAL_POISON, cache, object, bad, cache->size - (seen & SLACK));
	return true;
}

/*
 * Other threads may still run. An object whose shadow is the same before and after was not freed meanwhile, or was
 * freed and handed out again with the same size; then a second look finds it in order.
 */
static void check_object(const struct dry_cache *cache, const char *object)
{
	_Atomic uint16_t *shadow = shadow_of(cache, object);
	const char *bad = NULL;
	uint16_t seen = 0;

	for (unsigned tries = 0; tries < 3; tries++) {
		seen = shadow != NULL ? atomic_load_explicit(shadow, memory_order_acquire) : 0;
		if ((seen & STATE) != LIVE)
			return;
		bad = dry_canary_find_broken(object + cache->size - (seen & SLACK), object + cache->size);
		if (bad == NULL)
			return;
		dry_port_yield();
	}
	report_at(DRY_FATAL_OVERFLOW, cache, object, bad, cache->size - (seen & SLACK));
}

static void check_kept(const struct dry_cache *cache, const char *object)
{
	_Atomic uint16_t *shadow = shadow_of(cache, object);
	uint16_t seen = shadow != NULL ? atomic_load_explicit(shadow, memory_order_acquire) : 0;

	/* An object in the quarantine changes state only when it leaves. */
	if ((seen & STATE) == KEPT)
		verify_free(cache, object, shadow);
}

/*
 * Other threads may still run, and give slabs back, where nothing can be read any more. One that is on a list stays there while
 * its node is locked; one that is not is passed over, as are all of a node whose lock somebody has: who ends the process may be
 * a handler of that one. Objects that were looked at.
 */
static uint32_t check_slab(struct dry_page *page, struct dry_slab *slab, struct dry_cache *cache, size_t *read)
{
	struct dry_node *node = &cache->node[dry_slab_node(cache, slab)];
	uint32_t index = 0;

	if (!dry_lock_try(&node->lock))
		return 0;
	for (; dry_slab_in(page) == slab && slab->list != DRY_LIST_NONE && index < cache->num; index++) {
		const char *object = dry_slab_objects(cache, slab) + (size_t)index * cache->size;
		check_object(cache, object);
		if (*read < MAX_READ && check_free(cache, object))
			*read += cache->size;
	}
	dry_lock_release(&node->lock);
	return index;
}

void dry_secure_check_kept(void)
{
	for (unsigned r = 0; r < 2 && arena != NULL; r++) {
		for (uint32_t i = 0; i < rings[r].most; i++) {
			/* Taken out, it is nobody else's. */
			void *object = atomic_exchange_explicit(&rings[r].place[i], NULL, memory_order_acq_rel);
			struct dry_cache *cache = object != NULL ? cache_of(object) : NULL;
			if (object == NULL)
				continue;
			check_kept(cache, object);
			if (!put_back(&rings[r], i, object)) /* its place in the slab is lost: no lock is taken now */
				__atomic_fetch_sub(&cache->kept_objects, 1, __ATOMIC_RELEASE);
		}
	}
}

void dry_secure_check(const struct dry_caches *caches)
{
	const struct dry_arena *of = &caches->backing.arena;
	const struct dry_side *side = caches->shadows;
	uint32_t pages = atomic_load_explicit(&of->committed, memory_order_acquire), covered, looked = 0;
	size_t read = 0; /* of free objects, in bytes */

	covered = (uint32_t)(dry_side_covered(side) >> of->page_shift);
	for (uint32_t i = 0; i < pages && i < covered && looked < MAX_CHECKED;) {
		struct dry_page *page = &of->desc[i];
		struct dry_slab *slab = dry_slab_in(page);
		struct dry_cache *cache = slab != NULL ? slab->cache : NULL;
		uint32_t count = page->kind != DRY_PAGE_NONE && page->count != 0 ? page->count : 1;
		if (slab != NULL && cache->debug == &dry_debug_secure)
			looked += check_slab(page, slab, cache, &read);
		i += count;
	}
}
