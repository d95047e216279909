/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Slots: their areas, the places of arrays in them, stopping and draining. */
#include "plain.h"

#define SLOTS 5

/* An object in the array of each slot; their number. */
static unsigned one_each(struct dry_cache *cache)
{
	for (plain.slot = 0; plain.slot < SLOTS; plain.slot++) {
		void *object = plain_alloc(cache);
		CHECK(object != NULL);
		plain_free(cache, object);
	}
	plain.slot = 0;
	plain_holds(cache, 0);
	return SLOTS;
}

static struct dry_array *array_of(struct dry_cache *cache, unsigned slot)
{
	return dry_area_array(cache->caches->areas[slot], cache->place);
}

/* Areas come with the first miss on a slot; one that comes late has the arrays of all caches. */
static void test_areas(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .slots = SLOTS });
	struct dry_cache *first = plain_cache(caches, "first", 64, DRY_CACHE_NO_MERGE), *second;
	size_t metadata = caches->backing.meta_out;

	for (unsigned slot = 0; slot < SLOTS; slot++)
		CHECK(caches->areas[slot] == dry_stopped_area && caches->slots[slot] == dry_stopped_area);
	plain.slot = 2;
	CHECK(dry_slot_prepare(caches, false) && dry_slot_prepare(caches, false));
	CHECK_EQ(caches->backing.meta_out, metadata + 1);
	CHECK(caches->slots[2] == caches->areas[2] && caches->areas[2] != dry_stopped_area);
	CHECK_EQ(array_of(first, 2)->limit, first->limit);
	second = plain_cache(caches, "second", 200, 0);
	CHECK_EQ(array_of(second, 2)->limit, second->limit);
	CHECK(second->place > first->place && first->place % (DRY_AREA_UNIT / 8) == 0);
	plain.slot = 4;
	CHECK(dry_slot_prepare(caches, false));
	CHECK(array_of(first, 4)->limit == first->limit && array_of(second, 4)->limit == second->limit);
	/* No slot to be had, no memory, a lock that is somebody's: then without arrays. */
	plain.no_slot = true;
	CHECK(!dry_slot_prepare(caches, false));
	plain.no_slot = false;
	plain.slot = 1;
	plain.no_try = true;
	CHECK(!dry_slot_prepare(caches, false));
	plain.no_try = false;
	caches->backing.fail_at = caches->backing.calls + 1;
	CHECK(!dry_slot_prepare(caches, false));
	CHECK(dry_slot_prepare(caches, false));
	CHECK_EQ(dry_cache_unmake(first) | dry_cache_unmake(second), 0);
	plain_close(caches);
}

/* Places until there are none, each array whole and apart from the others; one that is given back is found again. */
static void test_places(size_t area_size)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .area_size = area_size, .slots = 2 });
	struct dry_cache_attr attr = { .name = "place", .size = 64, .flags = DRY_CACHE_NO_MERGE };
	static struct dry_cache *cache[3000];
	unsigned count = 0;

	CHECK(dry_slot_prepare(caches, false));
	do {
		CHECK(count < 3000);
		attr.limit = 16 + count % 3 * 40;
		cache[count] = plain_make(caches, &attr, false);
		CHECK_EQ(cache[count]->place, cache[count]->place);
	} while (cache[count++]->place != 0);
	for (unsigned i = 0; i + 1 < count; i++) {
		size_t start = cache[i]->place * 8;
		size_t end = start + sizeof(struct dry_array) + (cache[i]->limit + 1) * sizeof(void *);
		CHECK(start >= DRY_AREA_UNIT && start % DRY_AREA_UNIT == 0 && end <= area_size);
		CHECK(i == 0 || start >= cache[i - 1]->place * 8u + sizeof(struct dry_array) +
						 (cache[i - 1]->limit + 1) * sizeof(void *));
	}
	/* Without a place it works on slabs alone. */
	void *object = plain_alloc(cache[count - 1]);
	CHECK(object != NULL);
	plain_holds(cache[count - 1], 1);
	plain_free(cache[count - 1], object);
	uint32_t place = cache[count / 2]->place;
	attr.limit = cache[count / 2]->limit;
	CHECK_EQ(dry_cache_unmake(cache[count / 2]), 0);
	CHECK_EQ(dry_area_array(caches->areas[0], place)->limit, 0);
	cache[count / 2] = plain_make(caches, &attr, false);
	CHECK_EQ(cache[count / 2]->place, place);
	while (count-- > 0)
		CHECK_EQ(dry_cache_unmake(cache[count]), 0);
	CHECK_EQ(caches->area_map[0], 1);
	plain_close(caches);
}

/*
 * Areas begin small. When their places are given out all grow, and the stopped area with them, or none does: for want of memory for
 * that or for one of them, or of a fence.
 */
static void test_growth(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .area_size = DRY_AREA_MAX, .slots = SLOTS });
	struct dry_cache_attr attr = { .name = "grown", .size = 64, .limit = DRY_MAX_LIMIT, .flags = DRY_CACHE_NO_MERGE };
	struct dry_cache *cache[100], *last;
	size_t bytes = dry_round_up(sizeof(struct dry_array) + DRY_MAX_LIMIT * sizeof(void *), DRY_AREA_UNIT);
	unsigned count = 0;

	for (plain.slot = 1; plain.slot < 4; plain.slot++)
		CHECK(dry_slot_prepare(caches, false));
	for (; count < (DRY_AREA_FIRST - DRY_AREA_UNIT) / bytes; count++)
		cache[count] = plain_make(caches, &attr, false);
	CHECK(cache[count - 1]->place != 0);
	CHECK_EQ(caches->area_reach, DRY_AREA_FIRST);
	CHECK(caches->nowhere == dry_stopped_area);
	/* calls: the struct, the stopped area, three areas */
	for (unsigned refused = 2; refused <= 5; refused++) {
		caches->backing.fail_at = caches->backing.calls + (refused > 3 ? refused - 1 : refused);
		last = plain_make(caches, &attr, false);
		CHECK_EQ(last->place, 0);
		CHECK_EQ(caches->area_reach, DRY_AREA_FIRST);
		CHECK_EQ(dry_cache_unmake(last), 0);
	}
	caches->backing.fail_at = 0;
	plain.no_fence = true;
	last = plain_make(caches, &attr, false);
	CHECK_EQ(last->place, 0);
	plain.no_fence = false;
	CHECK_EQ(dry_cache_unmake(last), 0);
	last = plain_make(caches, &attr, false);
	CHECK(last->place != 0 && last->place * 8u + DRY_MAX_LIMIT * sizeof(void *) > DRY_AREA_FIRST);
	CHECK_EQ(caches->area_reach, 2 * DRY_AREA_FIRST);
	/* Stopped, and on slots that have no area, its array is empty and full, too. */
	CHECK(caches->nowhere != dry_stopped_area);
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		CHECK(caches->slots[slot] == (slot == 0 || slot == 4 ? caches->nowhere : caches->areas[slot]));
		CHECK_EQ(dry_area_array(caches->slots[slot], last->place)->limit, slot == 0 || slot == 4 ? 0 : last->limit);
	}
	dry_lock_acquire(&caches->lock);
	CHECK(dry_slots_stop_locked(caches));
	for (unsigned slot = 0; slot < SLOTS; slot++)
		CHECK(caches->slots[slot] == caches->nowhere);
	dry_slots_start_locked(caches);
	dry_lock_release(&caches->lock);
	CHECK_EQ(one_each(last), SLOTS);
	CHECK(caches->slots[0] == caches->areas[0] && array_of(last, 0)->limit == last->limit);
	CHECK_EQ(dry_cache_unmake(last), 0);
	while (count-- > 0)
		CHECK_EQ(dry_cache_unmake(cache[count]), 0);
	plain_close(caches);
}

static struct dry_cache *under_test;

/* What another thread finds while the slots are stopped: no array, and objects all the same. */
static void use_while_stopped(void)
{
	struct dry_caches *caches = under_test->caches;
	void *object;

	CHECK((caches->stops & 1) && !dry_slot_prepare(caches, false));
	for (unsigned slot = 0; slot < SLOTS; slot++)
		CHECK(caches->slots[slot] == dry_stopped_area && caches->areas[slot] != dry_stopped_area);
	CHECK(dry_fast_alloc(under_test) == NULL);
	object = plain_alloc(under_test);
	CHECK(object != NULL && !dry_fast_free(under_test, object));
	plain_holds(under_test, 1);
	plain_free(under_test, object);
	plain_holds(under_test, 0);
}

static void test_stop(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .slots = SLOTS });
	struct dry_cache_attr attr = { .name = "stop", .size = 64, .flags = DRY_CACHE_NO_MERGE, .limit = 50 };
	struct dry_cache *cache = plain_make(caches, &attr, false), *other = plain_cache(caches, "other", 64, DRY_CACHE_NO_MERGE);
	size_t cached, freed;

	one_each(cache);
	one_each(other);
	cached = plain_cached(cache);
	/* A thread that stays inside of a sequence: all is left as it is. */
	plain.no_fence = true;
	under_test = cache;
	plain.at_fence = use_while_stopped;
	CHECK(!dry_cache_empty(cache, &freed));
	CHECK_EQ(plain.fences, 1);
	CHECK_EQ(plain_cached(cache), cached);
	CHECK(!(caches->stops & 1) && caches->slots[3] == caches->areas[3]);
	plain.no_fence = false;
	CHECK(dry_cache_empty(cache, &freed));
	CHECK_EQ(plain.fences, 2);
	CHECK_EQ(plain_cached(cache), 0);
	CHECK_EQ(dry_node_slabs(cache), 0);
	CHECK(plain_cached(other) != 0); /* one cache alone */
	CHECK(dry_cache_empty(cache, &freed));
	CHECK_EQ(plain.fences, 2); /* nothing to drain, so none is stopped */
	plain.at_fence = NULL;
	plain_holds(cache, 0);
	plain_holds(other, 0);
	/* It goes on as before. */
	one_each(cache);
	CHECK(plain_cached(cache) != 0);
	CHECK_EQ(dry_cache_unmake(cache) | dry_cache_unmake(other), 0);
	plain_close(caches);
}

/* A reap of what is idle leaves arrays that were used since the last. */
static void test_untouched(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .slots = SLOTS });
	struct dry_cache *cache = plain_cache(caches, "idle", 64, 0);
	unsigned full;

	one_each(cache);
	dry_caches_reap(caches, DRY_REAP_IDLE);
	full = (unsigned)plain_cached(cache);
	CHECK(full != 0);
	plain.slot = 3;
	plain_free(cache, plain_alloc(cache));
	dry_caches_reap(caches, DRY_REAP_IDLE);
	CHECK_EQ(plain_cached(cache), full / SLOTS);
	CHECK_EQ(dry_array_avail(array_of(cache, 3)), full / SLOTS);
	dry_caches_reap(caches, DRY_REAP_IDLE);
	CHECK_EQ(plain_cached(cache), 0);
	dry_caches_reap(caches, DRY_REAP_ALL);
	CHECK_EQ(dry_node_slabs(cache), 0);
	plain_holds(cache, 0);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	plain_close(caches);
}

int main(void)
{
	test_areas();
	test_places(4096);
	test_places((size_t)64 << 10);
	test_places((size_t)160 << 10);
	test_places(DRY_AREA_MAX);
	test_growth();
	test_stop();
	test_untouched();
	return 0;
}
