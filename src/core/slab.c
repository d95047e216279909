/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "core/slab.h"

#include <string.h>

#include "base/annotate.h"
#include "base/bits.h"
#include "core/debug_ops.h"

/* ---- index array: entries [active, num) name the free objects ------------- */

static uint32_t index_get(const struct dry_cache *cache, const void *array, uint32_t i)
{
	return cache->index_width == 1 ? ((const uint8_t *)array)[i] : ((const uint16_t *)array)[i];
}

static void index_set(const struct dry_cache *cache, void *array, uint32_t i, uint32_t value)
{
	if (cache->index_width == 1)
		((uint8_t *)array)[i] = (uint8_t)value;
	else
		((uint16_t *)array)[i] = (uint16_t)value;
}

static char *object_at(const struct dry_cache *cache, const struct dry_page *slab, uint32_t index)
{
	return dry_slab_objects(cache, slab) + (size_t)index * cache->size;
}

/*
 * OBJFREELIST: the array lies in a free object, the host, named by the bottom
 * entry, so that it is handed out last. A full slab has no array.
 */
static bool index_init(struct dry_cache *cache, struct dry_page *slab)
{
	const struct dry_arena *arena = &cache->heap->arena;
	char *start = dry_arena_address(arena, dry_arena_index_of(arena, slab));

	switch (cache->mgmt) {
	case DRY_MGMT_OBJFREELIST:
		slab->slab.freelist = object_at(cache, slab, cache->num - 1);
		break;
	case DRY_MGMT_OFF_SLAB:
		slab->slab.freelist = dry_cache_alloc(cache->freelist_cache);
		if (slab->slab.freelist == NULL)
			return false;
		break;
	default:
		slab->slab.freelist = start + cache->freelist_offset;
	}
	for (uint32_t i = 0; i < cache->num; i++)
		index_set(cache, slab->slab.freelist, i, i);
	return true;
}

static unsigned index_take(struct dry_cache *cache, struct dry_page *slab, void **objects, unsigned count)
{
	uint32_t active = slab->slab.active;

	for (unsigned i = 0; i < count; i++)
		objects[count - 1 - i] =
			object_at(cache, slab, index_get(cache, slab->slab.freelist, active + i));
	if (cache->mgmt == DRY_MGMT_OBJFREELIST && active + count == cache->num)
		slab->slab.freelist = NULL;
	return count;
}

static void index_put(struct dry_cache *cache, struct dry_page *slab, void *object, uint32_t index)
{
	if (cache->mgmt == DRY_MGMT_OBJFREELIST && slab->slab.freelist == NULL)
		slab->slab.freelist = object;
	index_set(cache, slab->slab.freelist, slab->slab.active - 1u, index);
}

/* A lane of the word is zero: the borrow of a zero lane reaches its top bit, and no lower one's can but from a zero. */
static uint64_t zero_lanes(const char *at, uint64_t pattern, uint64_t ones, unsigned width)
{
	uint64_t word = dry_load64(at) ^ pattern;

	return (word - ones) & ~word & ones << (8 * width - 1);
}

/* Entries [active, num), a word of them at a time. */
static bool index_is_free(const struct dry_cache *cache, const struct dry_page *slab, uint32_t index)
{
	const unsigned width = cache->index_width, entries = 8 / width;
	const uint64_t ones = width == 1 ? 0x0101010101010101u : 0x0001000100010001u, pattern = ones * index;
	uint32_t i = slab->slab.active;

	for (; i + 4 * entries <= cache->num; i += 4 * entries) {
		const char *at = (const char *)slab->slab.freelist + (size_t)i * width;
		if (zero_lanes(at, pattern, ones, width) | zero_lanes(at + 8, pattern, ones, width) |
		    zero_lanes(at + 16, pattern, ones, width) | zero_lanes(at + 24, pattern, ones, width))
			return true;
	}
	for (; i + entries <= cache->num; i += entries)
		if (zero_lanes((const char *)slab->slab.freelist + (size_t)i * width, pattern, ones, width))
			return true;
	for (; i < cache->num; i++)
		if (index_get(cache, slab->slab.freelist, i) == index)
			return true;
	return false;
}

/* ---- bitmap in the descriptor: 1 = free ------------------------------------ */

static void bitmap_init(const struct dry_cache *cache, struct dry_page *slab)
{
	for (uint32_t word = 0; word < 4; word++) {
		uint32_t low = word * 64;
		slab->slab.bits[word] = cache->num >= low + 64 ? UINT64_MAX :
					cache->num > low       ? ((uint64_t)1 << (cache->num - low)) - 1 :
								 0;
	}
}

/* Any free object, so that nobody can tell which one is next. */
static unsigned bitmap_take_random(const struct dry_cache *cache, struct dry_page *slab, void **objects, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint32_t at = (uint32_t)(cache->debug->random() % cache->num), word = at / 64;
		uint64_t bits = slab->slab.bits[word] & UINT64_MAX << at % 64;
		while (bits == 0) {
			word = (word + 1) % 4;
			bits = slab->slab.bits[word];
		}
		at = word * 64 + dry_ctz64(bits);
		objects[i] = object_at(cache, slab, at);
		/* relaxed: as in bitmap_take() */
		__atomic_store_n(&slab->slab.bits[word], slab->slab.bits[word] & ~((uint64_t)1 << at % 64), __ATOMIC_RELAXED);
	}
	return count;
}

static unsigned bitmap_take(const struct dry_cache *cache, struct dry_page *slab, void **objects, unsigned count)
{
	char *base = dry_slab_objects(cache, slab);
	unsigned left = count;

	for (unsigned word = 0; left > 0; word++) {
		uint64_t bits = slab->slab.bits[word];
		while (bits != 0 && left > 0) {
			objects[--left] = base + (size_t)(word * 64 + dry_ctz64(bits)) * cache->size;
			bits &= bits - 1;
		}
		/* relaxed: guarded by the lock, but checked_slab() looks at the bit of an object of its own without */
		__atomic_store_n(&slab->slab.bits[word], bits, __ATOMIC_RELAXED);
	}
	return count;
}

static bool bitmap_put(struct dry_page *slab, uint32_t index)
{
	uint64_t bit = (uint64_t)1 << (index & 63);

	if (slab->slab.bits[index >> 6] & bit)
		return false;
	__atomic_store_n(&slab->slab.bits[index >> 6], slab->slab.bits[index >> 6] | bit, __ATOMIC_RELAXED);
	return true;
}

/* ---- chain through free objects ---------------------------------------------
 * bits[0]: index of the first link, or CHAIN_END. Objects from bits[1] on were never
 * handed out and are not linked. A link is 8 bytes: next index below, above it a mark
 * made of the address and of bits[2], which differs with each life of the pages: by
 * the mark a second free of the same object is suspected.
 */
#define CHAIN_END 0xffffu
#define CHAIN_MIX 0x9e3779b97f4a7c15u

static uint64_t chain_mark(const struct dry_page *slab, const void *object)
{
	return (((uintptr_t)object ^ slab->slab.bits[2]) * CHAIN_MIX) & ~(uint64_t)0xffff;
}

static void chain_init(const struct dry_cache *cache, struct dry_page *slab, uint32_t life)
{
	slab->slab.bits[0] = CHAIN_END;
	slab->slab.bits[1] = 0;
	slab->slab.bits[2] = ((uintptr_t)cache + life) * CHAIN_MIX;
}

static bool chain_is_free(const struct dry_cache *cache, const struct dry_page *slab, uint32_t index)
{
	uint64_t at = slab->slab.bits[0];

	if (index >= slab->slab.bits[1])
		return true;
	for (uint32_t steps = 0; at < cache->num && steps < cache->num; steps++) {
		if (at == index)
			return true;
		at = dry_load64(object_at(cache, slab, (uint32_t)at)) & 0xffff;
	}
	return false;
}

static unsigned chain_take(const struct dry_cache *cache, struct dry_page *slab, void **objects, unsigned count)
{
	for (unsigned left = count; left > 0;) {
		uint64_t index = slab->slab.bits[0];
		if (index == CHAIN_END) {
			index = slab->slab.bits[1]++;
			objects[--left] = object_at(cache, slab, (uint32_t)index);
			continue;
		}
		char *object = object_at(cache, slab, (uint32_t)index);
		slab->slab.bits[0] = dry_load64(object) & 0xffff;
		/* No mark may stay, or the next free of an object that was not written to looks like a second one. */
		dry_store64(object, 0);
		objects[--left] = object;
	}
	return count;
}

static bool chain_put(const struct dry_cache *cache, struct dry_page *slab, void *object, uint32_t index)
{
	uint64_t mark = chain_mark(slab, object);

	if ((dry_load64(object) & ~(uint64_t)0xffff) == mark && chain_is_free(cache, slab, index))
		return false;
	dry_store64(object, mark | slab->slab.bits[0]);
	slab->slab.bits[0] = index;
	return true;
}

/* ---- all types ---------------------------------------------------------------- */

/* life: counts the slabs of the cache. */
static bool freelist_init(struct dry_cache *cache, struct dry_page *slab, uint32_t life)
{
	switch (cache->mgmt) {
	case DRY_MGMT_BITMAP:
		bitmap_init(cache, slab);
		return true;
	case DRY_MGMT_CHAIN:
		chain_init(cache, slab, life);
		return true;
	default:
		return index_init(cache, slab);
	}
}

struct dry_page *dry_slab_new(struct dry_cache *cache, unsigned node, uint32_t colour)
{
	struct dry_heap *heap = cache->heap;
	uint32_t pages = 1u << cache->order;
	struct dry_page *slab = dry_arena_alloc(&heap->arena, pages, pages, node);

	if (slab == NULL)
		return NULL;
	slab->next = slab->prev = DRY_PAGE_NIL;
	slab->slab.cache = cache;
	slab->slab.active = 0;
	slab->slab.first = (uint16_t)(cache->before + cache->lead + colour % cache->colours * cache->colour_unit);
	slab->slab.list = DRY_LIST_NONE;
	for (uint32_t i = 0; i < cache->num && (cache->ctor || cache->debug); i++) {
		if (cache->ctor)
			cache->ctor(object_at(cache, slab, i));
		if (cache->debug)
			cache->debug->slab_made(cache, object_at(cache, slab, i));
	}
	/* After the objects: it may lie in one of them. */
	if (!freelist_init(cache, slab, colour)) {
		dry_arena_free(&heap->arena, slab);
		return NULL;
	}
	dry_page_set_kind(slab, DRY_PAGE_SLAB);
	if (cache->annotated)
		dry_annotate->closed(object_at(cache, slab, 0), cache->num * cache->size);
	dry_arena_set_map(&heap->arena, slab, (uint16_t)cache->free_at);
	dry_heap_exchange(heap);
	return slab;
}

static void release(struct dry_cache *cache, struct dry_page *slab)
{
	dry_arena_free(&cache->heap->arena, slab);
}

static void release_after_grace(struct dry_grace_head *head)
{
	struct dry_page *slab = DRY_CONTAINER(head, struct dry_page, slab.grace);
	struct dry_cache *cache = slab->slab.cache;

	release(cache, slab);
	/* release: whoever sees the count drop sees the pages free */
	atomic_fetch_sub_explicit(&cache->deferred, 1, memory_order_release);
}

/* All objects of a slab that is about to go. */
static void look_at_free(struct dry_cache *cache, struct dry_page *slab)
{
	for (uint32_t i = 0; i < cache->num; i++) {
		void *object = object_at(cache, slab, i);
		if ((cache->mgmt == DRY_MGMT_CHAIN && i < slab->slab.bits[1]) ||
		    (cache->mgmt == DRY_MGMT_OBJFREELIST && object == slab->slab.freelist))
			dry_slab_restore(cache, object);
		cache->debug->last_look(cache, object);
	}
}

bool dry_slab_wrote_into(const struct dry_cache *cache, const struct dry_page *slab)
{
	/* The host of an index array is the last to go. */
	return cache->mgmt == DRY_MGMT_CHAIN ||
	       (cache->mgmt == DRY_MGMT_OBJFREELIST && slab->slab.active == cache->num);
}

void dry_slab_restore(struct dry_cache *cache, void *object)
{
	size_t bytes = cache->mgmt == DRY_MGMT_CHAIN ? sizeof(uint64_t) : (size_t)cache->num * cache->index_width;

	if (cache->debug->restore != NULL)
		cache->debug->restore(cache, object, bytes);
}

void dry_slab_free(struct dry_cache *cache, struct dry_page *slab)
{
	_Static_assert(sizeof(struct dry_grace_head) <= sizeof(((struct dry_page *)0)->slab.grace),
		       "a deferred call fits where the freelist was");
	const struct dry_grace *grace = cache->heap->grace;

	if (cache->debug)
		look_at_free(cache, slab);
	if (cache->mgmt == DRY_MGMT_OFF_SLAB)
		dry_cache_free(cache->freelist_cache, slab->slab.freelist);
	if (!(cache->flags & DRY_CACHE_TYPESAFE_BY_RCU)) {
		release(cache, slab);
		return;
	}
	atomic_fetch_add_explicit(&cache->deferred, 1, memory_order_relaxed);
	grace->call(grace->arg, (struct dry_grace_head *)(void *)slab->slab.grace, release_after_grace);
}

unsigned dry_slab_take(struct dry_cache *cache, struct dry_page *slab, void **objects, unsigned max)
{
	unsigned count = cache->num - slab->slab.active;

	if (count > max)
		count = max;
	if (cache->mgmt == DRY_MGMT_BITMAP && cache->debug != NULL && cache->debug->random != NULL)
		bitmap_take_random(cache, slab, objects, count);
	else if (cache->mgmt == DRY_MGMT_BITMAP)
		bitmap_take(cache, slab, objects, count);
	else if (cache->mgmt == DRY_MGMT_CHAIN)
		chain_take(cache, slab, objects, count);
	else
		index_take(cache, slab, objects, count);
	slab->slab.active = (uint16_t)(slab->slab.active + count);
	return count;
}

bool dry_slab_put(struct dry_cache *cache, struct dry_page *slab, void *object, unsigned index)
{
	if (slab->slab.active == 0)
		return false;
	if (cache->mgmt == DRY_MGMT_BITMAP) {
		if (!bitmap_put(slab, index))
			return false;
	} else if (cache->mgmt == DRY_MGMT_CHAIN) {
		if (!chain_put(cache, slab, object, index))
			return false;
	} else if (index_is_free(cache, slab, index)) {
		return false;
	} else {
		index_put(cache, slab, object, index);
	}
	slab->slab.active--;
	return true;
}

bool dry_slab_is_free(const struct dry_cache *cache, const struct dry_page *slab, unsigned index)
{
	switch (cache->mgmt) {
	case DRY_MGMT_BITMAP:
		return __atomic_load_n(&slab->slab.bits[index >> 6], __ATOMIC_RELAXED) >> (index & 63) & 1;
	case DRY_MGMT_CHAIN:
		return chain_is_free(cache, slab, index);
	default:
		return index_is_free(cache, slab, index);
	}
}

/* Sets the bit of an index in [base, end) if it is one; 1: for the first time. */
static uint32_t mark(uint64_t *seen, uint64_t index, uint32_t base, uint32_t end)
{
	uint64_t *word, bit;

	if (index < base || index >= end)
		return 0;
	word = &seen[(index - base) >> 6];
	bit = (uint64_t)1 << (index & 63);
	if (*word & bit)
		return 0;
	*word |= bit;
	return 1;
}

#define MARKS 4096 /* objects at once: 512 bytes of stack; a multiple of 64 */

static uint32_t count_listed(const struct dry_cache *cache, const struct dry_page *slab, uint32_t base, uint32_t end)
{
	uint64_t seen[MARKS / 64] = { 0 }, at = slab->slab.bits[0];
	uint32_t count = 0;

	if (cache->mgmt != DRY_MGMT_CHAIN) {
		for (uint32_t i = slab->slab.active; i < cache->num; i++)
			count += mark(seen, index_get(cache, slab->slab.freelist, i), base, end);
		return count;
	}
	for (uint32_t steps = 0; at < cache->num && steps < cache->num; steps++) {
		count += mark(seen, at, base, end);
		at = dry_load64(object_at(cache, slab, (uint32_t)at)) & 0xffff;
	}
	return count;
}

uint32_t dry_slab_count_free(const struct dry_cache *cache, const struct dry_page *slab)
{
	uint32_t end = cache->num, count = 0;

	if (cache->mgmt == DRY_MGMT_BITMAP) {
		for (unsigned word = 0; word < 4; word++)
			count += dry_popcount64(slab->slab.bits[word]);
		return count;
	}
	if (cache->mgmt == DRY_MGMT_CHAIN && slab->slab.bits[1] < end)
		end = (uint32_t)slab->slab.bits[1]; /* those beyond were never used */
	count = cache->num - end;
	for (uint32_t base = 0; base < end; base += MARKS)
		count += count_listed(cache, slab, base, end - base < MARKS ? end : base + MARKS);
	return count;
}
