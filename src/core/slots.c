/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Slots: their areas, the places of arrays in them, stopping.
 *
 * The areas begin small, and all grow together when their places are given out.
 *
 * To stop means to put the stopped area into all of slots[], then to
 * fence: sequences that read an old entry have committed or will restart and
 * find every array empty and full at once. Until they are started
 * again all arrays belong to who stopped them; everybody else works on the
 * slabs directly, but for frees, which wait a while where they can. Who frees an object again finds it as the newest of the
 * array, unless a whole stop lies between the two; past stopped arrays it would be in a slab, which nobody asks once they go on,
 * or be put into one while an array has it.
 */
#include "core/slots.h"

#include "port/here.h"

#ifndef DRY_SLOT_TRIES /* some 20 us; a port may want less */
#define DRY_SLOT_TRIES 1000
#endif

/*
 * A stop that lasts longer is not waited for, nor is any after it: who made it may be in a handler for its report by now, where
 * it needs those who wait, frees itself, and reports again.
 */
#define OVERDUE_MS 200
#define WHILES     8

/* Sequences that know it by its address need no more than its beginning. */
#ifndef DRY_STOPPED_BYTES
#define DRY_STOPPED_BYTES (DRY_AREA_FIRST + sizeof(struct dry_array))
#endif

/* Where a port's sequences find a slot's area elsewhere than in slots[]. */
#ifndef DRY_SLOT_PUBLISH
#define DRY_SLOT_PUBLISH(slot, area) ((void)0)
#endif

/* All zero for ever: avail 0, limit 0 wherever one looks. */
char dry_stopped_area[DRY_STOPPED_BYTES] DRY_ALIGNED(64);

static bool is_stop(uint32_t stops)
{
	return stops & 1;
}

/* acquire: pairs with dry_slots_start_locked(). A hint: who sees a stop too late finds its array stopped, and asks again. */
static uint32_t stops_of(const struct dry_caches *caches)
{
	return __atomic_load_n(&caches->stops, __ATOMIC_ACQUIRE);
}

/* release: pairs with the sequences' dependent loads through it; who finds an area again finds what was done to its arrays */
static void set_slot(struct dry_caches *caches, uint32_t slot, char *area)
{
	__atomic_store_n(&caches->slots[slot], area, __ATOMIC_RELEASE);
	DRY_SLOT_PUBLISH(slot, area);
}

static void array_init(struct dry_caches *caches, uint32_t slot, uint32_t place, const struct dry_array *as)
{
	struct dry_array *array = dry_area_array(caches->areas[slot], place);

	array->word = as->word;
	array->seen = as->seen;
	/* release: the sequences of a later reader of `limit` find word set */
	__atomic_store_n(&array->limit, as->limit, __ATOMIC_RELEASE);
}

/* In the areas that there are. */
static void init_all(struct dry_caches *caches, uint32_t place, const struct dry_array *as)
{
	for (uint32_t slot = 0; slot < caches->slots_open; slot++)
		if (caches->areas[slot] != dry_stopped_area)
			array_init(caches, slot, place, as);
}

static uint32_t units_of(uint32_t limit)
{
	return (uint32_t)((sizeof(struct dry_array) + limit * sizeof(void *) + DRY_AREA_UNIT - 1) / DRY_AREA_UNIT);
}

static bool unit_used(const struct dry_caches *caches, uint32_t unit)
{
	return caches->area_map[unit / 64] >> (unit % 64) & 1;
}

static void mark_units(struct dry_caches *caches, uint32_t unit, uint32_t count, bool used)
{
	for (uint32_t i = unit; i < unit + count; i++) {
		uint64_t bit = (uint64_t)1 << (i % 64);
		caches->area_map[i / 64] = used ? caches->area_map[i / 64] | bit : caches->area_map[i / 64] & ~bit;
	}
	size_t bytes = (size_t)count * DRY_AREA_UNIT;
	/* relaxed: a hint without the lock */
	__atomic_store_n(&caches->area_used, caches->area_used + (used ? bytes : -bytes), __ATOMIC_RELAXED);
}

/* By pointer: of a struct with a flexible array compilers say that to pass it by value is not the same for all of them. */
static void fresh(const struct dry_cache *cache, struct dry_array *array)
{
	uint64_t empty = dry_percpu_empty_word();

	*array = (struct dry_array){ .word = cache->countdowns == DRY_COUNTDOWNS_ON ? dry_word_unarmed(empty) : empty,
				     .limit = (uint16_t)cache->limit,
				     .seen = dry_array_seen(0) };
}

static void init_fresh(const struct dry_cache *cache, uint32_t place)
{
	struct dry_array as;

	fresh(cache, &as);
	init_all(cache->caches, place, &as);
}

/*
 * A stopped area for more places than dry_stopped_area has. What is stopped may be entered with the old one still, but not for a
 * place that is given out after a fence. false: no memory, or no fence.
 */
static bool nowhere_grow(struct dry_caches *caches)
{
	if (caches->nowhere == dry_stopped_area) {
		char *nowhere = dry_backing_meta_alloc(&caches->backing, dry_slot_nowhere_bytes(caches));

		if (nowhere == NULL)
			return false;
		__atomic_store_n(&caches->nowhere, nowhere, __ATOMIC_RELAXED);
		/* who finds it knows what it is (dry_slot_is_nowhere) */
		for (uint32_t slot = 0; slot <= caches->slot_count; slot++)
			if (caches->slots[slot] == dry_stopped_area)
				set_slot(caches, slot, nowhere);
	}
	return dry_port_slot_fence();
}

/* Twice as many places; all or nothing. */
static DRY_SLOW bool areas_grow(struct dry_caches *caches)
{
	size_t from = caches->area_reach, most = caches->area_size, to = from * 2 < most ? from * 2 : most;
	uint32_t slot = 0;

	if (from == most || !nowhere_grow(caches))
		return false;
	for (; slot < caches->slots_open; slot++)
		if (caches->areas[slot] != dry_stopped_area &&
		    !dry_backing_area_extend(&caches->backing, caches->areas[slot], from, to, most))
			break;
	if (slot == caches->slots_open) {
		caches->area_reach = to;
		return true;
	}
	while (slot-- > 0)
		if (caches->areas[slot] != dry_stopped_area)
			dry_backing_area_free(&caches->backing, caches->areas[slot], from, to, most);
	return false;
}

static uint32_t find_place(struct dry_cache *cache)
{
	struct dry_caches *caches = cache->caches;
	uint32_t need = units_of(cache->room), total = (uint32_t)(caches->area_reach / DRY_AREA_UNIT), run = 0;

	for (uint32_t unit = 1; unit < total; unit++) {
		if (unit % 64 == 0 && caches->area_map[unit / 64] == UINT64_MAX) {
			unit += 63;
			run = 0;
			continue;
		}
		run = unit_used(caches, unit) ? 0 : run + 1;
		if (run < need)
			continue;
		uint32_t first = unit - need + 1, place = first * (DRY_AREA_UNIT / 8);
		mark_units(caches, first, need, true);
		init_fresh(cache, place);
		return place;
	}
	return 0;
}

uint32_t dry_slot_place_locked(struct dry_cache *cache)
{
	uint32_t place;

	do
		place = find_place(cache);
	while (place == 0 && areas_grow(cache->caches));
	return place;
}

void dry_slot_unplace_locked(struct dry_cache *cache, uint32_t place)
{
	if (place == 0)
		return;
	init_all(cache->caches, place, &(struct dry_array){ 0 });
	mark_units(cache->caches, place / (DRY_AREA_UNIT / 8), units_of(cache->room), false);
}

void dry_slot_renew_locked(struct dry_cache *cache)
{
	if (cache->place == 0)
		return;
	init_fresh(cache, cache->place);
}

/* For who remembers the area (port/here.h). release: what was done to the arrays is seen by who finds the number. */
static void set_number(char *area, uint32_t number)
{
	if (area != dry_stopped_area)
		__atomic_store_n((uint32_t *)(void *)(area + DRY_AREA_NUMBER), number, __ATOMIC_RELEASE);
}

void dry_slot_open_locked(struct dry_caches *caches, uint32_t slot)
{
	char *area;

	if (caches->areas[slot] != dry_stopped_area)
		return;
	area = dry_backing_area_alloc(&caches->backing, caches->area_reach, caches->area_size);
	if (area == NULL)
		return;
	for (struct dry_cache *cache = caches->first; cache != NULL; cache = cache->next) {
		if (cache->root == cache && cache->place != 0)
			fresh(cache, dry_area_array(area, cache->place));
	}
	set_number(area, is_stop(caches->stops) ? DRY_NUMBER_NOWHERE : slot);
	caches->areas[slot] = area;
	if (slot >= caches->slots_open)
		/* relaxed: a hint without the lock */
		__atomic_store_n(&caches->slots_open, slot + 1, __ATOMIC_RELAXED);
	if (!is_stop(caches->stops))
		set_slot(caches, slot, area);
}

/*
 * Only tried, for who waits here could have had an object from the node; but two threads that begin at once should both have
 * arrays: what they take from the node one by one may be neighbours in a cache line.
 */
static bool try_for_a_while(struct dry_lock *lock)
{
	for (unsigned tries = 0; tries < DRY_SLOT_TRIES; tries++)
		if (dry_lock_try(lock))
			return true;
	return false;
}

bool dry_slot_prepare(struct dry_caches *caches, bool frees)
{
	if (is_stop(stops_of(caches)) || !dry_port_slot_attach(frees))
		return false;
	uint32_t slot = dry_percpu_slot();
	if (slot >= caches->slot_count)
		return false;
	if (dry_slot_is_nowhere(caches, __atomic_load_n(&caches->slots[slot], __ATOMIC_ACQUIRE))) {
		if (!try_for_a_while(&caches->lock))
			return false;
		dry_slot_open_locked(caches, slot);
		dry_lock_release(&caches->lock);
	}
	const char *area = __atomic_load_n(&caches->slots[slot], __ATOMIC_ACQUIRE);
	if (dry_slot_is_nowhere(caches, area))
		return false;
	if (caches->remembered)
		dry_percpu_remember(area);
	return true;
}

static bool ends_in_a_while(const struct dry_caches *caches, uint32_t stop)
{
	unsigned tries = DRY_SLOT_TRIES;

	while (tries != 0 && stops_of(caches) == stop) {
		DRY_SPIN_HINT();
		tries--;
	}
	return tries != 0;
}

bool dry_slots_wait(struct dry_caches *caches)
{
	uint32_t stop = stops_of(caches);

	/* relaxed, as below: a hint */
	if (DRY_LIKELY(!is_stop(stop)) || !dry_lock_none_held() || __atomic_load_n(&caches->overdue, __ATOMIC_RELAXED))
		return false;
	/* with many CPUs a stop takes some of these whiles, and a pause is far longer than it */
	for (unsigned n = 0; n < WHILES + OVERDUE_MS; n++) {
		if (ends_in_a_while(caches, stop))
			return true;
		if (n >= WHILES)
			dry_backing_pause();
	}
	__atomic_store_n(&caches->overdue, true, __ATOMIC_RELAXED);
	return false;
}

bool dry_slots_stop_locked(struct dry_caches *caches)
{
	/* Another number, even if who made the last one never came to its end. relaxed: who sees it late asks again */
	__atomic_store_n(&caches->stops, (caches->stops + 1) | 1, __ATOMIC_RELAXED);
	/* those above have that already */
	for (uint32_t slot = 0; slot < caches->slots_open; slot++) {
		set_slot(caches, slot, caches->nowhere);
		set_number(caches->areas[slot], DRY_NUMBER_NOWHERE);
	}
	/* The fence is a full barrier on every thread: sequences that begin after it see the stores. */
	if (dry_port_slot_fence())
		return true;
	dry_slots_start_locked(caches);
	return false;
}

void dry_slots_start_locked(struct dry_caches *caches)
{
	for (uint32_t slot = 0; slot < caches->slots_open; slot++) {
		char *area = caches->areas[slot];

		set_number(area, slot);
		set_slot(caches, slot, area != dry_stopped_area ? area : caches->nowhere);
	}
	/* release: who need not wait finds its area */
	__atomic_store_n(&caches->stops, caches->stops + 1, __ATOMIC_RELEASE);
}
