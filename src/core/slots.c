/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A heap's slots: their areas, the places of arrays in them, stopping.
 *
 * To stop a heap means to put the stopped area into all of slots[], then to
 * fence: sequences that read an old entry have committed or will restart and
 * find every array empty and full at once. Until the heap is started
 * again its array caches belong to who stopped it; everybody else works on the
 * slabs directly.
 */
#include <string.h>

#include "core/node.h"
#include "core/slab.h"

/* All zero for ever: avail 0, limit 0 wherever one looks. */
char dry_stopped_area[DRY_AREA_MAX + sizeof(struct dry_array)] DRY_ALIGNED(64);

static size_t table_bytes(unsigned slots)
{
	size_t page = dry_port_page_size();

	return (slots * sizeof(char *) + page - 1) & ~(page - 1);
}

int dry_slots_init(struct dry_heap *heap)
{
	unsigned slots = dry_port_slots();
	size_t bytes = table_bytes(slots);

	heap->areas = dry_port_reserve(bytes, dry_port_page_size(), false);
	if (heap->areas == NULL)
		return -1;
	if (dry_port_commit(heap->areas, bytes) != 0) {
		dry_port_release(heap->areas, bytes);
		heap->areas = NULL;
		return -1;
	}
	for (unsigned i = 0; i < slots; i++)
		heap->areas[i] = heap->slots[i] = dry_stopped_area;
	heap->slot_count = slots;
	heap->area_map[0] = 1; /* place 0 is the stopped array */
	return 0;
}

void dry_slots_fini(struct dry_heap *heap)
{
	if (heap->areas != NULL)
		dry_port_release(heap->areas, table_bytes(heap->slot_count));
	heap->areas = NULL;
}

static void array_init(struct dry_heap *heap, uint32_t slot, uint32_t at, const struct dry_array *as)
{
	struct dry_array *array = dry_area_array(heap->areas[slot], at);

	array->word = as->word;
	array->seen = as->seen;
	array->batchcount = as->batchcount;
	/* release: the sequences of a later reader of `limit` find word set */
	__atomic_store_n(&array->limit, as->limit, __ATOMIC_RELEASE);
}

/* An entry more than the limit: see dry_percpu_push_batch_packed(). */
static uint32_t units_of(uint32_t limit)
{
	return (uint32_t)((sizeof(struct dry_array) + (limit + 1) * sizeof(void *) + DRY_AREA_UNIT - 1) / DRY_AREA_UNIT);
}

static bool unit_used(const struct dry_heap *heap, uint32_t unit)
{
	return heap->area_map[unit / 64] >> (unit % 64) & 1;
}

static void mark_units(struct dry_heap *heap, uint32_t unit, uint32_t count, bool used)
{
	for (uint32_t i = unit; i < unit + count; i++) {
		uint64_t bit = (uint64_t)1 << (i % 64);
		heap->area_map[i / 64] = used ? heap->area_map[i / 64] | bit : heap->area_map[i / 64] & ~bit;
	}
}

static struct dry_array fresh(const struct dry_cache *cache, bool packed)
{
	return (struct dry_array){ .word = dry_percpu_empty_word(packed),
				   .limit = (uint16_t)cache->limit,
				   .batchcount = (uint16_t)cache->batchcount };
}

uint32_t dry_slot_place_locked(struct dry_cache *cache, bool packed)
{
	struct dry_heap *heap = cache->heap;
	struct dry_array empty = fresh(cache, packed);
	uint32_t need = units_of(cache->limit), total = (uint32_t)(heap->area_size / DRY_AREA_UNIT), run = 0;

	for (uint32_t unit = 1; unit < total; unit++) {
		run = unit_used(heap, unit) ? 0 : run + 1;
		if (run < need)
			continue;
		uint32_t first = unit - need + 1, at = first * (DRY_AREA_UNIT / 8);
		mark_units(heap, first, need, true);
		for (uint32_t slot = 0; slot < heap->slot_count; slot++)
			if (heap->areas[slot] != dry_stopped_area)
				array_init(heap, slot, at, &empty);
		return at;
	}
	return 0;
}

void dry_slot_unplace_locked(struct dry_cache *cache, uint32_t at)
{
	struct dry_heap *heap = cache->heap;
	struct dry_array none = { 0 };

	if (at == 0)
		return;
	for (uint32_t slot = 0; slot < heap->slot_count; slot++)
		if (heap->areas[slot] != dry_stopped_area)
			array_init(heap, slot, at, &none);
	mark_units(heap, at / (DRY_AREA_UNIT / 8), units_of(cache->limit), false);
}

/* Give the slot an area with the arrays of all caches. */
static void open_slot_locked(struct dry_heap *heap, uint32_t slot)
{
	struct dry_arena *arena = &heap->arena;
	uint32_t pages = (uint32_t)(heap->area_size >> arena->page_shift);

	if (heap->areas[slot] != dry_stopped_area)
		return;
	struct dry_page *run = dry_arena_alloc(arena, pages, 1, dry_heap_node(heap));
	if (run == NULL)
		return;
	char *area = dry_arena_address(arena, dry_arena_index_of(arena, run));
	if (run->flags & DRY_PAGE_DIRTY)
		memset(area, 0, heap->area_size);
	for (struct dry_cache *cache = heap->caches; cache != NULL; cache = cache->next) {
		if (cache->root != cache || cache->alloc_at == 0)
			continue;
		*dry_area_array(area, cache->free_at) = fresh(cache, false);
		*dry_area_array(area, cache->alloc_at) = fresh(cache, cache->split);
	}
	heap->areas[slot] = area;
	/* release: pairs with the sequences' dependent loads through slots[slot] */
	if (!heap->stopped)
		__atomic_store_n(&heap->slots[slot], area, __ATOMIC_RELEASE);
}

bool dry_slot_prepare(struct dry_heap *heap)
{
	/* relaxed: while it is stopped, at worst a sequence finds that out */
	if (__atomic_load_n(&heap->stopped, __ATOMIC_RELAXED) || !dry_port_slot_attach())
		return false;
	uint32_t slot = dry_percpu_slot();
	if (slot >= heap->slot_count)
		return false;
	if (__atomic_load_n(&heap->slots[slot], __ATOMIC_ACQUIRE) == dry_stopped_area) {
		/* Only tried: housekeeping frees index arrays of slabs while it holds the lock itself. */
		if (!dry_lock_try(&heap->lock))
			return false;
		open_slot_locked(heap, slot);
		dry_lock_release(&heap->lock);
	}
	return __atomic_load_n(&heap->slots[slot], __ATOMIC_RELAXED) != dry_stopped_area;
}

bool dry_slots_stop_locked(struct dry_heap *heap)
{
	__atomic_store_n(&heap->stopped, true, __ATOMIC_RELAXED);
	for (uint32_t slot = 0; slot < heap->slot_count; slot++)
		__atomic_store_n(&heap->slots[slot], dry_stopped_area, __ATOMIC_RELAXED);
	/* The fence is a full barrier on every thread: sequences that begin after it see the stores. */
	if (dry_port_slot_fence())
		return true;
	dry_slots_start_locked(heap);
	return false;
}

void dry_slots_start_locked(struct dry_heap *heap)
{
	__atomic_store_n(&heap->stopped, false, __ATOMIC_RELAXED);
	/* release: what was done to the arrays is seen by who finds the area again */
	for (uint32_t slot = 0; slot < heap->slot_count; slot++)
		__atomic_store_n(&heap->slots[slot], heap->areas[slot], __ATOMIC_RELEASE);
}

/* ---- draining -------------------------------------------------------------------- */

struct drain {
	struct dry_heap *heap;
	struct dry_cache *only; /* NULL: all */
	bool untouched_only;
	bool mark;              /* this pass is the last: touched arrays count as seen */
	bool dry_run;           /* look, but leave */
	bool found;
};

static void drain_array(struct drain *drain, struct dry_cache *cache, struct dry_array *array, bool packed)
{
	void *objects[DRY_MAX_LIMIT];

	unsigned avail = dry_array_avail(array, packed);
	uint32_t now = (uint32_t)__atomic_load_n(&array->word, __ATOMIC_RELAXED); /* a hint in a dry run */

	if (drain->untouched_only && array->seen != now) {
		if (drain->mark)
			array->seen = now;
		return;
	}
	if (avail == 0)
		return;
	drain->found = true;
	if (drain->dry_run)
		return;
	for (unsigned i = 0; i < avail; i++)
		objects[i] = dry_array_object(array, packed, i);
	/* relaxed: statistics look at any time */
	__atomic_store_n(&array->word, array->word & (packed ? 0xff00 : ~(uint64_t)0xffff), __ATOMIC_RELAXED);
	array->seen = (uint32_t)array->word;
	if (packed) /* they went in as allocations to come */
		atomic_fetch_sub_explicit(&cache->node[0].bulk_allocs, avail, memory_order_relaxed);
	dry_node_put_slabs(cache, objects, avail);
}

static void drain_slots(struct drain *drain)
{
	struct dry_heap *heap = drain->heap;

	for (uint32_t slot = 0; slot < heap->slot_count; slot++) {
		char *area = heap->areas[slot];
		if (area == dry_stopped_area)
			continue;
		for (struct dry_cache *cache = heap->caches; cache != NULL; cache = cache->next) {
			if (cache->root != cache || cache->alloc_at == 0 || (drain->only && drain->only != cache))
				continue;
			drain_array(drain, cache, dry_area_array(area, cache->alloc_at), cache->split);
			if (cache->free_at != cache->alloc_at)
				drain_array(drain, cache, dry_area_array(area, cache->free_at), false);
		}
	}
}

bool dry_arrays_drain_locked(struct dry_heap *heap, struct dry_cache *cache, bool untouched_only)
{
	struct drain drain = { heap, cache, untouched_only, false, true, false };
	bool quiet = true;

	dry_lock_acquire(&heap->lock); /* keeps the list of caches and the slots as they are */
	drain_slots(&drain);
	if (drain.found)
		quiet = dry_slots_stop_locked(heap);
	if (drain.found && quiet) {
		drain.dry_run = false;
		drain.mark = true;
		drain_slots(&drain);
		dry_slots_start_locked(heap);
	} else if (untouched_only) {
		drain.mark = true;
		drain_slots(&drain);
	}
	dry_lock_release(&heap->lock);
	return quiet;
}
