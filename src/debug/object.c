/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/object.h"

#include <string.h>

#include "base/bits.h"
#include "core/slab.h"
#include "debug/canary.h"
#include "debug/stacks.h"
#include "port/stack.h"

#define ZONE_LEAST 16u          /* before an object */
#define ZONE_AFTER 32u          /* at least, after it */
#define ASKED_MAX  ((UINT32_C(1) << 28) - 1) /* objects are smaller */
#define ALIGN_MAX  16384u       /* a slab's first object is found by 16 bits: no zone before what is aligned to more */

/* ---- zones ------------------------------------------------------------------------------- */

static void paint_zones(const struct dry_cache *cache, void *object, size_t asked)
{
	uint32_t before = dry_zone_before(cache);

	memset((char *)object - before, DRY_BYTE_ZONE, before);
	memset((char *)object + asked, DRY_BYTE_ZONE, cache->record_at - asked);
}

static void verify_zones(struct dry_cache *cache, void *object, size_t asked)
{
	char *start = object;
	const char *wrong = dry_other_byte(start - dry_zone_before(cache), start, DRY_BYTE_ZONE);

	if (DRY_UNLIKELY(wrong != NULL)) {
		dry_report_damage(cache, DRY_FATAL_UNDERFLOW, wrong, DRY_BYTE_ZONE);
		paint_zones(cache, object, asked);
	}
	wrong = dry_other_byte(start + asked, start + cache->record_at, DRY_BYTE_ZONE);
	if (DRY_UNLIKELY(wrong != NULL)) {
		dry_report_damage(cache, DRY_FATAL_OVERFLOW, wrong, DRY_BYTE_ZONE);
		paint_zones(cache, object, asked);
	}
}

/* ---- owners --------------------------------------------------------------------------------- */

static void save_track(struct dry_track *track, const struct dry_cache *cache)
{
	if (!(cache->flags & DRY_CACHE_STORE_USER))
		return;
	track->stack = dry_stack_save();
	track->thread = dry_port_thread();
	track->when = (uint32_t)dry_port_clock_ms() | 1;
}

static void begin_owner(const struct dry_cache *cache, struct dry_record *owner, uint32_t state)
{
	memset(owner, 0, sizeof(*owner));
	owner->asked = cache->object_size & ASKED_MAX;
	atomic_store_explicit(&owner->state, state, memory_order_relaxed);
}

/* An owner that was written to is set right, as that of a live object of full size. */
static void verify_owner(struct dry_cache *cache, struct dry_record *owner)
{
	char *zone = (char *)owner - ZONE_AFTER;
	const char *wrong = NULL;

	if (DRY_LIKELY(dry_record_is_whole(cache, owner)))
		return;
	if (cache->flags & DRY_CACHE_RED_ZONE)
		wrong = dry_other_byte(zone, (char *)owner, DRY_BYTE_ZONE);
	if (wrong != NULL) {
		dry_report_damage(cache, DRY_FATAL_OVERFLOW, wrong, DRY_BYTE_ZONE);
		memset(zone, DRY_BYTE_ZONE, ZONE_AFTER);
	} else {
		dry_fatal(DRY_FATAL_OVERFLOW, owner, cache->name, "far beyond: what is known of its owner is lost");
	}
	begin_owner(cache, owner, DRY_OBJECT_LIVE);
}

/* ---- what the core calls -------------------------------------------------------------------------- */

static void layout(struct dry_cache *cache)
{
	bool zones = cache->flags & DRY_CACHE_RED_ZONE;
	size_t end = cache->object_size + (zones ? ZONE_AFTER : 0);

	if (zones && cache->align <= ALIGN_MAX)
		cache->before = (uint32_t)dry_round_up(ZONE_LEAST, cache->align);
	if (cache->flags & (DRY_CACHE_RED_ZONE | DRY_CACHE_STORE_USER | DRY_CACHE_QUARANTINE)) {
		cache->record_at = (uint32_t)dry_round_up(end, sizeof(uint64_t));
		end = cache->record_at + sizeof(struct dry_record);
	}
	cache->size = dry_round_up(cache->before + end, cache->align);
	dry_secret_seed();
	/* relaxed: the same by everybody, and constant from then on */
	__atomic_store_n(&dry_fatal_explain, dry_debug_explain, __ATOMIC_RELAXED);
}

static void slab_made(struct dry_cache *cache, void *object)
{
	struct dry_record *owner = dry_record_of(cache, object);

	if (cache->flags & DRY_CACHE_RED_ZONE)
		paint_zones(cache, object, cache->object_size);
	if (cache->flags & DRY_CACHE_POISON)
		dry_poison(cache, object, dry_poisoned_bytes(cache));
	if (owner != NULL)
		begin_owner(cache, owner, DRY_OBJECT_FREE);
}

/* A free object, or one in quarantine: as it was left? */
static void verify(struct dry_cache *cache, void *object)
{
	struct dry_record *owner = dry_record_of(cache, object);

	dry_object_verify_free(cache, object);
	if (owner != NULL)
		verify_owner(cache, owner);
	if (cache->flags & DRY_CACHE_RED_ZONE)
		verify_zones(cache, object, cache->object_size);
}

static void handed_out(struct dry_cache *cache, void *object)
{
	struct dry_record *owner = dry_record_of(cache, object);

	verify(cache, object);
	if (owner != NULL) {
		owner->asked = cache->object_size & ASKED_MAX;
		owner->kind = DRY_KIND_MALLOC;
		owner->mark = 0;
		save_track(&owner->allocated, cache);
		atomic_store_explicit(&owner->state, DRY_OBJECT_LIVE, memory_order_relaxed);
	}
	if (cache->flags & DRY_CACHE_TRACE)
		dry_debug_trace(cache, "allocated", object, dry_stack_save());
}

/* A live object is verified and no longer live; false after a report that it is not. */
static bool claim(struct dry_cache *cache, void *object, struct dry_record *owner, uint32_t to)
{
	uint32_t state = DRY_OBJECT_LIVE;

	verify_owner(cache, owner);
	if (cache->flags & DRY_CACHE_RED_ZONE && atomic_load_explicit(&owner->state, memory_order_relaxed) == state)
		verify_zones(cache, object, owner->asked);
	/* relaxed: only who wins goes on */
	if (atomic_compare_exchange_strong_explicit(&owner->state, &state, to, memory_order_relaxed, memory_order_relaxed))
		return true;
	dry_fatal(DRY_FATAL_DOUBLE_FREE, object, cache->name, NULL);
	return false;
}

static bool taken_back(struct dry_cache *cache, void *object)
{
	bool keep = cache->flags & DRY_CACHE_QUARANTINE;
	struct dry_record *owner = dry_record_of(cache, object);

	if (owner != NULL && !claim(cache, object, owner, keep ? DRY_OBJECT_KEPT : DRY_OBJECT_FREE))
		return false;
	if (owner != NULL) {
		owner->asked = cache->object_size & ASKED_MAX;
		owner->mark = dry_object_mark(cache, object);
		save_track(&owner->freed, cache);
	}
	if (cache->flags & DRY_CACHE_TRACE)
		dry_debug_trace(cache, "freed", object, dry_stack_save());
	if (cache->flags & DRY_CACHE_POISON)
		dry_poison(cache, object, dry_poisoned_bytes(cache));
	if (keep)
		dry_quarantine_push(cache, object);
	return !keep;
}

static void restore(struct dry_cache *cache, void *object, size_t bytes)
{
	if (cache->flags & DRY_CACHE_POISON)
		dry_poison(cache, object, bytes);
}

static bool sized(struct dry_cache *cache, void *object, size_t size)
{
	struct dry_record *owner = dry_record_of(cache, object);

	if (owner == NULL)
		return true;
	verify_owner(cache, owner); /* what is painted over is looked at first */
	if (cache->flags & DRY_CACHE_RED_ZONE)
		verify_zones(cache, object, owner->asked);
	owner->asked = size & ASKED_MAX;
	if (cache->flags & DRY_CACHE_RED_ZONE)
		memset((char *)object + size, DRY_BYTE_ZONE, cache->object_size - size);
	return true;
}

static size_t usable(struct dry_cache *cache, const void *object, bool freeing)
{
	const struct dry_record *owner = dry_record_of(cache, object);
	const struct dry_slab *slab = dry_slab_of(cache, object);
	uint32_t index = dry_slab_index(cache, slab, object);

	(void)freeing; /* nothing is reported here */
	if (index == UINT32_MAX)
		return DRY_NOT_LIVE;
	if (owner == NULL)
		return cache->mgmt == DRY_MGMT_BITMAP && dry_slab_is_free(cache, slab, index) ? DRY_NOT_LIVE : cache->size;
	if (atomic_load_explicit(&owner->state, memory_order_relaxed) != DRY_OBJECT_LIVE)
		return DRY_NOT_LIVE;
	return cache->flags & DRY_CACHE_RED_ZONE && owner->asked - 1u < cache->object_size ? owner->asked : cache->object_size;
}

static enum dry_kind kind(struct dry_cache *cache, void *object, enum dry_kind to)
{
	struct dry_record *owner = dry_record_of(cache, object);
	enum dry_kind before;

	if (owner == NULL || atomic_load_explicit(&owner->state, memory_order_relaxed) != DRY_OBJECT_LIVE)
		return DRY_KIND_UNKNOWN;
	before = (enum dry_kind)owner->kind;
	owner->kind = to;
	return before;
}

const struct dry_debug_ops dry_debug_checked = {
	.layout = layout,
	.slab_made = slab_made,
	.handed_out = handed_out,
	.taken_back = taken_back,
	.last_look = verify,
	.restore = restore,
	.drain = dry_quarantine_drain,
	.left_over = dry_owners_left_over,
	.sized = sized,
	.usable = usable,
	.kind = kind,
};
