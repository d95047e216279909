/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* When the process ends: a look at all secure objects of heaps with shadows, whether in use or free. */
#include "core/slab.h"
#include "debug/object.h"
#include "debug/pool.h"
#include "debug/secure.h"
#include "debug/secure_object.h"
#include "debug/tags.h"
#include "port/contract.h"

#define MAX_CHECKED (1u << 20)         /* objects looked at */
#define MAX_READ    ((size_t)64 << 20) /* bytes of free ones */
#define LOOKS       3                  /* at what is in no order */

/* Of the last eight bytes of an object's slot, or before a slab's first one: they never change. NULL: they are whole. */
static const char *tail_broken(const char *end)
{
	return dry_canary_find_broken(dry_canary_of(end), end - DRY_SECURE_TAIL, end);
}

/*
 * A free object in its slab, if it is still that: it may be handed out, written to, freed and marked anew while it is read. One
 * that came back as it was is in order at another look.
 */
static void check_marked(const struct dry_cache *cache, const char *object, _Atomic uint16_t *shadow, uint16_t seen)
{
	const char *end = object + cache->size, *content = end - slack_of(cache, seen);

	for (unsigned tries = 0; tries < LOOKS; tries++) {
		uint16_t mark = shadow_get(shadow + 1);
		if (mark_holds(object, content, mark) && dry_canary_find_broken(canary_of(cache, object), content, end) == NULL)
			return;
		if (atomic_load_explicit(shadow, memory_order_acquire) != seen || shadow_get(shadow + 1) != mark)
			return;
		dry_port_yield();
	}
	dry_secure_verify_free(cache, object, shadow, canary_of(cache, object));
}

/*
 * An object in its slab. One that is being handed out now gets canaries where it was zero, so these are no damage; one that was
 * handed out, written to and freed in between is in order at another look. true: it was free.
 */
static bool check_free(const struct dry_cache *cache, const char *object, _Atomic uint16_t *shadow)
{
	uint16_t seen = atomic_load_explicit(shadow, memory_order_acquire);
	const char *end = end_of_content(cache, object, slack_of(cache, seen)), *bad = tail_broken(object + cache->size);

	if ((seen & STATE) != FREE)
		return false;
	if (bad != NULL) {
		dry_secure_report_at(DRY_FATAL_POISON, cache, object, bad, cache->size - slack_of(cache, seen));
		return true;
	}
	bad = object;
	if (!is_wiped(cache)) {
		if (is_marked(cache))
			check_marked(cache, object, shadow, seen);
		return is_marked(cache);
	}
	for (unsigned tries = 0; tries < LOOKS && bad != NULL; tries++) {
		for (bad = object; (bad = dry_other_byte(bad, end, 0)) != NULL; bad++)
			if (*(const unsigned char *)bad != dry_canary_byte(canary_of(cache, object), bad))
				break;
		if (atomic_load_explicit(shadow, memory_order_acquire) != seen)
			return true;
		if (bad != NULL)
			dry_port_yield();
	}
	if (bad != NULL)
		dry_secure_report_at(DRY_FATAL_POISON, cache, object, bad, cache->size - slack_of(cache, seen));
	return true;
}

/*
 * Other threads may still run. An object whose shadow is the same before and after was not freed meanwhile, or was
 * freed and handed out again with the same size; then a second look finds it in order.
 */
static void check_object(const struct dry_cache *cache, const char *object, _Atomic uint16_t *shadow)
{
	const char *end = object + cache->size, *bad = NULL;
	uint16_t seen = 0;

	for (unsigned tries = 0; tries < LOOKS; tries++) {
		seen = atomic_load_explicit(shadow, memory_order_acquire);
		if ((seen & STATE) != LIVE)
			return;
		bad = dry_canary_find_broken(canary_of(cache, object), end - slack_of(cache, seen), end);
		if (bad == NULL)
			return;
		dry_port_yield();
	}
	dry_secure_report_at(DRY_FATAL_OVERFLOW, cache, object, bad, cache->size - slack_of(cache, seen));
}

/* What was written before the first object of a slab, which is in use or was. */
static void check_lead(const struct dry_cache *cache, const char *first, _Atomic uint16_t *shadow)
{
	const char *bad = cache->lead != 0 ? tail_broken(first) : NULL;

	if (bad != NULL)
		dry_secure_report_at(DRY_FATAL_UNDERFLOW, cache, first, bad, cache->size - slack_of(cache, shadow_get(shadow)));
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
	for (; dry_slab_in(page) == slab && slab->cache == cache && slab->list != DRY_LIST_NONE && index < cache->num; index++) {
		const char *object = dry_slab_objects(cache, slab) + (size_t)index * cache->size;
		_Atomic uint16_t *shadow = shadow_of(cache, object);
		if (index == 0)
			check_lead(cache, object, shadow);
		check_object(cache, object, shadow);
		if (*read < MAX_READ && check_free(cache, object, shadow))
			*read += cache->size;
	}
	dry_lock_release(&node->lock);
	return index;
}

static void check_pooled(const struct dry_cache *cache, const char *object)
{
	_Atomic uint16_t *shadow = shadow_of(cache, object);

	if ((shadow_get(shadow) & STATE) == FREE)
		dry_secure_verify_free(cache, object, shadow, canary_of(cache, object));
}

/* Those that were freed last, however many others there are. */
static void check_pools(struct dry_caches *caches)
{
	if (!dry_lock_try(&caches->lock))
		return;
	for (struct dry_cache *cache = caches->first; cache != NULL; cache = cache->next)
		if (cache->root == cache && cache->debug == &dry_debug_secure)
			dry_pool_each(cache, check_pooled);
	dry_lock_release(&caches->lock);
}

void dry_secure_check(struct dry_caches *caches)
{
	const struct dry_arena *of = &caches->backing.arena;
	const struct dry_side *side = caches->shadows;
	uint32_t pages = atomic_load_explicit(&of->committed, memory_order_acquire), covered, looked = 0;
	size_t read = 0; /* of free objects, in bytes */

	dry_tags_look(false); /* what is free now may be somebody's while it is read */
	check_pools(caches);
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
	dry_tags_look(true);
}
