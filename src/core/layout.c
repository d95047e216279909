/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How a slab is laid out: its order, its management type, its colours.
 *
 * The published order (2016): OBJFREELIST where the index array is not larger than an
 * object and free objects may be written to; NORMAL where the array fits in the
 * bytes left over; OFF_SLAB where an array from another cache wastes less than a
 * dedicated one; else NORMAL, dedicated.
 *
 * The default wastes nothing: a bitmap in the page descriptor for up to 256
 * objects a slab, else a chain through the free objects; secure objects, in which
 * nothing may lie, have a bitmap beside the slab then. docs/design/slab-management.md
 */
#include "core/layout.h"

#include <drystone/experiment.h>

#include "base/bits.h"
#include "core/freelist.h"

#define LEAD_MAX 4096u /* bytes, as much as objects are aligned to; a slab of few has that to spare */
#define SECURE_SMALL     ((size_t)16 << 10) /* a fence inside of a slab of 32 KiB would be an eighth of it */
#define SECURE_PREFERRED ((size_t)64 << 10)
#ifndef DRY_SLAB_PREFERRED /* a backing may know better */
#define DRY_SLAB_PREFERRED(size) ((size_t)64 << 10)
#endif
#ifndef DRY_SLAB_MOST /* no slab has more bytes in order to waste fewer; to get them may be hard */
#define DRY_SLAB_MOST (SIZE_MAX / 2)
#endif
#ifndef DRY_FIRST_MAX /* bytes before a slab's first object that its descriptor can tell; a backing may have fewer bits for them */
#define DRY_FIRST_MAX UINT16_MAX
#endif
#define PUBLISHED_MAX_ORDER 1 /* grow beyond it only if nothing fits */
#define COLOUR_UNIT 64u

struct candidate {
	uint32_t num;
	size_t left; /* bytes after the last object (and a dedicated array) */
	uint8_t order;
};

size_t dry_slab_bytes(const struct dry_cache *cache, unsigned order)
{
	size_t page = (size_t)1 << dry_backing_page_shift(&cache->caches->backing);
	bool fence = cache->caches->hooks->fences && dry_has_fence_inside(order);

	return (page << order) - (fence ? page : 0);
}

static unsigned max_order(const struct dry_cache *cache)
{
	return dry_backing_max_order(&cache->caches->backing);
}

static size_t index_bytes(uint32_t num)
{
	return num <= 256 ? 1 : 2;
}

static bool wasteful(size_t left, size_t bytes)
{
	return left * 8 > bytes;
}

/* Smallest order that wastes at most 1/8; dedicated: the array of indices is part of the slab. */
static bool published_order(const struct dry_cache *cache, bool dedicated, struct candidate *best)
{
	for (unsigned order = 0; order <= max_order(cache); order++) {
		size_t bytes = dry_slab_bytes(cache, order);
		size_t num = bytes / cache->size;
		if (dedicated)
			while (num > 0 && num * cache->size + num * index_bytes((uint32_t)num) > bytes)
				num--;
		if (num == 0)
			continue;
		if (num > UINT16_MAX)
			break;
		size_t array = dedicated ? num * index_bytes((uint32_t)num) : 0;
		*best = (struct candidate){ (uint32_t)num, bytes - num * cache->size - array, (uint8_t)order };
		if (order >= PUBLISHED_MAX_ORDER || (cache->flags & DRY_CACHE_SMALL_SLABS) || !wasteful(best->left, bytes))
			return true;
	}
	return false;
}

static void use(struct dry_cache *cache, const struct candidate *c, enum dry_mgmt mgmt, size_t colour_room)
{
	cache->num = c->num;
	cache->order = c->order;
	cache->mgmt = (uint8_t)mgmt;
	cache->index_width = (uint8_t)index_bytes(c->num);
	cache->colour_unit = cache->align > COLOUR_UNIT ? (uint32_t)cache->align : COLOUR_UNIT;
	if (colour_room > DRY_FIRST_MAX - cache->before - cache->lead)
		colour_room = DRY_FIRST_MAX - cache->before - cache->lead;
	cache->colours = (uint32_t)(colour_room / cache->colour_unit) + 1;
}

static size_t power_of_two(size_t size)
{
	size_t power = 16;

	while (power < size)
		power *= 2;
	return power;
}

/* Free objects keep what they hold. */
static bool is_left_alone(const struct dry_cache *cache)
{
	return cache->ctor || cache->dtor || (cache->flags & DRY_CACHE_TYPESAFE_BY_RCU);
}

static bool try_objfreelist(struct dry_cache *cache)
{
	struct candidate c;

	if (is_left_alone(cache))
		return false;
	if (!published_order(cache, false, &c) || c.num * index_bytes(c.num) > cache->object_size)
		return false;
	use(cache, &c, DRY_MGMT_OBJFREELIST, c.left);
	return true;
}

static bool try_leftover(struct dry_cache *cache)
{
	struct candidate c;

	if (!published_order(cache, false, &c))
		return false;
	size_t array = c.num * index_bytes(c.num);
	if (array > c.left)
		return false;
	use(cache, &c, DRY_MGMT_NORMAL_LEFTOVER, c.left - array);
	cache->freelist_offset = (uint32_t)(dry_slab_bytes(cache, c.order) - array);
	return true;
}

static bool try_off_slab(struct dry_cache *cache, bool only_if_better)
{
	struct candidate off, on;

	if (!published_order(cache, false, &off))
		return false;
	size_t array = power_of_two(off.num * index_bytes(off.num));
	/* Published: of real benefit only if the array is at most half an object. */
	if (only_if_better && array > cache->size / 2)
		return false;
	if (only_if_better && published_order(cache, true, &on)) {
		size_t off_waste = array + off.left, on_waste = dry_slab_bytes(cache, on.order) - on.num * cache->size;
		if ((uint64_t)off_waste * dry_slab_bytes(cache, on.order) >= (uint64_t)on_waste * dry_slab_bytes(cache, off.order))
			return false;
	}
	use(cache, &off, DRY_MGMT_OFF_SLAB, off.left);
	cache->waste = (uint32_t)array;
	return true;
}

static bool try_dedicated(struct dry_cache *cache)
{
	struct candidate c;

	if (!published_order(cache, true, &c))
		return false;
	size_t array = c.num * index_bytes(c.num);
	use(cache, &c, DRY_MGMT_NORMAL_DEDICATED, c.left);
	cache->freelist_offset = (uint32_t)(dry_slab_bytes(cache, c.order) - array);
	cache->waste = (uint32_t)array;
	return true;
}

static bool try_normal(struct dry_cache *cache)
{
	return try_leftover(cache) || try_dedicated(cache);
}

static bool try_published_2015(struct dry_cache *cache)
{
	return try_leftover(cache) || try_off_slab(cache, true) || try_dedicated(cache);
}

/* Slabs of the default types: 64 KiB at most where the heap is big, so that a refill comes from one. */
static size_t preferred_bytes(const struct dry_cache *cache)
{
	size_t share = dry_backing_bytes(&cache->caches->backing) / 128;

	/* In quarantine each object pins a slab. */
	if (cache->flags & DRY_CACHE_SECURE)
		return cache->size * 32 <= SECURE_SMALL ? cache->size * 32 : SECURE_PREFERRED;

	return share < DRY_SLAB_PREFERRED(cache->size) ? share : DRY_SLAB_PREFERRED(cache->size);
}

/*
 * The largest order up to the preferred size with at most `max_objects`; if that
 * wastes more than 1/8, the least wasteful of its neighbours.
 */
static bool default_order(const struct dry_cache *cache, uint32_t max_objects, struct candidate *best)
{
	unsigned start = 0;
	bool found = false;

	while (dry_slab_bytes(cache, start) < cache->size && start < max_order(cache))
		start++;
	while (start < max_order(cache) && dry_slab_bytes(cache, start + 1) <= preferred_bytes(cache) &&
	       dry_slab_bytes(cache, start + 1) / cache->size <= max_objects)
		start++;
	for (unsigned step = 0; step < 5; step++) {
		/* start, then up two, then down two */
		unsigned order = step < 3 ? start + step : start - (step - 2);
		if (order > max_order(cache) || (order > start && dry_slab_bytes(cache, order) > DRY_SLAB_MOST))
			continue;
		size_t bytes = dry_slab_bytes(cache, order), num = bytes / cache->size, left = bytes - num * cache->size;
		if (num == 0 || num > max_objects)
			continue;
		/* compare left / bytes without division */
		if (!found || (uint64_t)left * dry_slab_bytes(cache, best->order) < (uint64_t)best->left * bytes)
			*best = (struct candidate){ (uint32_t)num, left, (uint8_t)order };
		found = true;
		if (!wasteful(best->left, dry_slab_bytes(cache, best->order)))
			break;
	}
	return found;
}

/*
 * Room for a canary before the first object, too, where it does not cost too much. Where objects fill the slab, the page before it
 * is a fence, or ends with the canary of another object.
 */
static void make_lead(struct dry_cache *cache, struct candidate *c)
{
	uint32_t unit = cache->align > COLOUR_UNIT ? (uint32_t)cache->align : COLOUR_UNIT;
	struct candidate less = *c;

	for (; less.left < unit && less.num > 1; less.left += cache->size)
		less.num--;
	if (unit > LEAD_MAX || less.left < unit || (less.num < c->num && wasteful(less.left, dry_slab_bytes(cache, c->order))))
		return;
	less.left -= unit;
	*c = less;
	cache->lead = unit;
}

static bool try_bitmap(struct dry_cache *cache)
{
	struct candidate c;

	if (!default_order(cache, DRY_BITMAP_OBJECTS, &c))
		return false;
	if (cache->flags & DRY_CACHE_SECURE)
		make_lead(cache, &c);
	use(cache, &c, DRY_MGMT_BITMAP, c.left);
	return true;
}

/* More objects than a descriptor has bits for, in a page of 16 or 64 KiB: free ones keep nothing, and the bits lie out of reach. */
static bool try_secure(struct dry_cache *cache)
{
	struct candidate c;

	if (!(cache->flags & DRY_CACHE_SECURE) || !published_order(cache, false, &c))
		return false;
	make_lead(cache, &c);
	use(cache, &c, DRY_MGMT_OFF_SLAB, c.left);
	cache->index_width = 0;
	cache->waste = (uint32_t)power_of_two(dry_bitmap_words(c.num) * sizeof(uint64_t));
	return true;
}

static bool try_chain(struct dry_cache *cache)
{
	struct candidate c;

	if (is_left_alone(cache) || (cache->debug ? cache->object_size : cache->size) < 8 ||
	    !default_order(cache, UINT16_MAX - 1, &c))
		return false;
	use(cache, &c, DRY_MGMT_CHAIN, c.left);
	return true;
}

static bool choose_type(struct dry_cache *cache)
{
	switch (cache->flags & DRY_CACHE_TYPE_MASK) {
	case 0:
		return try_bitmap(cache) || try_secure(cache) || try_chain(cache) || try_objfreelist(cache) ||
		       try_published_2015(cache);
	case DRY_CACHE_OBJFREELIST:
		return try_objfreelist(cache);
	case DRY_CACHE_NORMAL:
		return try_normal(cache);
	case DRY_CACHE_OFF_SLAB:
		return try_off_slab(cache, false);
	case DRY_CACHE_BITMAP:
		return try_bitmap(cache);
	case DRY_CACHE_CHAIN:
		return try_chain(cache);
	case DRY_CACHE_PUBLISHED:
		return try_objfreelist(cache) || try_published_2015(cache);
	case DRY_CACHE_PUBLISHED_2015:
		return try_published_2015(cache);
	default:
		return false;
	}
}

#define SMALLEST      80  /* bytes */
#define SMALLEST_MOST 416 /* with 512 more goes through the first-level cache than is saved (docs/design/fast-path.md) */
#define MOST_BYTES    ((size_t)64 << 10)
#define LEAST_SIZE    256

/*
 * An array holds 64 KiB of objects, 4 at least, 256 at most, 416 of the smallest: so the general caches' all fit into an area's
 * beginning (DRY_AREA_FIRST). It takes no more than a 64th of what of an area is left for arrays: the more caches there are, the
 * smaller are those of the next ones. Small heaps have few caches.
 */
static size_t usual_limit(const struct dry_cache *cache)
{
	const struct dry_caches *caches = cache->caches;
	/* relaxed: a hint */
	size_t left = caches->area_size - __atomic_load_n(&caches->area_used, __ATOMIC_RELAXED);
	size_t most = dry_caches_small(caches) ? 16 : left / 64 / sizeof(void *);
	size_t limit = cache->size <= SMALLEST ? SMALLEST_MOST : MOST_BYTES / (cache->size > LEAST_SIZE ? cache->size : LEAST_SIZE);

	if (cache->flags & DRY_CACHE_SECURE) /* without arrays it says how many free slabs are kept */
		return ((size_t)256 << 10) / cache->size;
	limit = limit < most ? limit : most;
	return limit > 4 ? limit : 4;
}

static void choose_limits(struct dry_cache *cache, unsigned wanted)
{
	cache->limit = wanted != 0 ? wanted : (uint32_t)usual_limit(cache);
	cache->batchcount = (cache->limit + 1) / 2;
}

size_t dry_cache_align(const struct dry_cache_attr *attr)
{
	/* What needs 16 has a size that is a multiple of it; more would be waste. */
	size_t align = attr->align != 0 ? attr->align : attr->size % 16 == 0 ? 16 : 8;

	if ((attr->flags & DRY_CACHE_HWALIGN) && align < 64)
		align = 64;
	return align < 8 ? 8 : align;
}

bool dry_cache_layout(struct dry_cache *cache, const struct dry_cache_attr *attr)
{
	const struct dry_debug_ops *(*choose)(const struct dry_cache *, bool) = cache->caches->hooks->choose;
	size_t align = dry_cache_align(attr);

	cache->object_size = attr->size;
	cache->align = align;
	cache->flags = attr->flags;
	cache->ctor = attr->ctor;
	cache->dtor = attr->dtor;
	cache->arg = attr->arg;
	cache->reclaim = attr->reclaim;
	cache->size = (attr->size + (attr->flags & DRY_CACHE_SECURE ? DRY_SECURE_TAIL : 0) + align - 1) & ~(align - 1);
	cache->debug = choose != NULL ? choose(cache, false) : NULL;
	if (cache->debug != NULL && cache->debug->layout != NULL)
		cache->debug->layout(cache);
	cache->shift = (uint8_t)dry_ctz64(cache->size);
	cache->inverse = dry_inverse(cache->size >> cache->shift);
	if (!choose_type(cache))
		return false;
	if (cache->mgmt == DRY_MGMT_BITMAP && cache->order > 0 && dry_slab_bytes(cache, 0) > cache->before + cache->lead)
		cache->num_single = (uint32_t)((dry_slab_bytes(cache, 0) - cache->before - cache->lead) / cache->size);
	cache->fill_scale = (DRY_PARTIAL_LISTS << 16) / cache->num;
	choose_limits(cache, attr->limit);
	if (cache->debug == NULL && choose != NULL)
		cache->debug = choose(cache, true);
	return true;
}
