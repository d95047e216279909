/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Countdowns: exact, whatever is refilled and flushed meanwhile; switched on and off; and allocations stay counted. */
#include "plain.h"

static struct rng rng;

/* Objects that are out. */
static void *out[3000];
static size_t n, allocated;

/* As who samples: what comes up goes elsewhere. Whether it did. */
static bool alloc_or_turn(struct dry_cache *cache, uint64_t gap)
{
	void *object = dry_fast_alloc(cache);

	if (object == NULL) {
		enum dry_countdown state = dry_countdown_pass(cache);
		if (state == DRY_COUNTDOWN_OVER || state == DRY_COUNTDOWN_UNARMED)
			CHECK_EQ(dry_countdown_take(cache, gap), state);
		if (state == DRY_COUNTDOWN_OVER)
			return true;
		object = dry_alloc_slow(cache, DRY_GFP_DEFAULT, DRY_NODE_ANY);
	}
	CHECK(object != NULL && n < sizeof(out) / sizeof(out[0]));
	out[n++] = object;
	allocated++;
	return false;
}

static void free_some(struct dry_cache *cache, size_t most)
{
	for (; most != 0 && n != 0; most--) {
		size_t i = rng_below(&rng, n);
		plain_free(cache, out[i]);
		out[i] = out[--n];
	}
}

/* As statistics have it: nothing is lost by a countdown. */
static void check_count(struct dry_cache *cache)
{
	const struct dry_node *node = &cache->node[0];
	int64_t count = (int64_t)(node->slow_allocs + node->bulk_allocs) + node->pops_apart;

	for (unsigned slot = 0; slot < cache->caches->slots_open; slot++)
		if (cache->caches->areas[slot] != dry_stopped_area)
			count += dry_word_pops(dry_area_array(cache->caches->areas[slot], cache->place)->word);
	CHECK_EQ((size_t)count, allocated);
	plain_holds(cache, n);
}

/* After each turn so many allocations, then the next. */
static void test_gaps(struct dry_caches *caches, unsigned limit, uint64_t gap)
{
	struct dry_cache *cache = plain_make(
		caches, &(struct dry_cache_attr){ .name = "gaps", .size = 40, .flags = DRY_CACHE_NO_MERGE, .limit = limit }, true);
	size_t turns = 0;

	for (allocated = 0; !alloc_or_turn(cache, gap);)
		free_some(cache, rng_below(&rng, 3));
	for (size_t since = 0; turns < 50 && allocated < 60000;) {
		if (alloc_or_turn(cache, gap)) {
			CHECK_EQ(since, gap);
			since = 0;
			turns++;
		} else {
			since++;
		}
		check_count(cache);
		free_some(cache, n > 2000 ? 1500 : rng_below(&rng, 3));
	}
	CHECK(turns == 50 || gap > 1000);
	free_some(cache, n);
	CHECK_EQ(dry_cache_unmake(cache), 0);
}

/* The longest that there is does not end at once, and is no other state. */
static void test_long(struct dry_caches *caches)
{
	struct dry_cache *cache = plain_make(caches, &(struct dry_cache_attr){ .name = "long", .size = 40 }, true);

	allocated = 0;
	for (unsigned i = 0; i < 1000; i++)
		CHECK(!alloc_or_turn(cache, UINT64_MAX));
	check_count(cache);
	free_some(cache, n);
	CHECK_EQ(dry_cache_unmake(cache), 0);
}

static size_t turns_in(struct dry_cache *cache, size_t tries, uint64_t gap)
{
	size_t turns = 0;

	for (size_t i = 0; i < tries; i++) {
		turns += alloc_or_turn(cache, gap);
		free_some(cache, 1);
	}
	check_count(cache);
	return turns;
}

/* While objects are out and in arrays. */
static void test_switch(struct dry_caches *caches)
{
	struct dry_cache *cache = plain_make(caches, &(struct dry_cache_attr){ .name = "switch", .size = 40 }, false);

	allocated = 0;
	for (unsigned i = 0; i < 5; i++) {
		CHECK_EQ(turns_in(cache, 500, 9), 0);
		CHECK(dry_countdown_all(caches, true));
		CHECK(dry_countdown_waits(cache));
		CHECK_EQ(turns_in(cache, 500, 9), 50);
		CHECK(dry_countdown_all(caches, false));
		/* The one that runs is the last, and whoever misses next finds that. */
		for (unsigned k = 0; k < 20; k++) {
			CHECK((out[n] = dry_fast_alloc(cache)) != NULL ||
			      (out[n] = dry_alloc_slow(cache, DRY_GFP_DEFAULT, DRY_NODE_ANY)) != NULL);
			n++;
			allocated++;
			free_some(cache, 1);
		}
		CHECK(!dry_countdown_waits(cache));
		check_count(cache);
	}
	/* On and off while none is over: as it was. */
	CHECK(dry_countdown_all(caches, true) && dry_countdown_all(caches, true));
	CHECK_EQ(turns_in(cache, 100, 9), 10);
	plain.no_fence = true;
	CHECK(!dry_countdown_all(caches, true));
	plain.no_fence = false;
	check_count(cache);
	free_some(cache, n);
	CHECK_EQ(dry_cache_unmake(cache), 0);
}

/* All that suit, with the second names of one; and those that are made while it is on. */
static void test_which(struct dry_caches *caches)
{
	static const unsigned flags[] = { 0, DRY_CACHE_NO_MERGE, DRY_CACHE_TYPESAFE_BY_RCU,
					  DRY_CACHE_NO_ARRAYS | DRY_CACHE_NO_MERGE };
	struct dry_cache *cache[2][5];

	for (unsigned after = 0; after < 2; after++) {
		for (unsigned i = 0; i < 4; i++)
			cache[after][i] = plain_cache(caches, "which", 40 + 8 * after, flags[i]);
		cache[after][4] = plain_cache(caches, "second", 40 + 8 * after, 0);
		CHECK(cache[after][4]->root == cache[after][0]);
		CHECK(after || (dry_countdown_all(caches, true) && caches->counted));
	}
	for (unsigned i = 0; i < 10; i++)
		CHECK_EQ(dry_countdown_waits(cache[i / 5][i % 5]), i % 5 != 2 && i % 5 != 3);
	CHECK(dry_countdown_all(caches, false) && !caches->counted);
	for (unsigned i = 0; i < 10; i++)
		CHECK_EQ(dry_cache_unmake(cache[i / 5][i % 5]), 0);
}

/* A slot whose area is new has arrays that wait; where there is no array there is no countdown. */
static void test_slots(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .slots = 3 });
	struct dry_cache *cache = plain_make(caches, &(struct dry_cache_attr){ .name = "slots", .size = 40 }, true);
	struct dry_cache *direct = plain_cache(caches, "direct", 40, DRY_CACHE_NO_ARRAYS | DRY_CACHE_NO_MERGE);

	for (plain.slot = 0; plain.slot < 3; plain.slot++) {
		plain_free(cache, dry_alloc_slow(cache, DRY_GFP_DEFAULT, DRY_NODE_ANY));
		CHECK(dry_countdown_waits(cache));
		CHECK_EQ(dry_countdown_pass(cache), DRY_COUNTDOWN_UNARMED);
		CHECK_EQ(dry_countdown_take(cache, 3), DRY_COUNTDOWN_UNARMED);
		CHECK_EQ(dry_countdown_take(cache, 3), DRY_COUNTDOWN_RUNNING);
		CHECK(!dry_countdown_waits(cache));
	}
	plain.slot = 0;
	plain_free(direct, plain_alloc(direct));
	CHECK_EQ(dry_countdown_pass(direct), DRY_COUNTDOWN_NONE);
	CHECK_EQ(dry_cache_unmake(cache) | dry_cache_unmake(direct), 0);
	plain_close(caches);
}

int main(int argc, char **argv)
{
	static const unsigned limits[] = { 1, 2, 64, 250 };
	static const unsigned gaps[] = { 1, 2, 7, 100, 5000 };
	struct dry_caches *caches;

	rng.state = test_seed(argc, argv);
	caches = plain_open(&(struct plain_attr){ .slots = 1 });
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		for (size_t k = 0; k < sizeof(gaps) / sizeof(gaps[0]); k++)
			test_gaps(caches, limits[i], gaps[k]);
	test_long(caches);
	test_switch(caches);
	test_which(caches);
	plain_close(caches);
	test_slots();
	return 0;
}
