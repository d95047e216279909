/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/hooks.h"

#include <drystone/experiment.h>

#include "base/annotate.h"
#include "core/cache.h"
#include "core/freelist.h"
#include "core/layout.h"
#include "debug/fail.h"
#include "debug/live.h"
#include "debug/object.h"
#include "debug/secure.h"
#include "debug/select.h"

/* No secure cache: memory that may be read after its free, or a type that was asked for. */
#define UNSUITED      (DRY_CACHE_TYPESAFE_BY_RCU | DRY_CACHE_POISON | DRY_CACHE_TYPE_MASK)
/* Bytes; there are too many smaller objects in a page for a bitmap. */
#define BITMAP_LEAST  (dry_port_page_size() / DRY_BITMAP_OBJECTS)

/* ---- a memory checker ----------------------------------------------------------------- */

static void slab_made(struct dry_cache *cache, void *object)
{
	dry_annotate->closed(object, cache->size);
}

static void handed_out(struct dry_cache *cache, void *object)
{
	dry_annotate->given(cache->caches, object, cache->object_size, cache->ctor != NULL);
}

static bool taken_back(struct dry_cache *cache, void *object)
{
	dry_annotate->taken(cache->caches, object, cache->size);
	return true;
}

static bool sized(struct dry_cache *cache, void *object, size_t size)
{
	dry_annotate->cut(cache->caches, object, cache->object_size, size);
	return true;
}

static const struct dry_debug_ops annotated = {
	.slab_made = slab_made, .handed_out = handed_out, .taken_back = taken_back, .sized = sized,
};

/* ---- the tables ---- */

static unsigned flags_for(const struct dry_cache_attr *attr)
{
	unsigned flags = dry_debug_wanted(attr->name);

	/* Free objects that somebody may look at cannot be poisoned. */
	if (attr->ctor || attr->dtor || (attr->flags & DRY_CACHE_TYPESAFE_BY_RCU))
		flags &= ~DRY_CACHE_POISON;
	/* What a memory checker shall watch has no links in free objects. */
	if (dry_annotate != NULL && attr->size < BITMAP_LEAST && (attr->flags & DRY_CACHE_TYPE_MASK) == 0)
		flags |= DRY_CACHE_PUBLISHED_2015;
	return flags;
}

static unsigned flags_for_secure(const struct dry_cache_attr *attr)
{
	return flags_for(attr) | ((attr->flags & UNSUITED) == 0 ? DRY_CACHE_NO_MERGE | DRY_CACHE_SECURE : 0);
}

/* Hits know of bytes, not of the bits that those of 8 bytes have. */
static unsigned flags_for_check(const struct dry_cache_attr *attr)
{
	bool small = dry_round_up(attr->size, dry_cache_align(attr)) < DRY_LIVE_APART;

	return flags_for(attr) | DRY_CACHE_CHECKED | (small ? DRY_CACHE_NO_ARRAYS : 0);
}

static const struct dry_debug_ops *choose(const struct dry_cache *cache, bool typed)
{
	if (cache->flags & DRY_CACHE_DEBUG)
		return &dry_debug_checked;
	if (!typed)
		return NULL;
	if ((cache->flags & DRY_CACHE_SECURE) && (cache->mgmt == DRY_MGMT_BITMAP || cache->mgmt == DRY_MGMT_OFF_SLAB))
		return &dry_debug_secure;
	if (dry_annotate != NULL && (cache->flags & DRY_CACHE_TYPESAFE_BY_RCU) == 0 && cache->mgmt != DRY_MGMT_CHAIN &&
	    cache->mgmt != DRY_MGMT_OBJFREELIST)
		return &annotated;
	return NULL;
}

const struct dry_debug_hooks dry_hooks_usual = { .wanted = flags_for, .choose = choose };
const struct dry_debug_hooks dry_hooks_slow = { .wanted = flags_for, .choose = choose, .no_arrays = true };
const struct dry_debug_hooks dry_hooks_sparing = { .wanted = flags_for, .choose = choose, .no_refill = true };
const struct dry_debug_hooks dry_hooks_secure = {
	.wanted = flags_for_secure, .choose = choose, .heap = dry_secure_heap, .no_arrays = true, .tail = DRY_SECURE_TAIL,
	.fences = true,
};
const struct dry_debug_hooks dry_hooks_check = {
	.wanted = flags_for_check, .choose = choose, .heap = dry_live_heap, .claim = dry_live_claim, .release = dry_live_let_go,
	.slab = dry_live_slab,
};
const struct dry_debug_hooks dry_hooks_failing = {
	.wanted = flags_for, .choose = choose, .allows = dry_fail_allows, .no_arrays = true,
};
