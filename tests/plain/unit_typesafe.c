/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Constructors, destructors and grace periods: each object is made once and unmade once, and its slab waits as asked. */
#include "plain.h"

#define UNIT 8 /* objects start at multiples of it */

/* What the test knows of each place in the backing where an object may start. */
static struct {
	struct dry_caches *caches;
	bool *made; /* [bytes / UNIT] */
	size_t ctors, dtors;
} known;

static int argument;

static bool *made_at(void *object)
{
	return &known.made[((size_t)((char *)object - known.caches->backing.base)) / UNIT];
}

static void make(void *object, void *arg)
{
	CHECK(arg == &argument && !*made_at(object));
	*made_at(object) = true;
	known.ctors++;
	pattern_fill(object, 24);
}

static void unmake(void *object, void *arg)
{
	CHECK(arg == &argument && *made_at(object));
	CHECK(pattern_holds(object, 24)); /* freed as constructed, and nobody wrote there since */
	*made_at(object) = false;
	known.dtors++;
}

/* ---- the grace period -------------------------------------------------------------------------- */

static struct dry_grace_head *first_call;
static unsigned calls, barriers;

static void call(void *arg, struct dry_grace_head *head, void (*func)(struct dry_grace_head *head))
{
	CHECK(arg == &calls);
	head->func = func;
	head->opaque[0] = first_call;
	first_call = head;
	calls++;
}

static void pass(void)
{
	while (first_call != NULL) {
		struct dry_grace_head *head = first_call;
		first_call = head->opaque[0];
		head->func(head);
	}
}

static void barrier(void *arg)
{
	CHECK(arg == &calls);
	barriers++;
	pass();
}

static const struct dry_grace grace = { .call = call, .barrier = barrier, .arg = &calls };

static struct dry_caches *open(unsigned nodes)
{
	known.caches = plain_open(&(struct plain_attr){ .nodes = nodes, .slots = 3, .grace = &grace });
	known.made = calloc(dry_backing_bytes(&known.caches->backing) / UNIT, 1);
	known.ctors = known.dtors = 0;
	calls = barriers = 0;
	return known.caches;
}

static void close_all(void)
{
	CHECK_EQ(known.ctors, known.dtors);
	CHECK(known.ctors != 0 && first_call == NULL);
	plain_close(known.caches);
	free(known.made);
}

static struct dry_cache *cache_of(struct dry_caches *caches, size_t size, unsigned flags, bool counted)
{
	const struct dry_cache_attr attr = { .name = "made", .size = size, .flags = flags,
					     .ctor = make, .dtor = unmake, .arg = &argument };

	return plain_make(caches, &attr, counted);
}

/* Through arrays, depots and slabs of each type an object stays as it was made. */
static void test_made(unsigned flags, size_t size, bool counted)
{
	struct dry_caches *caches = open(2);
	struct dry_cache *cache = cache_of(caches, size, flags, counted);
	struct rng rng = { flags + size };
	void *objects[1000];
	size_t n = 0;

	for (unsigned step = 0; step < 6000; step++) {
		caches->backing.home = (unsigned)rng_below(&rng, 2);
		plain.slot = (unsigned)rng_below(&rng, 3);
		if (n < 1000 && rng_below(&rng, 2000) > n * 2) {
			objects[n] = plain_alloc(cache);
			CHECK(objects[n] != NULL && *made_at(objects[n]) && pattern_holds(objects[n], 24));
			n++;
		} else if (n != 0) {
			plain_free(cache, objects[--n]);
		}
		if (step % 500 == 0)
			dry_caches_reap(caches, step % 1000 == 0 ? DRY_REAP_ALL : DRY_REAP_IDLE);
		if (rng_below(&rng, 500) == 0)
			pass();
		CHECK_EQ(known.ctors - known.dtors,
			 (dry_node_slabs(cache) + cache->deferred) * cache->num);
	}
	plain_holds(cache, n);
	dry_free_bulk(cache, n, objects);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	close_all();
}

/* A slab that waits keeps its memory and what is in it. Destroy waits, too. */
static void test_waits(unsigned flags)
{
	struct dry_caches *caches = open(1);
	struct dry_cache *cache = cache_of(caches, 64, flags | DRY_CACHE_TYPESAFE_BY_RCU | DRY_CACHE_NO_ARRAYS, false);
	void *object = plain_alloc(cache);
	size_t freed;

	plain_free(cache, object);
	CHECK(dry_cache_empty(cache, &freed));
	CHECK_EQ(freed, 1);
	CHECK(calls == 1 && cache->deferred == 1);
	CHECK_EQ(dry_node_slabs(cache), 0);
	CHECK_EQ(caches->backing.blocks_out, 1);
	CHECK_EQ(known.dtors, 0);
	CHECK(pattern_holds(object, 24));
	/* Another slab meanwhile, elsewhere. */
	void *next = plain_alloc(cache);
	CHECK(dry_slab_of(cache, next) != dry_slab_of(cache, object));
	plain_free(cache, next);
	pass();
	CHECK_EQ(cache->deferred, 0);
	CHECK_EQ(known.dtors, cache->num);
	CHECK_EQ(caches->backing.blocks_out, 1);
	CHECK(!pattern_holds(object, 24));
	CHECK_EQ(barriers, 0);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	CHECK_EQ(barriers, 1);
	close_all();
}

/* A slab whose list cannot be had is unmade at once; nobody saw it, so it need not wait. */
static void test_half_made(unsigned flags)
{
	struct dry_caches *caches = open(1);
	struct dry_cache *cache = cache_of(caches, 64, flags | DRY_CACHE_OFF_SLAB | DRY_CACHE_NO_ARRAYS, false);

	caches->backing.fail_at = caches->backing.calls + 2; /* pages, then the list */
	CHECK(dry_slab_new(cache, 0, DRY_GFP_DEFAULT, 0) == NULL);
	CHECK_EQ(caches->backing.refused, 1);
	CHECK_EQ(known.ctors, cache->num);
	CHECK_EQ(known.dtors, cache->num);
	CHECK(caches->backing.blocks_out == 0 && calls == 0);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	close_all();
}

int main(void)
{
	static const unsigned types[] = { 0, DRY_CACHE_NORMAL, DRY_CACHE_OFF_SLAB, DRY_CACHE_BITMAP };

	for (unsigned safe = 0; safe <= DRY_CACHE_TYPESAFE_BY_RCU; safe += DRY_CACHE_TYPESAFE_BY_RCU) {
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
			test_made(types[i] | safe, 32, false);
			test_made(types[i] | safe | DRY_CACHE_NO_MERGE, 600, i % 2 == 0);
			test_made(types[i] | safe | DRY_CACHE_NO_ARRAYS, 3000, false);
		}
		test_half_made(safe);
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		test_waits(types[i]);
	return 0;
}
