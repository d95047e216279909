/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The target `heap`: the equations themselves. A field of a heap in order, whatever its state, gets a value that an equation
 * excludes: the checks must find it. Then everything is put back, and they must find nothing.
 */
#include "core/slab.h"
#include "malloc/general.h"
#include "heap_state.h"
#include "page/internal.h"

#define WRITES 8

static struct write {
	void *at;
	size_t width;
	uint64_t old;
} done[WRITES];
static unsigned writes;
static bool found_already; /* and put right by who did the damage */

static void put(void *at, size_t width, uint64_t value)
{
	struct write *write = &done[writes++];

	EXPECT(writes <= WRITES);
	*write = (struct write){ at, width, 0 };
	memcpy(&write->old, at, width);
	memcpy(at, &value, width);
}

/* Little-endian machines only, as the masks of the slow test of indices are, too. */
#define SET(field, value) put(&(field), sizeof(field), (uint64_t)(value))

static void restore(void)
{
	while (writes != 0) {
		writes--;
		memcpy(done[writes].at, &done[writes].old, done[writes].width);
	}
}

/* ---- what there is: NULL or NIL where there is none ------------------------------------------- */

static struct dry_arena *arena(void)
{
	return dry_heap_arena(s.heap);
}

/* A free block on a list of the arena, at least of order `least`. */
static uint32_t free_block(unsigned which, unsigned least)
{
	uint32_t found = DRY_PAGE_NIL;

	for (unsigned dirty = 0; dirty < 2; dirty++)
		for (unsigned order = least; order <= arena()->max_order; order++)
			if (arena()->lists.head[dirty][order] != DRY_PAGE_NIL && (found == DRY_PAGE_NIL || which-- != 0))
				found = arena()->lists.head[dirty][order];
	return found;
}

/* A run or slab of at least `least` pages. */
static struct dry_page *some_run(unsigned which, uint32_t least)
{
	uint32_t committed = dry_arena_committed_locked(arena());
	struct dry_page *found = NULL;

	for (uint32_t i = 0; i < committed; i++) {
		struct dry_page *page = &arena()->desc[i];

		if (arena()->owns_memory && dry_chunk_is_retired(arena(), i >> arena()->max_order)) {
			i |= dry_chunk_pages(arena()) - 1;
			continue;
		}
		if ((page->kind == DRY_PAGE_RUN || page->kind == DRY_PAGE_SLAB) && page->count >= least &&
		    (!found || which-- != 0))
			found = page;
	}
	return found;
}

static struct dry_cache *some_cache(unsigned which)
{
	for (unsigned i = 0; i < CACHES; i++)
		if (s.cache[(which + i) % CACHES])
			return s.cache[(which + i) % CACHES]->root;
	return dry_general_cache(s.heap, 0);
}

/* A slab on a list of a node. */
static struct dry_slab *listed_slab(const struct dry_cache *cache, const struct dry_node **node)
{
	for (uint32_t n = 0; n < s.heap->caches.nodes; n++)
		for (unsigned list = 0; list < DRY_LISTS; list++)
			if (cache->node[n].list[list] != DRY_PAGE_NIL) {
				*node = &cache->node[n];
				return dry_backing_deref(&s.heap->caches.backing, cache->node[n].list[list]);
			}
	return NULL;
}

static struct dry_array *some_array(const struct dry_cache *cache, unsigned least)
{
	uint32_t place = cache->place;

	for (uint32_t slot = 0; place != 0 && slot < s.heap->caches.slot_count; slot++) {
		struct dry_array *array = dry_area_array(s.heap->caches.areas[slot], place);

		if (s.heap->caches.areas[slot] != dry_stopped_area && dry_array_avail(array) >= least)
			return array;
	}
	return NULL;
}

/* ---- the arena ---------------------------------------------------------------------------------- */

/* Two counts of the same sum, so that only the walk over the lists or the pages can tell. */
static void shift(size_t *from, size_t *to)
{
	if (*from == 0)
		return;
	SET(*from, *from - 1);
	SET(*to, *to + 1);
}

static void hurt_counts(unsigned how, unsigned by)
{
	switch (how % 8) {
	case 0:
		SET(arena()->used, arena()->used + 1 + by);
		break;
	case 1:
		SET(arena()->free_dirty, arena()->free_dirty - 1 - by);
		break;
	case 2:
		SET(arena()->limit_pages, 0); /* something is in use */
		break;
	case 3:
		SET(arena()->lists.nonempty[by & 1],
		    arena()->lists.nonempty[by & 1] ^ 1u << (by >> 1) % (DRY_CHUNK_MAX_ORDER + 1));
		break;
	case 4:
		shift(&arena()->free_dirty, &arena()->free_clean);
		break;
	case 5:
		shift(&arena()->free_clean, &arena()->free_dirty);
		break;
	case 6:
		shift(&arena()->free_dirty, &arena()->used);
		break;
	default:
		shift(&arena()->used, &arena()->free_dirty);
	}
}

static void hurt_block(unsigned how, unsigned by)
{
	uint32_t index = free_block(by, how % 10 == 7 || how % 10 == 9 ? 1 : 0);
	struct dry_page *page = &arena()->desc[index];
	unsigned dirty;

	if (index == DRY_PAGE_NIL)
		return;
	dirty = page->flags & DRY_PAGE_DIRTY;
	switch (how % 10) {
	case 0:
		SET(page->kind, by & 1 ? DRY_PAGE_RUN : DRY_PAGE_NONE);
		break;
	case 1:
		SET(page->order, page->order + 1 + by % 8);
		break;
	case 2:
		SET(page->count, page->count - 1);
		break;
	case 3:
		SET(page->flags, page->flags ^ DRY_PAGE_DIRTY);
		break;
	case 4:
		SET(page->prev, page->prev == by ? by + 1 : by);
		break;
	case 5:
		SET(page->block.age, arena()->tick + 1 + by);
		break;
	case 6:
		SET(page->block.clean, dirty ? page->count + by : page->count - 1);
		break;
	case 7: /* the same one page further on */
		SET(arena()->lists.head[dirty][page->order], index + 1);
		put(&page[1], sizeof(uint64_t), 0);
		memcpy(&page[1], page, sizeof(uint64_t)); /* kind, order, flags, count */
		break;
	case 8:
		SET(arena()->lists.tail[dirty][page->order],
		    by + 1 == arena()->lists.tail[dirty][page->order] ? by : by + 1);
		break;
	default: { /* its halves beside each other, as two blocks */
		uint32_t half = page->count / 2, clean = page->block.clean;

		dry_buddy_unlink_locked(arena(), index);
		dry_buddy_put_apart_locked(arena(), index, half, dirty ? 0 : half, half);
		dry_buddy_put_apart_locked(arena(), index + half, half, dirty ? 0 : half, half);
		EXPECT(dry_arena_check(arena()));
		dry_buddy_unlink_locked(arena(), index);
		dry_buddy_unlink_locked(arena(), index + half);
		dry_buddy_put_apart_locked(arena(), index, half * 2, clean, half * 2);
		found_already = true;
	}
	}
}

static void hurt_pages(unsigned how, unsigned by)
{
	uint32_t index = free_block(by, 0), chunk = 0;
	struct dry_page *run = some_run(by, how % 6 == 1 ? 2 : 1);
	size_t granules = dry_chunk_pages(arena()) << (arena()->page_shift - DRY_GRANULE_SHIFT);

	switch (how % 6) {
	case 0:
		if (run)
			SET(run->count, by & 1 ? 0 : UINT32_MAX - by);
		break;
	case 1:
		if (run)
			SET(run[1 + by % (run->count - 1)].kind, DRY_PAGE_FREE);
		break;
	case 2:
		if (run && run->count > 1)
			SET(run->count, run->count - 1);
		break;
	case 3:
		if (index != DRY_PAGE_NIL)
			SET(arena()->map[(size_t)index << (arena()->page_shift - DRY_GRANULE_SHIFT)], 1 + by);
		break;
	default:
		if (arena()->retired == 0) { /* a chunk that is not; a given arena has none */
			index = free_block(by, arena()->max_order);
			chunk = index != DRY_PAGE_NIL ? index >> arena()->max_order : 0;
			if (arena()->owns_memory && index != DRY_PAGE_NIL)
				SET(*dry_chunk(arena(), chunk), *dry_chunk(arena(), chunk) | DRY_CHUNK_RETIRED);
			break;
		}
		while (!dry_chunk_is_retired(arena(), chunk))
			chunk++;
		if (how % 6 == 4)
			SET(*dry_chunk(arena(), chunk), *dry_chunk(arena(), chunk) & ~DRY_CHUNK_RETIRED);
		else
			SET(arena()->map[chunk * granules + by % granules], 1 + by);
	}
}

/* ---- extents --------------------------------------------------------------------------------------- */

static struct dry_extent *some_extent(struct dry_extents *extents)
{
	for (size_t i = 0; i < extents->buckets; i++)
		if (extents->table[i].addr != 0)
			return &extents->table[i];
	return NULL;
}

static void hurt_extents(unsigned how, unsigned by)
{
	struct dry_extents *extents = &s.heap->extents;
	struct dry_extent *entry = some_extent(extents);

	switch (how % 6) {
	case 0:
		SET(extents->live, extents->live + 1 + by);
		break;
	case 1:
		if (entry)
			SET(extents->live_bytes, extents->live_bytes + 4096);
		break;
	case 2:
		SET(extents->cached_bytes, extents->cached_bytes + 4096);
		break;
	case 3:
		SET(extents->promised, extents->buckets + 1 + by);
		break;
	case 4: /* before the one that comes before it */
		if (extents->cached < 2)
			break;
		SET(extents->spare[1].addr, extents->spare[0].addr - 4096 * by);
		break;
	default: /* where it is not looked for */
		if (!entry)
			break;
		SET(entry->addr, entry->addr + 4096);
		while (dry_extent_size(extents, (void *)entry->addr) != 0)
			entry->addr += 4096;
	}
}

/* ---- slabs, nodes, arrays ------------------------------------------------------------------------------ */

static void hurt_slab(struct dry_cache *cache, unsigned how, unsigned by)
{
	const struct dry_node *node;
	struct dry_slab *slab = listed_slab(cache, &node);

	if (!slab)
		return;
	switch (how % 7) {
	case 0:
		SET(slab->cache, 0);
		break;
	case 1:
		SET(slab->active, cache->num + 1);
		break;
	case 2:
		if (((size_t)1 << (arena()->page_shift + cache->order)) <= 65536)
			SET(slab->first, 0xffff);
		break;
	case 3:
		SET(slab->prev, by);
		break;
	case 4:
		SET(slab->list, slab->list + 1);
		break;
	case 5: /* a full slab may have no index array to look into */
		if (slab->active != 0 && slab->active != cache->num)
			SET(slab->active, slab->active - 1);
		break;
	default:
		if (cache->mgmt == DRY_MGMT_BITMAP)
			SET(slab->bits[0], slab->bits[0] ^ 1);
	}
}

/* It is there, and on no list that would be right. */
static void hurt_fill(struct dry_cache *cache)
{
	const struct dry_node *node;
	struct dry_slab *slab = listed_slab(cache, &node);
	uint8_t other;

	if (!slab || slab->next != DRY_PAGE_NIL || slab->list >= DRY_LIST_FULL)
		return;
	other = slab->list;
	if (node->list[DRY_LIST_FREE] != DRY_PAGE_NIL)
		return;
	put((void *)(uintptr_t)&node->list[other], sizeof(uint32_t), DRY_PAGE_NIL);
	put((void *)(uintptr_t)&node->list[DRY_LIST_FREE], sizeof(uint32_t), dry_backing_ref(&s.heap->caches.backing, slab));
	SET(slab->list, DRY_LIST_FREE);
}

static void hurt_node(struct dry_cache *cache, unsigned how, unsigned by)
{
	struct dry_node *node = &cache->node[by % s.heap->caches.nodes];
	const struct dry_node *with;

	switch (how % 5) {
	case 0:
		SET(node->free_slabs, node->free_slabs + 1);
		break;
	case 1:
		put(&node->free_objects, sizeof(size_t), atomic_load(&node->free_objects) + 1 + by);
		break;
	case 2:
		put(&node->shared.avail, sizeof(uint32_t), node->shared.limit + 1 + by);
		break;
	case 3:
		if (listed_slab(cache, &with))
			put((void *)(uintptr_t)&with->slabs, sizeof(size_t), 0);
		break;
	default:
		hurt_fill(cache);
	}
}

static void hurt_array(struct dry_cache *cache, unsigned how, unsigned by)
{
	struct dry_array *array = some_array(cache, how % 5 == 0 ? 0 : 1);
	unsigned last;
	uint32_t index;
	struct dry_slab *slab;

	if (!array)
		return;
	last = dry_array_avail(array) - 1;
	switch (how % 5) {
	case 0:
		if (by & 1)
			SET(array->limit, array->limit + 1);
		else
			SET(array->word, (array->word & ~(uint64_t)0xffff) | (cache->limit + 1));
		break;
	case 1:
		SET(array->entry[last], (uintptr_t)&s);
		break;
	case 2: /* the heap's own first page */
		if (arena()->owns_memory)
			SET(array->entry[last], (uintptr_t)s.heap);
		break;
	case 3:
		SET(array->entry[last], (uintptr_t)array->entry[last] + 1);
		break;
	default: /* its slab says that it is free */
		if (cache->mgmt != DRY_MGMT_BITMAP)
			break;
		slab = dry_slab_of(cache, array->entry[last]);
		index = dry_slab_index(cache, slab, array->entry[last]);
		/* active goes along, and no list knows of a full slab: only the array can tell */
		SET(slab->bits[index / 64], slab->bits[index / 64] | UINT64_C(1) << index % 64);
		SET(slab->active, slab->active - 1);
	}
}

/* ---- the whole ---------------------------------------------------------------------------------------------- */

static bool found(void)
{
	bool heap = dry_heap_check(s.heap) != 0;

	s.expected += heap;
	if (heap)
		EXPECT(strstr(faults.line, "does not hold"));
	quiet();
	return heap || dry_extents_check(&s.heap->extents) != NULL;
}

void op_damage(void)
{
	unsigned what = input_8(&s.in), how = what / 7, by = input_8(&s.in);
	struct dry_cache *cache = some_cache(by);

	EXPECT(!found());
	found_already = false;
	switch (what % 7) {
	case 0:
		hurt_counts(how, by);
		break;
	case 1:
		hurt_block(how, by);
		break;
	case 2:
		hurt_pages(how, by);
		break;
	case 3:
		hurt_extents(how, by);
		break;
	case 4:
		if (cache)
			hurt_slab(cache, how, by);
		break;
	case 5:
		if (cache)
			hurt_node(cache, how, by);
		break;
	default:
		if (cache)
			hurt_array(cache, how, by);
	}
	EXPECT(writes == 0 || found_already || found());
	restore();
	EXPECT(!found());
}
