/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Objects in and out through arrays, with countdowns and without: order, refill, flush, bulk, callers that move between slots. */
#include "plain.h"

static struct rng rng;

static struct dry_cache *make(struct dry_caches *caches, bool counted, unsigned limit)
{
	const struct dry_cache_attr attr = { .name = "arrays", .size = 48, .flags = DRY_CACHE_NO_MERGE, .limit = limit };
	struct dry_cache *cache = plain_make(caches, &attr, counted);

	CHECK_EQ(cache->countdowns == DRY_COUNTDOWNS_ON, counted);
	return cache;
}

static size_t slow(struct dry_cache *cache)
{
	return cache->node[0].slow_allocs + cache->node[0].slow_frees;
}

/* The last freed is the next allocated; a refill is one slow call for an array full. */
static void test_order(struct dry_caches *caches, bool counted, unsigned limit)
{
	struct dry_cache *cache = make(caches, counted, limit);
	void **objects = calloc(limit + 1, sizeof(void *)), *newest;

	for (unsigned i = 0; i < limit; i++) {
		objects[i] = plain_alloc(cache);
		/* In the order of addresses, as a fresh slab has them; of a big array, piece by piece. */
		CHECK(i == 0 || limit > DRY_PIECE || dry_slab_of(cache, objects[i]) != dry_slab_of(cache, objects[i - 1]) ||
		      (char *)objects[i] == (char *)objects[i - 1] + cache->size);
		plain_holds(cache, i + 1);
	}
	CHECK_EQ(slow(cache), (limit + cache->num - 1) / cache->num);
	for (unsigned i = 0; i < limit; i++)
		plain_free(cache, objects[i]);
	CHECK(plain_cached(cache) >= limit);
	plain_holds(cache, 0);
	newest = plain_alloc(cache);
	CHECK(newest == objects[limit - 1]);
	plain_free(cache, newest);
	free(objects);
	CHECK_EQ(dry_cache_unmake(cache), 0);
}

/* More frees than an array holds: the oldest go, the newest stay, none is lost. */
static void test_flush(struct dry_caches *caches, bool counted, unsigned limit)
{
	struct dry_cache *cache = make(caches, counted, limit);
	unsigned count = 5 * limit + 3;
	void **objects = calloc(count, sizeof(void *));

	for (unsigned i = 0; i < count; i++)
		CHECK((objects[i] = plain_alloc(cache)) != NULL);
	plain_holds(cache, count);
	for (unsigned i = 0; i < count; i++) {
		plain_free(cache, objects[i]);
		plain_holds(cache, count - 1 - i);
	}
	CHECK(plain_cached(cache) != 0);
	CHECK(plain_alloc(cache) == objects[count - 1]);
	plain_free(cache, objects[count - 1]);
	free(objects);
	CHECK_EQ(dry_cache_unmake(cache), 0);
}

static void test_bulk(struct dry_caches *caches, bool counted, unsigned limit)
{
	struct dry_cache *cache = make(caches, counted, limit);
	void *objects[2000];

	for (unsigned round = 0; round < 40; round++) {
		size_t n = rng_below(&rng, 2000);
		CHECK_EQ(dry_alloc_bulk(cache, DRY_GFP_DEFAULT, n, objects), n);
		for (size_t i = 0; i < n; i++)
			pattern_fill(objects[i], 48);
		plain_holds(cache, n);
		rng_shuffle(&rng, objects, n);
		for (size_t i = 0; i < n; i++)
			CHECK(pattern_holds(objects[i], 48));
		dry_free_bulk(cache, n, objects);
		plain_holds(cache, 0);
	}
	/* All or none. */
	caches->backing.fail_all = true;
	caches->backing.fail_at = 1;
	size_t more = dry_node_slabs(cache) * cache->num + 1;
	void **many = calloc(more, sizeof(void *));
	CHECK_EQ(dry_alloc_bulk(cache, DRY_GFP_DEFAULT, more, many), 0);
	plain_holds(cache, 0);
	free(many);
	caches->backing.fail_at = 0;
	caches->backing.fail_all = false;
	CHECK_EQ(dry_cache_unmake(cache), 0);
}

static void move_at_will(unsigned *slot)
{
	*slot = (unsigned)rng_below(&rng, 4);
}

/* The caller is on another slot at every sequence: what was made room for here finds none there. */
static void test_moving(struct dry_caches *caches, bool counted, unsigned limit)
{
	struct dry_cache *cache = make(caches, counted, limit);
	void *objects[700];
	size_t n = 0;

	plain.move = move_at_will;
	for (unsigned step = 0; step < 4000; step++) {
		bool grow = step / 500 % 2 == 0;
		if (n < 700 && (n == 0 || rng_below(&rng, 4) < (grow ? 3 : 1))) {
			CHECK((objects[n] = plain_alloc(cache)) != NULL);
			pattern_fill(objects[n++], 48);
		} else {
			size_t i = rng_below(&rng, n);
			CHECK(pattern_holds(objects[i], 48));
			plain_free(cache, objects[i]);
			objects[i] = objects[--n];
		}
		plain_holds(cache, n);
	}
	dry_free_bulk(cache, n, objects);
	plain.move = NULL;
	plain.slot = 0;
	CHECK_EQ(dry_cache_unmake(cache), 0);
}

/* No array, whatever is asked for: on a slot that cannot be had, or with the flag. Objects come from the node asked for. */
static void test_direct(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .nodes = 4 });
	struct dry_cache *cache = plain_cache(caches, "direct", 200, 0);
	void *object;

	for (int node = 0; node < 4; node++) {
		object = dry_alloc_slow(cache, DRY_GFP_DEFAULT, node);
		CHECK_EQ(dry_slab_node(cache, dry_slab_of(cache, object)), (unsigned)node);
		plain_holds(cache, 1);
		plain_free(cache, object);
	}
	caches->backing.home = 3;
	plain.no_slot = true;
	object = plain_alloc(cache);
	CHECK_EQ(dry_slab_node(cache, dry_slab_of(cache, object)), 3);
	plain_holds(cache, 1);
	plain_free(cache, object);
	plain_holds(cache, 0);
	/* How hard to look goes down to the backing. */
	dry_caches_reap(caches, DRY_REAP_ALL);
	CHECK(dry_alloc_slow(cache, PLAIN_GFP_NEVER, 0) == NULL);
	CHECK_EQ(dry_alloc_bulk(cache, PLAIN_GFP_NEVER, 1, &object), 0);
	plain_holds(cache, 0);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	plain_close(caches);
}

/* Wrong frees are reported, and change nothing. */
static void test_wrong_frees(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ 0 });
	struct dry_cache *cache = plain_cache(caches, "wrong", 64, DRY_CACHE_NO_MERGE), *other = plain_cache(caches, "other", 64,
													 DRY_CACHE_NO_MERGE);
	void *object = plain_alloc(cache), *pages;
	char local;
	const struct {
		struct dry_cache *cache;
		void *object;
		enum dry_fatal_code code;
	} wrong[] = {
		{ cache, &local, DRY_FATAL_INVALID_POINTER },
		{ cache, caches->backing.base + dry_backing_bytes(&caches->backing) - 8, DRY_FATAL_INVALID_POINTER },
		{ cache, (char *)object + 8, DRY_FATAL_INTERIOR },
		{ other, object, DRY_FATAL_WRONG_CACHE },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		plain_expect();
		dry_free_slow(wrong[i].cache, wrong[i].object);
		plain_expected(wrong[i].code, wrong[i].object);
		plain_holds(cache, 1);
		plain_holds(other, 0);
	}
	dry_free_slow(cache, NULL);
	pages = dry_backing_alloc(&caches->backing, 0, 0, 0, DRY_GFP_DEFAULT, 0); /* no slab: pages of somebody else's */
	CHECK(dry_backing_find(&caches->backing, dry_backing_address(&caches->backing, pages)) == NULL);
	dry_backing_free(&caches->backing, pages);
	/* Twice in a row, into an array with room and into a full one. */
	for (unsigned more = 0; more <= cache->limit; more += cache->limit) {
		void *objects[more + 1];
		for (unsigned i = 0; i <= more; i++)
			objects[i] = plain_alloc(cache);
		for (unsigned i = 0; i <= more; i++)
			plain_free(cache, objects[i]);
		plain_expect();
		plain_free(cache, objects[more]);
		plain_expected(DRY_FATAL_DOUBLE_FREE, objects[more]);
		plain_holds(cache, 1);
	}
	/* Free in its slab: a second free is seen. */
	plain_free(cache, object);
	dry_caches_reap(caches, DRY_REAP_IDLE);
	dry_caches_reap(caches, DRY_REAP_IDLE);
	plain_expect();
	dry_free_slow(cache, object);
	plain_expected(dry_node_slabs(cache) != 0 ? DRY_FATAL_DOUBLE_FREE : DRY_FATAL_INVALID_POINTER, object);
	plain_holds(cache, 0);
	CHECK_EQ(dry_cache_unmake(cache) | dry_cache_unmake(other), 0);
	plain_close(caches);
}

/* Limits that change while objects are in use: what arrays and depots held is in the slabs, and nothing is lost. */
static void test_tune(struct dry_caches *caches, bool counted, unsigned limit)
{
	struct dry_cache *cache = make(caches, counted, limit);
	void *objects[600];
	size_t left;

	for (unsigned to = limit; to != 0; to /= 2) {
		for (unsigned i = 0; i < 600; i++)
			objects[i] = plain_alloc(cache);
		for (unsigned i = 0; i < 300; i++)
			plain_free(cache, objects[i]);
		CHECK(plain_cached(cache) != 0);
		CHECK(dry_cache_tune(cache, to, (to + 1) / 2));
		CHECK_EQ(cache->limit, to);
		plain_holds(cache, 300);
		for (unsigned i = 300; i < 600; i++) {
			plain_free(cache, objects[i]);
			left = dry_array_avail(dry_area_array(caches->areas[plain.slot], cache->place));
			CHECK(left <= to);
		}
		plain_holds(cache, 0);
	}
	CHECK(dry_cache_tune(cache, limit, limit)); /* and back, as large as they were made */
	plain_free(cache, plain_alloc(cache));
	plain.no_fence = true;
	CHECK(!dry_cache_tune(cache, 1, 1) && cache->limit == limit);
	plain.no_fence = false;
	plain_holds(cache, 0);
	CHECK_EQ(dry_cache_unmake(cache), 0);
}

int main(int argc, char **argv)
{
	static const unsigned limits[] = { 1, 2, 7, 63, 64, 65, 128, 250 };

	rng.state = test_seed(argc, argv);
	for (unsigned counted = 0; counted < 2; counted++) {
		struct dry_caches *caches = plain_open(&(struct plain_attr){ .slots = 4 });
		plain.gap = 9;
		for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
			test_order(caches, counted, limits[i]);
			test_flush(caches, counted, limits[i]);
			test_bulk(caches, counted, limits[i]);
			test_moving(caches, counted, limits[i]);
			test_tune(caches, counted, limits[i]);
			CHECK_EQ(caches->area_map[0], 1); /* no place is lost */
		}
		plain_close(caches);
	}
	test_direct();
	test_wrong_frees();
	return 0;
}
