/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "core/slab.h"

#include "base/bits.h"
#include "base/fatal.h"
#include "core/freelist.h"

static void release(struct dry_cache *cache, struct dry_slab *slab)
{
	for (uint32_t i = 0; i < dry_slab_num(cache, slab) && cache->dtor; i++)
		cache->dtor(dry_slab_object(cache, slab, i), cache->arg);
	dry_backing_free(&cache->caches->backing, slab);
}

/* DRY_CACHE_CHECKED: false: it has to stay. */
static bool tell(const struct dry_cache *cache, const struct dry_slab *slab, bool made)
{
	const struct dry_backing *backing = &cache->caches->backing;

	if (DRY_LIKELY(!(cache->flags & DRY_CACHE_CHECKED)))
		return true;
	return cache->caches->hooks->slab(cache, dry_backing_address(backing, slab),
					  (size_t)1 << (dry_backing_page_shift(backing) + cache->order), made);
}

struct dry_slab *dry_slab_new(struct dry_cache *cache, unsigned node, dry_gfp gfp, uint32_t colour)
{
	struct dry_backing *backing = &cache->caches->backing;
	/* relaxed: a hint */
	size_t slabs = atomic_load_explicit(&cache->node[node].slabs, memory_order_relaxed);
	unsigned single = (cache->num_single << cache->order) * 100 / cache->num;
	struct dry_slab *slab = dry_backing_alloc(backing, cache->order, single, node, gfp, slabs);

	if (slab == NULL)
		return NULL;
	slab->next = slab->prev = DRY_SLAB_NIL;
	dry_backing_set_cache(slab, cache);
	slab->active = (uint16_t)dry_slab_lacks(cache, slab);
	slab->first = (uint16_t)(cache->before + cache->lead);
	if (!dry_backing_is_single(slab, cache->order))
		slab->first += (uint16_t)(colour % cache->colours * cache->colour_unit);
	slab->list = DRY_LIST_NONE;
	for (uint32_t i = 0; i < dry_slab_num(cache, slab) && (cache->ctor || cache->debug); i++) {
		if (cache->ctor)
			cache->ctor(dry_slab_object(cache, slab, i), cache->arg);
		if (cache->debug)
			cache->debug->slab_made(cache, dry_slab_object(cache, slab, i));
	}
	/* After the objects: it may lie in one of them. */
	if (!dry_freelist_of(cache)->init(cache, slab, colour)) {
		release(cache, slab);
		return NULL;
	}
	(void)tell(cache, slab, true);
	dry_backing_publish(backing, slab, cache->place);
	return slab;
}

static void release_after_grace(struct dry_grace_head *head)
{
	struct dry_slab *slab = DRY_CONTAINER(head, struct dry_slab, grace);
	struct dry_cache *cache = dry_backing_cache_of(slab);

	release(cache, slab);
	/* release: whoever sees the count drop sees the pages free */
	atomic_fetch_sub_explicit(&cache->deferred, 1, memory_order_release);
}

/* All objects of a slab that is about to go. */
static void look_at_free(struct dry_cache *cache, struct dry_slab *slab)
{
	const struct dry_freelist *freelist = dry_freelist_of(cache);

	for (uint32_t i = 0; i < dry_slab_num(cache, slab); i++) {
		void *object = dry_slab_object(cache, slab, i);
		if (freelist->lies_in != NULL && freelist->lies_in(cache, slab, object, i))
			dry_slab_restore(cache, object);
		if (cache->debug->last_look != NULL)
			cache->debug->last_look(cache, object);
	}
}

bool dry_slab_wrote_into(const struct dry_cache *cache, const struct dry_slab *slab)
{
	/* The host of an index array is the last to go. */
	return cache->mgmt == DRY_MGMT_CHAIN || (cache->mgmt == DRY_MGMT_OBJFREELIST && slab->active == cache->num);
}

void dry_slab_restore(struct dry_cache *cache, void *object)
{
	size_t bytes = cache->mgmt == DRY_MGMT_CHAIN ? sizeof(uint64_t) : (size_t)cache->num * cache->index_width;

	if (cache->debug->restore != NULL)
		cache->debug->restore(cache, object, bytes);
}

void dry_slab_free(struct dry_cache *cache, struct dry_slab *slab)
{
	const struct dry_freelist *freelist = dry_freelist_of(cache);
	const struct dry_grace *grace = cache->caches->grace;

	if (!tell(cache, slab, false))
		return;
	if (cache->debug)
		look_at_free(cache, slab);
	if (freelist->fini != NULL)
		freelist->fini(cache, slab);
	if (!(cache->flags & DRY_CACHE_TYPESAFE_BY_RCU)) {
		release(cache, slab);
		return;
	}
	atomic_fetch_add_explicit(&cache->deferred, 1, memory_order_relaxed);
	grace->call(grace->arg, (struct dry_grace_head *)(void *)slab->grace, release_after_grace);
}

unsigned dry_slab_take(struct dry_cache *cache, struct dry_slab *slab, void **objects, unsigned max, unsigned more)
{
	unsigned count = dry_freelist_of(cache)->take(cache, slab, objects, max, more);

	slab->active = (uint16_t)(slab->active + count);
	return count;
}

/* Whether objects can go into the slab; false after a report. */
static bool accepts(struct dry_cache *cache, const struct dry_slab *slab, const void *object)
{
	if (DRY_UNLIKELY(!dry_backing_is_slab(slab)))
		dry_backing_corrupt(DRY_FATAL_DOUBLE_FREE, object, cache->name, "its slab is gone, freed twice");
	else if (DRY_UNLIKELY(dry_backing_cache_of(slab) != cache))
		dry_backing_corrupt(DRY_FATAL_WRONG_CACHE, object, cache->name, dry_backing_cache_of(slab)->name);
	else
		return true;
	return false;
}

static void put_one(struct dry_cache *cache, struct dry_slab *slab, void *object)
{
	uint32_t index = dry_slab_index(cache, slab, object);

	if (index != UINT32_MAX && slab->active != 0 && dry_freelist_of(cache)->put(cache, slab, object, index))
		slab->active--;
	else
		dry_backing_corrupt(index == UINT32_MAX ? DRY_FATAL_INTERIOR : DRY_FATAL_DOUBLE_FREE, object, cache->name, NULL);
}

/* So many objects from index `from` on are free now. false: one was already, and all is as it was. */
static bool put_range(struct dry_slab *slab, size_t from, size_t count)
{
	uint64_t mask[DRY_SLAB_WORDS] = { 0 };
	const size_t first = from / 64;
	size_t last = first;

	for (size_t here; count > 0; from += here, count -= here) {
		size_t bit = from % 64;
		here = count < 64 - bit ? count : 64 - bit;
		last = from / 64;
		mask[last] = UINT64_MAX >> (64 - here) << bit;
		if (DRY_UNLIKELY((slab->bits[last] & mask[last]) != 0))
			return false;
	}
	for (size_t word = first; word <= last; word++)
		dry_bitmap_set(slab, (unsigned)word, slab->bits[word] | mask[word]);
	return true;
}

/* How many of those that lead the array follow each other in memory, each `step` from the one before. */
static unsigned neighbours(void *const *objects, unsigned count, size_t step)
{
	void *const *at = objects + 1, *const *const end = objects + count;
	uintptr_t next = (uintptr_t)objects[0] + step;

	for (; end - at >= 4; at += 4, next += step)
		if ((uintptr_t)at[0] != next || (uintptr_t)at[1] != (next += step) || (uintptr_t)at[2] != (next += step) ||
		    (uintptr_t)at[3] != (next += step))
			break;
	for (next = (uintptr_t)at[-1] + step; at != end && (uintptr_t)*at == next; at++)
		next += step;
	return (unsigned)(at - objects);
}

/*
 * Neighbours, as they were allocated from a fresh slab or the other way round, take less than half of the time; they are looked for
 * at the beginning alone, for that takes some, too.
 */
unsigned dry_slab_put_bits(const struct dry_cache *cache, struct dry_slab *slab, void *const *objects, unsigned count)
{
	const uintptr_t first = (uintptr_t)dry_slab_objects(cache, slab);
	const size_t inverse = cache->inverse, size = cache->size;
	const unsigned shift = cache->shift;
	const uint32_t num = dry_slab_num(cache, slab);
	size_t index = dry_offset_index((uintptr_t)objects[0] - first, inverse, shift);
	size_t step = count > 1 ? (uintptr_t)objects[1] - (uintptr_t)objects[0] : 0;
	unsigned i = 0;

	if (index < num && (step == size || step == -size)) {
		size_t most = step == size ? num - index : index + 1;
		i = neighbours(objects, count < most ? count : (unsigned)most, step);
		if (!put_range(slab, step == size ? index : index + 1 - i, i))
			return 0;
	}
	for (; i < count && (index = dry_offset_index((uintptr_t)objects[i] - first, inverse, shift)) < num; i++) {
		uint64_t bit = (uint64_t)1 << index % 64, bits = slab->bits[index / 64];
		if (DRY_UNLIKELY((bits & bit) != 0))
			break;
		dry_bitmap_set(slab, (unsigned)(index / 64), bits | bit);
	}
	slab->active = (uint16_t)(slab->active - i);
	return i;
}

unsigned dry_slab_put(struct dry_cache *cache, struct dry_slab *slab, void *const *objects, unsigned count)
{
	bool right = accepts(cache, slab, objects[0]);
	unsigned i = 0;

	do {
		if (right)
			put_one(cache, slab, objects[i]);
	} while (++i < count && dry_slab_of(cache, objects[i]) == slab);
	return i;
}

bool dry_slab_is_free(const struct dry_cache *cache, const struct dry_slab *slab, unsigned index)
{
	return dry_freelist_of(cache)->is_free(cache, slab, index);
}

uint32_t dry_slab_count_free(const struct dry_cache *cache, const struct dry_slab *slab)
{
	return dry_freelist_of(cache)->count(cache, slab);
}

const char *dry_slab_check(const struct dry_cache *cache, const struct dry_slab *slab)
{
	if (!dry_backing_is_slab(slab) || dry_backing_cache_of(slab) != cache)
		return "slab: kind or cache";
	uint32_t num = dry_slab_num(cache, slab);
	unsigned order = dry_backing_is_single(slab, cache->order) ? 0 : cache->order;
	if (slab->active > cache->num || slab->active < cache->num - num)
		return "slab: 0 <= active <= num";
	if (slab->first < cache->before ||
	    slab->first - cache->before + num * cache->size >
		    (size_t)1 << (dry_backing_page_shift(&cache->caches->backing) + order))
		return "slab: objects within its pages";
	return dry_slab_count_free(cache, slab) + slab->active == cache->num ? NULL : "slab: free + active = num";
}
