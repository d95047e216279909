/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The slab lists of a node: which slab is next, which are kept, which go back. */
#include "plain.h"

#define SIZE 512

static struct dry_cache *bare(struct dry_caches *caches, unsigned flags)
{
	return plain_cache(caches, "bare", SIZE, DRY_CACHE_NO_ARRAYS | flags);
}

/* count slabs, all of them in use; objects[i * num] is the first of slab i. */
static void **full_slabs(struct dry_cache *cache, unsigned count)
{
	void **objects = calloc((size_t)count * cache->num, sizeof(void *));

	for (unsigned i = 0; i < count; i++)
		CHECK_EQ(dry_node_refill(cache, 0, DRY_GFP_DEFAULT, objects + i * cache->num, cache->num), cache->num);
	plain_holds(cache, (size_t)count * cache->num);
	return objects;
}

static void put_back(struct dry_cache *cache, void **objects, unsigned count)
{
	dry_node_put_slabs(cache, objects, count);
	free(objects);
	CHECK_EQ(dry_cache_unmake(cache), 0);
}

/* How many slabs a shrink gives back. */
static size_t shrunk(struct dry_cache *cache, bool all)
{
	size_t before = dry_node_slabs(cache);

	dry_node_shrink(cache, all);
	return before - dry_node_slabs(cache);
}

/* The fullest slab is used first, and slabs are on the list of their fill. */
static void test_fullest(struct dry_caches *caches)
{
	struct dry_cache *cache = bare(caches, 0);
	unsigned num = cache->num, left[4] = { 1, num / 2, num - 1, num };
	void **objects = full_slabs(cache, 4), *next;
	struct dry_slab *slab[4];

	for (unsigned i = 4; i-- > 0;) {
		slab[i] = dry_slab_of(cache, objects[i * num]);
		CHECK_EQ(slab[i]->list, DRY_LIST_NONE);
		dry_node_put_slabs(cache, objects + i * num, left[i]);
	}
	CHECK_EQ(slab[0]->list, DRY_PARTIAL_LISTS - 1);
	CHECK_EQ(slab[1]->list, DRY_PARTIAL_LISTS / 2);
	CHECK_EQ(slab[2]->list, DRY_LIST_PARTIAL);
	CHECK_EQ(slab[3]->list, DRY_LIST_FREE);
	CHECK_EQ(cache->node[0].free_slabs, 1);
	plain_holds(cache, 4 * (size_t)num - left[0] - left[1] - left[2] - left[3]);
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < left[i]; k++) {
			CHECK_EQ(dry_node_refill(cache, 0, DRY_GFP_DEFAULT, &next, 1), 1);
			CHECK(dry_slab_of(cache, next) == slab[i]);
		}
	CHECK_EQ(dry_node_slabs(cache), 4);
	put_back(cache, objects, 4 * num);
}

/* As many free slabs as the limit says are kept; the others are given back at once. */
static void test_free_limit(struct dry_caches *caches)
{
	struct dry_cache *cache = bare(caches, 0);
	unsigned count = (unsigned)cache->node[0].free_limit + 5;
	void **objects = full_slabs(cache, count);
	size_t freed;

	CHECK_EQ(cache->node[0].free_limit, 1 + 2 * cache->limit / cache->num);
	dry_node_put_slabs(cache, objects, count * cache->num);
	CHECK_EQ(cache->node[0].free_slabs, cache->node[0].free_limit);
	CHECK_EQ(dry_node_slabs(cache), cache->node[0].free_limit);
	CHECK_EQ(caches->backing.blocks_out, cache->node[0].free_limit);
	plain_holds(cache, 0);
	/* The first reap sees that they were needed, the second that they were not. */
	cache->node[0].free_low = 0;
	CHECK_EQ(shrunk(cache, false), 0);
	CHECK_EQ(shrunk(cache, false), cache->node[0].free_limit);
	plain_holds(cache, 0);
	CHECK_EQ(dry_node_refill(cache, 0, DRY_GFP_DEFAULT, objects, 1), 1);
	CHECK_EQ(shrunk(cache, true), 0);
	dry_node_put_slabs(cache, objects, 1);
	CHECK(dry_cache_empty(cache, &freed));
	CHECK_EQ(freed, 1);
	free(objects);
	CHECK_EQ(dry_cache_unmake(cache), 0);
}

static void test_reserve(struct dry_caches *caches)
{
	struct dry_cache *cache = bare(caches, 0);
	size_t wanted = 3 * (size_t)cache->num - 1;
	void **objects = calloc(wanted, sizeof(void *));

	CHECK(dry_node_reserve(cache, 0, wanted, 5));
	CHECK_EQ(dry_node_slabs(cache), 3);
	CHECK_EQ(shrunk(cache, true), 0);
	plain_holds(cache, 0);
	/* It replaces what was reserved if it is more. */
	CHECK(dry_node_reserve(cache, 0, wanted - 2, 6));
	CHECK_EQ(cache->node[0].reserved, wanted - 1);
	CHECK(dry_node_reserve(cache, 0, wanted, 5));
	CHECK_EQ(cache->node[0].reserved, wanted);
	CHECK_EQ(dry_node_slabs(cache), 3);
	/* What is taken may lie in arrays: what was allocated is reserved no more. */
	CHECK_EQ(dry_node_refill(cache, 0, DRY_GFP_DEFAULT, objects, (unsigned)wanted), wanted);
	dry_node_settle_reserve(cache, 4 + wanted);
	CHECK_EQ(cache->node[0].reserved, 1);
	dry_node_settle_reserve(cache, 5 + wanted);
	CHECK_EQ(cache->node[0].reserved, 0);
	dry_node_put_slabs(cache, objects, (unsigned)wanted);
	CHECK(shrunk(cache, true) != 0);
	CHECK_EQ(dry_node_slabs(cache), 0);
	/* More than there may be, and more than there is: what was had stays, but nothing of it is reserved. */
	CHECK(!dry_node_reserve(cache, 0, SIZE_MAX / SIZE, 0));
	caches->backing.fail_at = caches->backing.calls + 2;
	CHECK(!dry_node_reserve(cache, 0, wanted, 0));
	CHECK_EQ(cache->node[0].reserved, 0);
	CHECK_EQ(dry_node_slabs(cache), 1);
	plain_holds(cache, 0);
	free(objects);
	CHECK_EQ(dry_cache_unmake(cache), 0);
}

/* A new slab of which all is taken costs no round of the lock; attached first, as before 2016, it costs two. */
static void test_lock_rounds(struct dry_caches *caches)
{
	struct dry_cache *now = bare(caches, 0), *before = bare(caches, DRY_CACHE_ATTACH_FIRST);
	void **of_now = full_slabs(now, 1), **of_before = full_slabs(before, 1);

	CHECK_EQ(now->node[0].lock_rounds, 0);
	CHECK_EQ(before->node[0].lock_rounds, 2);
	put_back(now, of_now, now->num);
	put_back(before, of_before, before->num);
}

/* Memory of another node is used where the own one is at its end, and its slabs are that node's. */
static void test_other_node(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .nodes = 2, .pages = 128 });
	struct dry_cache *cache = bare(caches, 0);
	unsigned most = (unsigned)(dry_backing_bytes(&caches->backing) / SIZE), count = 0, got;
	void **objects = calloc(most + 1, sizeof(void *));

	while ((got = dry_node_refill(cache, 1, DRY_GFP_DEFAULT, objects + count, 7)) != 0)
		count += got;
	CHECK_EQ(count, dry_node_slabs(cache) * cache->num);
	CHECK(count > most / 2 && cache->node[0].slabs == cache->node[1].slabs);
	CHECK(dry_backing_node_of(dry_slab_of(cache, objects[0])) == 1);
	CHECK(dry_backing_node_of(dry_slab_of(cache, objects[count - 1])) == 0);
	/* An object of either node, in one batch; a free one of the other node is found. */
	dry_node_put_slabs(cache, objects + count - 1, 1);
	CHECK_EQ(dry_node_refill(cache, 1, DRY_GFP_DEFAULT, objects + count - 1, 5), 1);
	for (unsigned i = 0; i + 1 < count; i += 2) {
		void *swap = objects[i];
		objects[i] = objects[count - 1 - i];
		objects[count - 1 - i] = swap;
	}
	put_back(cache, objects, count);
	plain_close(caches);
}

/* With CHECKS a slab that was worked on is verified at once. */
static void test_checks(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ 0 });
	struct dry_cache *cache = bare(caches, DRY_CACHE_CHECKS);
	struct dry_slab *slab;
	void *object;
	jmp_buf end;

	CHECK_EQ(dry_node_refill(cache, 0, DRY_GFP_DEFAULT, &object, 1), 1);
	slab = dry_slab_of(cache, object);
	slab->bits[1] &= ~(uint64_t)1; /* a free object is lost */
	plain_expect();
	plain.end = &end;
	if (setjmp(end) == 0) {
		dry_node_put_slabs(cache, &object, 1);
		plain_wrong("a lost object went unnoticed");
	}
	plain_expected(DRY_FATAL_INTERNAL, NULL);
	CHECK(dry_slab_check(cache, slab) != NULL);
	plain_abandon(caches);
}

static struct dry_cache *counted;

static bool count_meanwhile(void)
{
	dry_node_settle_reserve(counted, 60);
	return false;
}

/* A reserve that fails leaves what another thread counted meanwhile, and what others are about to reserve is kept. */
static void test_reserve_meanwhile(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ 0 });
	struct dry_node *node;

	counted = bare(caches, 0);
	node = &counted->node[0];
	CHECK(dry_node_reserve(counted, 0, 100, 0));
	caches->backing.in_pieces = count_meanwhile;
	caches->backing.fail_at = caches->backing.calls + 2;
	CHECK(!dry_node_reserve(counted, 0, 1000, 0));
	CHECK_EQ(node->reserved, 40);
	CHECK_EQ(node->reserving, 0);
	node->reserving = 100; /* by another thread */
	CHECK_EQ(shrunk(counted, true), 0);
	dry_caches_forked(caches); /* which is not in the child */
	CHECK(shrunk(counted, true) != 0);
	CHECK(dry_node_reserve(counted, 0, 0, 0));
	CHECK_EQ(dry_cache_unmake(counted), 0);
	plain_close(caches);
}

static bool in_pieces(void)
{
	return true;
}

/* Slabs of a single page, where others have more: as many objects as fit, all of which are used, and none behind them. */
static void test_single(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ 0 });
	struct dry_cache *cache = plain_cache(caches, "single", 1000, DRY_CACHE_NO_ARRAYS | DRY_CACHE_BITMAP);
	char *objects[9];

	CHECK(cache->order > 0 && cache->num_single == 4);
	caches->backing.in_pieces = in_pieces;
	for (unsigned i = 0; i < 9; i++) {
		CHECK((objects[i] = dry_alloc_slow(cache, DRY_GFP_DEFAULT, -1)) != NULL);
		CHECK(i % 4 == 0 || objects[i] == objects[i - 1] + 1000);
		CHECK_EQ(dry_node_slabs(cache), i / 4 + 1);
	}
	CHECK_EQ(dry_node_objects(cache), 12);
	atomic_fetch_sub(&cache->node[0].slabs, 2); /* as others see it while slabs go */
	CHECK_EQ(dry_node_objects(cache), 4);
	atomic_fetch_add(&cache->node[0].slabs, 2);
	plain_holds(cache, 9);
	plain_expect();
	dry_free_slow(cache, objects[0] + 4 * 1000); /* the next one would reach beyond the page */
	plain_expected(DRY_FATAL_INTERIOR, objects[0] + 4 * 1000);
	for (unsigned i = 0; i < 9; i++)
		dry_free_slow(cache, objects[i]);
	plain_expect();
	dry_free_slow(cache, objects[0]);
	plain_expected(DRY_FATAL_DOUBLE_FREE, objects[0]);
	plain_holds(cache, 0);
	dry_node_shrink(cache, true);
	CHECK(dry_node_slabs(cache) == 0 && dry_node_objects(cache) == 0);
	plain_expect();
	dry_free_slow(cache, objects[8]);
	plain_expected(DRY_FATAL_INVALID_POINTER, objects[8]);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	plain_close(caches);
}

/* Of free slabs of a single page as many stay as fill two arrays, or those of a burst would be made anew in the next. */
static void test_singles_stay(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ 0 });
	struct dry_cache *cache = plain_cache(caches, "singles", 1000, DRY_CACHE_NO_ARRAYS | DRY_CACHE_BITMAP);
	struct dry_node *node = &cache->node[0];
	size_t stay = 2 * cache->limit / cache->num_single;
	unsigned num = cache->num, count = (unsigned)(stay + 5) * cache->num_single, got = 0;
	void **objects = calloc(count + 2 * num, sizeof(void *));

	CHECK(stay > node->free_limit);
	caches->backing.in_pieces = in_pieces;
	while (got < count)
		got += dry_node_refill(cache, 0, DRY_GFP_DEFAULT, objects + got, count - got);
	dry_node_put_slabs(cache, objects, count);
	CHECK_EQ(node->free_slabs, stay);
	plain_holds(cache, 0);
	dry_node_shrink(cache, false);
	CHECK_EQ(shrunk(cache, false), stay); /* idle ones all go */
	/* A large one goes first, where there are more than may stay. */
	for (got = 0; got < count;)
		got += dry_node_refill(cache, 0, DRY_GFP_DEFAULT, objects + got, count - got);
	caches->backing.in_pieces = NULL;
	for (; got < count + 2 * num;)
		got += dry_node_refill(cache, 0, DRY_GFP_DEFAULT, objects + got, count + 2 * num - got);
	dry_node_put_slabs(cache, objects, count);
	CHECK_EQ(node->free_slabs, stay);
	dry_node_put_slabs(cache, objects + count, 2 * num);
	CHECK_EQ(node->free_slabs, stay);
	CHECK_EQ(dry_node_objects(cache), stay * cache->num_single);
	free(objects);
	dry_node_shrink(cache, true);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	plain_close(caches);
}

int main(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ 0 });

	test_fullest(caches);
	test_free_limit(caches);
	test_reserve(caches);
	test_lock_rounds(caches);
	plain_close(caches);
	test_other_node();
	test_reserve_meanwhile();
	test_single();
	test_singles_stay();
	test_checks();
	return 0;
}
