/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Local, shared and alien arrays, on up to eight nodes. */
#include "plain.h"

#define SIZE 1024

static void test_put_take(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ 0 });
	struct dry_cache *cache = plain_cache(caches, "depot", SIZE, 0);
	struct dry_depot *shared = &cache->node[0].shared;
	unsigned most = DRY_SHARED_FACTOR * cache->batchcount;
	void **objects = calloc(most + 1, sizeof(void *)), *taken[4];
	size_t metadata = caches->backing.meta_out;

	for (unsigned i = 0; i <= most; i++)
		CHECK_EQ(dry_node_refill(cache, 0, DRY_GFP_DEFAULT, objects + i, 1), 1);
	/* Its memory comes when it is to be used. */
	CHECK_EQ(shared->limit, 0);
	CHECK(!dry_depot_put(shared, objects, 1));
	dry_depot_prepare(cache, shared, DRY_SHARED_FACTOR);
	CHECK(dry_depot_put(shared, objects, most - 2));
	CHECK_EQ(shared->limit, most);
	CHECK_EQ(caches->backing.meta_out, metadata + 1);
	CHECK(!dry_depot_put(shared, objects + most - 2, 3)); /* all or nothing */
	CHECK(dry_depot_put(shared, objects + most - 2, 2));
	CHECK_EQ(shared->moves, 4);
	plain_holds(cache, 1);
	/* The newest come out, as they went in. */
	CHECK_EQ(dry_depot_take(shared, taken, 4), 4);
	CHECK(memcmp(taken, objects + most - 4, sizeof(taken)) == 0);
	dry_depot_close(cache, shared, false); /* not empty: nothing happens */
	CHECK_EQ(shared->limit, most);
	CHECK_EQ(dry_depot_take(shared, objects, most), most - 4);
	CHECK_EQ(dry_depot_take(shared, objects, most), 0);
	dry_depot_close(cache, shared, false);
	CHECK(shared->limit == 0 && shared->entry == NULL);
	CHECK_EQ(caches->backing.meta_out, metadata);
	/* Without memory for it, it takes nothing. */
	caches->backing.fail_at = caches->backing.calls + 1;
	dry_depot_prepare(cache, shared, DRY_SHARED_FACTOR);
	CHECK(!dry_depot_put(shared, taken, 1));
	dry_node_put_slabs(cache, taken, 4);
	dry_node_put_slabs(cache, objects, most - 4);
	dry_node_put_slabs(cache, objects + most, 1);
	free(objects);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	plain_close(caches);
}

/* Who gives memory for a depot may use the depot itself, and be first. */
static struct dry_cache *nested;
static void *nested_object;

static void nest(void)
{
	dry_depot_prepare(nested, &nested->node[0].shared, DRY_SHARED_FACTOR);
	CHECK(dry_depot_put(&nested->node[0].shared, &nested_object, 1));
}

static void test_nested(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ 0 });
	struct dry_depot *shared;
	size_t metadata;
	void *taken[2];

	nested = plain_cache(caches, "nested", SIZE, 0);
	shared = &nested->node[0].shared;
	CHECK_EQ(dry_node_refill(nested, 0, DRY_GFP_DEFAULT, &nested_object, 1), 1);
	metadata = caches->backing.meta_out;
	caches->backing.on_meta = nest;
	dry_depot_prepare(nested, shared, DRY_SHARED_FACTOR);
	CHECK(caches->backing.on_meta == NULL);
	CHECK_EQ(caches->backing.meta_out, metadata + 1);
	CHECK_EQ(dry_depot_take(shared, taken, 2), 1);
	CHECK(taken[0] == nested_object);
	dry_depot_close(nested, shared, false);
	CHECK_EQ(caches->backing.meta_out, metadata);
	dry_node_put_slabs(nested, taken, 1);
	CHECK_EQ(dry_cache_unmake(nested), 0);
	plain_close(caches);
}

/* Puts until one finds no room; the number of objects that found some. */
static unsigned fill(struct dry_depot *depot, void **objects)
{
	unsigned count = 0;

	while (dry_depot_put(depot, objects + count, 8))
		count += 8;
	return count;
}

/* One that was too small, then empty, holds twice as much the next time, up to a bound; what is not needed goes. */
static void test_growth(void)
{
	enum { MOST = 32768 };
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .pages = 32768 });
	struct dry_cache *cache = plain_cache(caches, "growth", 2048, 0);
	struct dry_depot *shared = &cache->node[0].shared;
	unsigned usual = DRY_SHARED_FACTOR * cache->batchcount, last = 0, count;
	static void *objects[MOST], *taken[MOST];
	size_t metadata;

	for (unsigned i = 0; i < MOST; i++)
		CHECK_EQ(dry_node_refill(cache, 0, DRY_GFP_DEFAULT, objects + i, 1), 1);
	dry_depot_prepare(cache, shared, DRY_SHARED_FACTOR);
	for (unsigned round = 0; (count = fill(shared, objects)) != last; round++) {
		CHECK_EQ(count, usual << round);
		CHECK(count < MOST - 8);
		CHECK_EQ(dry_depot_take(shared, taken, count - 1), count - 1);
		CHECK_EQ(dry_depot_take(shared, taken, 1), 1);
		CHECK(taken[0] == objects[0]);
		dry_depot_prepare(cache, shared, DRY_SHARED_FACTOR);
		last = count;
	}
	CHECK(last > usual && (last - usual) * cache->size <= (size_t)32 << 20);
	CHECK_EQ(caches->depots_grown, (last - usual) * cache->size);
	/* As many as were never taken since it was looked at. */
	dry_node_drain_depots(cache, 0);
	CHECK_EQ(shared->avail, last);
	CHECK_EQ(dry_depot_take(shared, taken, 16), 16);
	CHECK(dry_depot_put(shared, taken, 8));
	dry_node_drain_depots(cache, 0);
	CHECK_EQ(shared->avail, 8);
	CHECK_EQ(shared->limit, last);
	/* Empty, it holds what it held at first, in the memory that it has; that goes if nobody came since. */
	metadata = caches->backing.meta_out;
	dry_node_drain_depots(cache, DRY_DRAIN_ALL | DRY_DRAIN_SOON);
	CHECK(shared->avail == 0 && shared->limit == usual && shared->room >= last);
	CHECK_EQ(caches->depots_grown, 0);
	CHECK_EQ(caches->backing.meta_out, metadata);
	dry_node_drain_depots(cache, 0);
	CHECK_EQ(shared->limit, 0);
	CHECK_EQ(caches->backing.meta_out, metadata - 1);
	dry_node_put_slabs(cache, taken + 8, 8);
	dry_node_put_slabs(cache, objects + last, MOST - last);
	plain_holds(cache, 0);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	plain_close(caches);
}

/* Small areas have no depots. */
static void test_small(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .area_size = 4096 });
	struct dry_cache *cache = plain_cache(caches, "small", SIZE, 0);
	void *object;

	CHECK_EQ(dry_node_refill(cache, 0, DRY_GFP_DEFAULT, &object, 1), 1);
	dry_depot_prepare(cache, &cache->node[0].shared, DRY_SHARED_FACTOR);
	CHECK(!dry_depot_put(&cache->node[0].shared, &object, 1));
	dry_node_flush(cache, 0, &object, 1);
	plain_holds(cache, 0);
	CHECK_EQ(cache->node[0].shared.limit, 0);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	plain_close(caches);
}

/* Objects of every node, freed on every node, wait in the alien array for theirs, and get there when that is full or drained. */
static void test_aliens(unsigned nodes)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .nodes = nodes });
	struct dry_cache *cache = plain_cache(caches, "alien", SIZE, 0);
	void *object;

	for (unsigned home = 0; home < nodes; home++)
		for (unsigned owner = 0; owner < nodes; owner++) {
			CHECK_EQ(dry_node_refill(cache, owner, DRY_GFP_DEFAULT, &object, 1), 1);
			CHECK_EQ(dry_slab_node(cache, dry_slab_of(cache, object)), owner);
			dry_depot_prepare(cache, &cache->node[home].shared, DRY_SHARED_FACTOR);
			dry_node_flush(cache, home, &object, 1);
			struct dry_depot *depot = home == owner ? &cache->node[home].shared : dry_depot_alien(cache, home, owner);
			CHECK(depot->avail == 1 && depot->entry[0] == object);
			CHECK_EQ(cache->node[home].remote_frees, owner + (owner < home));
			plain_holds(cache, 0);
			dry_node_drain_depots(cache, DRY_DRAIN_ALL);
			CHECK(depot->avail == 0 && depot->limit == 0);
			CHECK(dry_slab_is_free(cache, dry_slab_of(cache, object),
					       dry_slab_index(cache, dry_slab_of(cache, object), object)));
		}
	CHECK_EQ(dry_cache_unmake(cache), 0);
	plain_close(caches);
}

/* An alien array that is full goes home as a whole, the object that found no room with it. */
static void test_alien_full(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .nodes = 2 });
	struct dry_cache *cache = plain_cache(caches, "full", SIZE, 0);
	unsigned most = DRY_SHARED_FACTOR * cache->batchcount;
	void **objects = calloc(most + 1, sizeof(void *));

	for (unsigned i = 0; i <= most; i++)
		CHECK_EQ(dry_node_refill(cache, 1, DRY_GFP_DEFAULT, objects + i, 1), 1);
	for (unsigned i = 0; i < most; i++)
		dry_node_flush(cache, 0, objects + i, 1);
	CHECK_EQ(dry_depot_alien(cache, 0, 1)->avail, most);
	dry_node_flush(cache, 0, objects + most, 1);
	CHECK_EQ(dry_depot_alien(cache, 0, 1)->avail, 0);
	plain_holds(cache, 0);
	CHECK_EQ(plain_cached(cache), 0);
	free(objects);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	plain_close(caches);
}

/* Where no memory is left, what another node's shared array holds is had. */
static void test_other_shared(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .nodes = 2 });
	struct dry_cache *cache = plain_cache(caches, "other", SIZE, 0);
	unsigned all = cache->num;
	void **objects = calloc(all, sizeof(void *)), *object;

	CHECK_EQ(dry_node_refill(cache, 1, DRY_GFP_DEFAULT, objects, all), all);
	dry_depot_prepare(cache, &cache->node[1].shared, DRY_SHARED_FACTOR);
	dry_node_flush(cache, 1, objects, 1);
	CHECK_EQ(cache->node[1].shared.avail, 1);
	caches->backing.fail_at = 1;
	caches->backing.fail_all = true;
	CHECK_EQ(dry_node_refill(cache, 0, DRY_GFP_DEFAULT, &object, 1), 1);
	CHECK(object == objects[0]);
	dry_node_put_slabs(cache, objects, all);
	free(objects);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	plain_close(caches);
}

/* No alien arrays to be had, whether for want of memory or because the lock is somebody's: straight to the slab. */
static void test_no_alien(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .nodes = 2 });
	struct dry_cache *cache = plain_cache(caches, "none", SIZE, 0);
	void *object;

	for (unsigned round = 0; round < 2; round++) {
		CHECK_EQ(dry_node_refill(cache, 1, DRY_GFP_DEFAULT, &object, 1), 1);
		plain.no_try = round == 0;
		caches->backing.fail_at = caches->backing.calls + 1;
		dry_node_flush(cache, 0, &object, 1);
		CHECK(cache->node[0].more == NULL && plain_cached(cache) == 0);
		CHECK_EQ(caches->backing.refused, round);
		plain_holds(cache, 0);
	}
	CHECK_EQ(dry_cache_unmake(cache), 0);
	plain_close(caches);
}

/* Allocates or frees as many on a slot; the objects that were freed last come first. */
static void on_slot(struct dry_cache *cache, unsigned slot, void **objects, unsigned count, bool frees)
{
	plain.slot = slot;
	for (unsigned i = 0; i < count; i++) {
		if (frees)
			plain_free(cache, objects[i]);
		else
			CHECK((objects[i] = plain_alloc(cache)) != NULL);
	}
}

/* What one slot frees comes back to it and to no other; what is too much for it is everybody's. */
static void test_local(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .slots = 2 });
	struct dry_cache *cache = plain_cache(caches, "local", SIZE, 0);
	unsigned array = cache->limit, most = array + DRY_LOCAL_FACTOR * cache->batchcount, all = 2 * most;
	void **mine = calloc(all, sizeof(void *)), **others = calloc(all, sizeof(void *));

	/* While there is one slot, it has the shared array. */
	on_slot(cache, 0, mine, all, false);
	CHECK(dry_depot_local(cache, true) == NULL);
	on_slot(cache, 1, others, 1, false);
	on_slot(cache, 1, others, 1, true);
	CHECK(dry_depot_local(cache, false) == NULL && cache->node[0].more == NULL);
	on_slot(cache, 0, mine, most, true);
	CHECK_EQ(dry_depot_local(cache, false)->avail, DRY_LOCAL_FACTOR * cache->batchcount);
	CHECK_EQ(cache->node[0].shared.avail, 0);
	on_slot(cache, 1, others, all, false);
	CHECK_EQ(dry_depot_local(cache, false)->avail, 0);
	for (unsigned i = 0; i < most; i++)
		for (unsigned k = 0; k < all; k++)
			CHECK(others[k] != mine[i]);
	on_slot(cache, 0, mine, most, false);
	CHECK_EQ(dry_depot_local(cache, false)->avail, 0);
	/* What finds no room there goes into the shared one. */
	on_slot(cache, 0, mine, all, true);
	CHECK_EQ(dry_depot_local(cache, false)->avail, DRY_LOCAL_FACTOR * cache->batchcount);
	CHECK(cache->node[0].shared.avail != 0);
	plain_holds(cache, all);
	on_slot(cache, 1, others, all, true);
	dry_node_drain_depots(cache, DRY_DRAIN_ALL);
	plain_holds(cache, 0);
	free(mine);
	free(others);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	plain_close(caches);
}

/* Housekeeping empties a depot that nobody used since it looked last. */
static void test_idle(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .nodes = 2 });
	struct dry_cache *cache = plain_cache(caches, "idle", SIZE, 0);
	void *object;

	dry_depot_prepare(cache, &cache->node[0].shared, DRY_SHARED_FACTOR);
	for (unsigned owner = 0; owner < 2; owner++) {
		CHECK_EQ(dry_node_refill(cache, owner, DRY_GFP_DEFAULT, &object, 1), 1);
		dry_node_flush(cache, 0, &object, 1);
	}
	CHECK_EQ(plain_cached(cache), 2);
	dry_node_drain_depots(cache, 0);
	CHECK_EQ(plain_cached(cache), 2);
	dry_node_drain_depots(cache, 0);
	CHECK_EQ(plain_cached(cache), 0);
	CHECK_EQ(cache->node[0].shared.limit, 0);
	plain_holds(cache, 0);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	plain_close(caches);
}

int main(void)
{
	test_put_take();
	test_growth();
	test_nested();
	test_small();
	for (unsigned nodes = 1; nodes <= DRY_MAX_NODES; nodes++)
		test_aliens(nodes);
	test_alien_full();
	test_no_alien();
	test_other_shared();
	test_local();
	test_idle();
	return 0;
}
