/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/secure.h"

#include <string.h>

#include "base/bits.h"
#include "base/fatal.h"
#include "base/fmt.h"
#include "core/batch.h"
#include "core/slab.h"
#include "debug/object.h"
#include "debug/pool.h"
#include "debug/secure_object.h"
#include "page/huge.h"

static struct dry_side shadows; /* of the default heap */

/* ---- shadows and reports -------------------------------------------------- */

static void shadow_set(_Atomic uint16_t *shadow, unsigned state, size_t slack)
{
	/* release: pairs with the acquire of check_slab(), which looks at objects of others */
	atomic_store_explicit(shadow, (uint16_t)(state | ((slack - DRY_SECURE_TAIL) & SLACK)), memory_order_release);
}

/* It keeps its slack. false: it was no more what was seen. Of two at once only one makes the change. */
static bool shadow_change(_Atomic uint16_t *shadow, uint16_t seen, unsigned state)
{
	return atomic_compare_exchange_strong_explicit(shadow, &seen, (uint16_t)(state | (seen & SLACK)), memory_order_acq_rel,
						       memory_order_relaxed);
}

/* release: as shadow_set() */
static void mark_set(_Atomic uint16_t *shadow, uint16_t mark)
{
	atomic_store_explicit(shadow + 1, mark, memory_order_release);
}

static void set_tail(uint64_t canary, char *end)
{
	dry_store64(end - DRY_SECURE_TAIL, dry_canary_tail(canary));
}

/*
 * A live object's canary, which becomes whole again, and that of the slot to its left. One that holds is never written again, for
 * the owner of the slot to the right reads it whenever it likes.
 */
DRY_FAST void verify_canaries(const struct dry_cache *cache, char *object, size_t slack, uint32_t index)
{
	char *end = object + cache->size;
	uint64_t canary = dry_canary_of(end);
	const char *bad = dry_canary_find_broken(canary, end - slack, end);

	if (DRY_UNLIKELY(bad != NULL)) {
		dry_secure_report_at(DRY_FATAL_OVERFLOW, cache, object, bad, cache->size - slack);
		dry_canary_fill(canary, end - slack, end);
		set_tail(canary, end);
	}
	if (index == 0 && cache->lead == 0)
		return;
	bad = dry_canary_find_broken(dry_canary_of(object), object - DRY_SECURE_TAIL, object);
	if (DRY_UNLIKELY(bad != NULL))
		dry_secure_report_at(DRY_FATAL_UNDERFLOW, cache, object, bad, cache->size - slack);
}

/* ---- making ------------------------------------------------------------------- */

bool dry_secure_init(struct dry_caches *caches)
{
	if (!dry_side_init(&shadows, &caches->backing.arena, sizeof(uint16_t)))
		return false;
	dry_secret_seed();
	if (dry_tags_start())
		dry_arena_commit_again(&caches->backing.arena);
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
	const struct dry_slab *slab = dry_slab_of(cache, object);
	if (cache->ctor == NULL && (dry_page_of_slab(slab)->flags & DRY_PAGE_DIRTY))
		memset(object, 0, cache->size - DRY_SECURE_TAIL);
	if (is_spacious(cache) && !is_wiped(cache))
		dry_canary_fill(dry_canary_of(end), (char *)object + cache->object_size, end);
	set_tail(dry_canary_of(end), end);
	if (cache->lead != 0 && object == dry_slab_objects(cache, slab))
		set_tail(dry_canary_of(object), object);
	shadow_set(shadow, FREE, DRY_SECURE_TAIL);
	if (is_marked(cache))
		mark_set(shadow, 0);
}

/* A live object now has `size` bytes, at most the cache's object size. */
DRY_FAST void set_size(struct dry_cache *cache, _Atomic uint16_t *shadow, char *object, size_t size, uint64_t canary)
{
	dry_canary_fill(canary, object + size, object + cache->size);
	shadow_set(shadow, LIVE, cache->size - size);
}

/* A free object goes to the program; one without a shadow as it is. */
DRY_FAST void make_live(struct dry_cache *cache, char *object, size_t size)
{
	_Atomic uint16_t *shadow = shadow_of(cache, object);
	uint64_t canary = canary_of(cache, object);

	if (DRY_UNLIKELY(shadow == NULL))
		return;
	if (!dry_secure_verify_free(cache, object, shadow, canary)) {
		if (is_wiped(cache))
			memset(object, 0, cache->size - DRY_SECURE_TAIL);
		set_tail(canary, object + cache->size);
	}
	set_size(cache, shadow, object, size, canary);
}

static void handed_out(struct dry_cache *cache, void *object)
{
	make_live(cache, object, cache->object_size);
}

static void *take(struct dry_cache *cache, dry_gfp gfp, unsigned node)
{
	void *object = dry_pool_take(cache);

	while (DRY_UNLIKELY(object == NULL) && dry_pool_prepare(cache) && dry_pool_fill(cache, gfp, node, &object))
		;
	return DRY_LIKELY(object != NULL) ? object : dry_pool_take_any(cache);
}

void *dry_secure_alloc(struct dry_cache *cache, size_t size)
{
	void *object = dry_pool_take(cache);

	if (DRY_UNLIKELY(object == NULL))
		return NULL;
	make_live(cache, object, size);
	return dry_secure_give(cache, object, size);
}

/* A free object whose slab is about to go. */
static void last_look(struct dry_cache *cache, void *object)
{
	_Atomic uint16_t *shadow = shadow_of(cache, object);

	if (shadow != NULL)
		dry_secure_verify_free(cache, object, shadow, canary_of(cache, object));
}

/* A live object is this thread's alone until it has another state; who ends, or is forked, meanwhile passes it over. */
static bool claim(_Atomic uint16_t *shadow, uint16_t seen)
{
	return (seen & STATE) == LIVE && shadow_change(shadow, seen, GOING);
}

/* What its last owner left is looked at and wiped; then it is to be put into the pool. */
DRY_FAST void retire(struct dry_cache *cache, void *object, _Atomic uint16_t *shadow, size_t slack, uint32_t index)
{
	dry_tags_take(object, cache->size);
	dry_tags_look(false);
	verify_canaries(cache, object, slack, index);
	dry_tags_look(true);
	if (is_marked(cache)) /* in the slab or the pool, whoever looks at it got it from here */
		mark_set(shadow, dry_secret_mark(object, (char *)object + cache->size - slack));
	if (is_wiped(cache))
		memset(object, 0, cache->size - DRY_SECURE_TAIL);
	shadow_set(shadow, FREE, slack);
}

/* Where stacks are small: from the pool it may be a long way down (docs/design/stack.md). */
static DRY_NOINLINE void retire_apart(struct dry_cache *cache, void *object, _Atomic uint16_t *shadow, size_t slack)
{
	retire(cache, object, shadow, slack, dry_slab_index(cache, dry_slab_of(cache, object), object));
}

/* A free of what is not live. */
static DRY_SLOW void report_free(const struct dry_cache *cache, const void *object, uint16_t seen)
{
	if ((seen & STATE) == FRESH)
		dry_fatal(DRY_FATAL_INVALID_POINTER, object, cache->name, "never given out");
	else
		dry_fatal(DRY_FATAL_DOUBLE_FREE, object, cache->name, NULL);
}

static bool taken_back(struct dry_cache *cache, void *object)
{
	_Atomic uint16_t *shadow = shadow_of(cache, object);
	uint16_t seen;

	if (shadow == NULL)
		return true;
	seen = shadow_get(shadow);
	if (claim(shadow, seen)) {
		retire_apart(cache, object, shadow, slack_of(cache, seen));
		return dry_pool_put(cache, object) == DRY_FREED_NOT;
	}
	report_free(cache, object, shadow_get(shadow));
	return false;
}

enum dry_freed dry_secure_free(void *pointer, enum dry_kind kind)
{
	void *object = dry_tags_strip(pointer);
	size_t offset = (uintptr_t)object - shadows.base;
	struct dry_slab *slab;
	uint32_t index;

	if (offset >= dry_side_covered(&shadows))
		return DRY_FREED_NOT;
	_Atomic uint16_t *shadow = (_Atomic uint16_t *)(void *)shadows.at + offset / SHADOWED;
	uint16_t seen = shadow_get(shadow);
	if ((seen & ~SLACK) != (LIVE | (unsigned)kind << KIND_AT))
		return DRY_FREED_NOT;
	slab = dry_slab_in(dry_arena_run_of(shadows.arena, object));
	if (slab == NULL || slab->cache->debug != &dry_debug_secure ||
	    (index = dry_slab_index(slab->cache, slab, object)) == UINT32_MAX || !dry_tags_match(pointer) ||
	    !claim(shadow, seen))
		return DRY_FREED_NOT;
	retire(slab->cache, object, shadow, slack_of(slab->cache, seen), index);
	enum dry_freed freed = dry_pool_put(slab->cache, object);
	if (DRY_LIKELY(freed != DRY_FREED_NOT))
		return freed;
	dry_node_put_slabs(slab->cache, &object, 1);
	return DRY_FREED_SPILLED;
}

/* NULL: it is in no slab of secure objects. */
static struct dry_slab *slab_around(const void *address)
{
	bool covered = (uintptr_t)address - shadows.base < dry_side_covered(&shadows);
	struct dry_slab *slab = covered ? dry_slab_in(dry_arena_run_of(shadows.arena, address)) : NULL;

	return slab != NULL && slab->cache->debug == &dry_debug_secure ? slab : NULL;
}

bool dry_secure_is_current_tagged(const void *pointer)
{
	void *object = dry_tags_strip(pointer);
	const struct dry_slab *slab = slab_around(object);

	/* Of what is free or no object others have more to say. */
	return slab == NULL || dry_slab_index(slab->cache, slab, object) == UINT32_MAX ||
	       (shadow_get(shadow_of(slab->cache, object)) & STATE) != LIVE || dry_tags_match(pointer);
}

void dry_secure_report_old(const void *pointer)
{
	void *object = dry_tags_strip(pointer);
	const struct dry_slab *slab = slab_around(object);
	const char *name = slab != NULL ? slab->cache->name : NULL;

	if (object == pointer)
		dry_fatal(DRY_FATAL_INVALID_POINTER, object, name, "without the tag that it was given with");
	else
		dry_fatal(DRY_FATAL_DOUBLE_FREE, object, name, "freed before, and allocated again: the tag is an old one");
}

bool dry_secure_describe(const void *address, bool *freed, char *text, size_t room)
{
	const struct dry_slab *slab = dry_tags_are_used() ? slab_around(address) : NULL;
	const struct dry_cache *cache = slab != NULL ? slab->cache : NULL;
	size_t offset = slab != NULL ? (size_t)((const char *)address - dry_slab_objects(cache, slab)) : 0;
	uint16_t seen;

	if (slab == NULL || offset >= (size_t)cache->num * cache->size)
		return false;
	seen = shadow_get(shadow_of(cache, (const char *)address - offset % cache->size));
	*freed = (seen & STATE) != LIVE;
	dry_format(text, room, "%s of %s", *freed ? "into a freed object, or from one beside it into that, both" :
						    "beyond a block, or by a pointer to another one, into an object", cache->name);
	return true;
}

static size_t usable(struct dry_cache *cache, const void *object, bool freeing)
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
		return cache->size - slack_of(cache, seen);
	if (freeing)
		report_free(cache, object, seen);
	else
		dry_fatal(DRY_FATAL_USE_AFTER_FREE, object, cache->name, "it is not allocated");
	return DRY_REPORTED;
}

static bool sized(struct dry_cache *cache, void *object, size_t size)
{
	_Atomic uint16_t *shadow = shadow_of(cache, object);
	uint16_t seen;
	size_t slack;

	if (shadow == NULL)
		return true;
	if (cache->size - size > MOST_SLACK) /* more than a shadow can say */
		return false;
	seen = shadow_get(shadow);
	slack = slack_of(cache, seen);
	/* What is written over was a canary; an object that was just handed out has none but the tail, which stays. */
	dry_tags_look(false);
	if (slack != cache->size - cache->object_size)
		verify_canaries(cache, object, slack, dry_slab_index(cache, dry_slab_of(cache, object), object));
	bool live = claim(shadow, seen);
	if (DRY_LIKELY(live))
		set_size(cache, shadow, object, size, canary_of(cache, object));
	dry_tags_look(true);
	if (DRY_UNLIKELY(!live))
		dry_fatal(DRY_FATAL_USE_AFTER_FREE, object, cache->name, "freed while its size was changed");
	return live;
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

const struct dry_debug_ops dry_debug_secure = {
	.slab_made = slab_made,
	.handed_out = handed_out,
	.taken_back = taken_back,
	.last_look = last_look,
	.drain = dry_pool_drain,
	.take = take,
	.sized = sized,
	.usable = usable,
	.kind = kind,
};
