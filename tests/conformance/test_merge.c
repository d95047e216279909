/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Merging: like caches share slabs under names of their own, unless one asks for its own. */
#include "../support/exercise.h"

struct names {
	const char *name[3];
	unsigned seen;
};

static int note_name(dry_cache *cache, void *arg)
{
	struct names *names = arg;

	for (int i = 0; i < 3; i++)
		if (names->name[i] && !strcmp(stats_of(cache).name, names->name[i]))
			names->seen |= 1u << i;
	return 0;
}

static void construct(void *object, void *arg)
{
	(void)arg;
	*(char *)object = 1;
}

static dry_cache *dead;

static int is_dead(dry_cache *cache, void *arg)
{
	(void)arg;
	return cache == dead;
}

/* Likes share: only one cache is counted, all see the same slabs, and each keeps its name. */
static void test_aliases(dry_heap *heap)
{
	const int n = (int)test_fit(300, 1234);
	size_t before, with_one;
	dry_cache *a, *b, *c;
	void *objects[300];

	a = make_cache(heap, "merge-a", 1234, 0, 0);
	before = heap_stats_of(heap).caches;
	b = make_cache(heap, "merge-b", 1234, 0, 0);
	c = make_cache(heap, "merge-c", 1234, 0, 0);
	with_one = heap_stats_of(heap).caches;
	CHECK(a && b && c);
	CHECK_EQ(before, with_one);
	CHECK(!strcmp(stats_of(a).name, "merge-a"));
	CHECK(!strcmp(stats_of(b).name, "merge-b"));
	CHECK(!strcmp(stats_of(c).name, "merge-c"));
	CHECK(stats_of(a).aliases >= 2);
	for (int i = 0; i < n; i++) {
		objects[i] = dry_cache_alloc(i % 3 == 0 ? a : i % 3 == 1 ? b : c);
		CHECK(objects[i]);
		pattern_fill(objects[i], 1234);
	}
	CHECK_EQ(stats_of(a).objects, stats_of(b).objects);
	CHECK_EQ(stats_of(a).active_objects, n);
	CHECK_EQ(dry_cache_destroy(b), 0); /* taken off the list; its objects live on */
	CHECK_EQ(stats_of(a).aliases, stats_of(c).aliases);
	for (int i = 0; i < n; i++) {
		CHECK(pattern_holds(objects[i], 1234));
		dry_cache_free(i % 2 ? a : c, objects[i]);
	}
	CHECK_EQ(stats_of(a).active_objects, 0);
	CHECK_EQ(dry_cache_destroy(a), 0);
	dead = a;
	CHECK_EQ(dry_heap_for_each_cache(heap, is_dead, NULL), 0); /* its slabs may be there for the others */
	CHECK_EQ(dry_cache_destroy(c), 0);
	CHECK_EQ(heap_stats_of(heap).caches, before - 1);
	CHECK_EQ(dry_heap_check(heap), 0);
}

/* The first of two likes may go first; the other keeps working. */
static void test_original_goes_first(dry_heap *heap)
{
	dry_cache *a = make_cache(heap, "first", 1300, 0, 0);
	dry_cache *b = make_cache(heap, "second", 1300, 0, 0);
	void *object;

	CHECK(a && b);
	CHECK_EQ(dry_cache_destroy(a), 0);
	CHECK(!strcmp(stats_of(b).name, "second"));
	object = dry_cache_alloc(b);
	CHECK(object);
	memset(object, 1, 1300);
	dry_cache_free(b, object);
	CHECK_EQ(dry_cache_destroy(b), 0);
	CHECK_EQ(dry_heap_check(heap), 0);
}

static void test_listed(dry_heap *heap)
{
	dry_cache *a = make_cache(heap, "listed-a", 1400, 0, 0);
	dry_cache *b = make_cache(heap, "listed-b", 1400, 0, DRY_CACHE_NO_MERGE);
	struct names names = { { "listed-a", "listed-b", NULL }, 0 };

	CHECK(a && b);
	CHECK_EQ(dry_heap_for_each_cache(heap, note_name, &names), 0);
	CHECK_EQ(names.seen, 3);
	CHECK_EQ(dry_cache_destroy(a), 0);
	CHECK_EQ(dry_cache_destroy(b), 0);
}

static int find_order(dry_cache *cache, void *arg)
{
	struct names *names = arg;

	for (unsigned i = 0; i < 3; i++)
		if (names->name[i] && !strcmp(stats_of(cache).name, names->name[i]))
			names->seen = names->seen << 2 | (i + 1);
	return 0;
}

/* Destroyed names are on no list, not even as that of who has the slabs; one that has to stay keeps its place there. */
static void test_list_after_destroy(dry_heap *heap)
{
	struct names order = { { "stays", "later", NULL }, 0 }, gone = { { "first", "second", NULL }, 0 };
	dry_cache *first = make_cache(heap, "first", 1300, 0, 0);
	dry_cache *stays = make_cache(heap, "stays", 1300, 0, 0);
	dry_cache *second = make_cache(heap, "second", 1300, 0, 0);
	dry_cache *later = make_cache(heap, "later", 1300, 0, DRY_CACHE_NO_MERGE);

	CHECK(first && stays && second && later);
	void *object = dry_cache_alloc(stays);
	CHECK(object);
	CHECK_EQ(dry_cache_destroy(first), 0);
	CHECK_EQ(dry_cache_destroy(second), 0);
	CHECK_EQ(dry_heap_for_each_cache(heap, note_name, &gone), 0);
	CHECK_EQ(gone.seen, 0);
	CHECK_EQ(dry_cache_destroy(stays), -EBUSY);
	CHECK_EQ(stats_of(stays).active_objects, 1);
	CHECK_EQ(dry_heap_for_each_cache(heap, find_order, &order), 0);
	CHECK_EQ(order.seen & 3, 2);
	CHECK_EQ(order.seen >> 2 & 3, 1);
	dry_cache_free(stays, object);
	CHECK_EQ(dry_cache_destroy(stays), 0);
	CHECK_EQ(dry_cache_destroy(later), 0);
	CHECK_EQ(dry_heap_check(heap), 0);
}

/* What must not be shared. */
static void test_not_merged(dry_heap *heap)
{
	static const struct dry_cache_attr attrs[] = {
		{ .name = "own", .size = 1234, .flags = DRY_CACHE_NO_MERGE },
		{ .name = "ctor", .size = 1234, .ctor = construct },
		{ .name = "typed", .size = 1234, .flags = DRY_CACHE_BITMAP },
		{ .name = "poison", .size = 1234, .flags = DRY_CACHE_POISON },
		{ .name = "bigger", .size = 1320 },
		{ .name = "aligned", .size = 1234, .align = 1024 },
	};
	dry_cache *first = make_cache(heap, "first", 1234, 0, 0);

	CHECK(first);
	for (size_t i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++) {
		if (test_is_tiny() && (attrs[i].flags & (DRY_CACHE_BITMAP | DRY_CACHE_POISON))) /* not to be had */
			continue;
		size_t before = heap_stats_of(heap).caches;
		dry_cache *own = dry_cache_create(heap, &attrs[i]);
		dry_cache *like = dry_cache_create(heap, &attrs[i]);
		void *object;

		CHECK(own && like);
		CHECK_EQ(heap_stats_of(heap).caches, before + 1 + (i < 4));
		object = dry_cache_alloc(own);
		CHECK(object);
		CHECK_EQ(stats_of(first).active_objects, 0);
		CHECK_EQ(stats_of(own).active_objects, 1);
		dry_cache_free(own, object);
		CHECK_EQ(dry_cache_destroy(like), 0);
		CHECK_EQ(dry_cache_destroy(own), 0);
		CHECK_EQ(heap_stats_of(heap).caches, before);
	}
	CHECK_EQ(dry_cache_destroy(first), 0);
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };
	dry_heap *heap = dry_heap_create(NULL);

	CHECK(heap);
	for (size_t round = 0; round < 20; round++) {
		test_aliases(heap);
		test_original_goes_first(heap);
		test_listed(heap);
		test_list_after_destroy(heap);
		test_not_merged(heap);
	}
	dry_cache *cache = make_cache(heap, "exercised", 1234, 0, 0);
	dry_cache *alias = make_cache(heap, "as", 1234, 0, 0);
	CHECK(cache && alias);
	exercise_cache(heap, alias, test_scaled(20000), &rng);
	CHECK_EQ(dry_cache_destroy(cache), 0);
	CHECK_EQ(dry_cache_destroy(alias), 0);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	return 0;
}
