/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Slabs of a single page, where large ones cannot be had, and where a cache begins. */
#include "pieces.h"

#include "core/batch.h"
#include "mm/slab.h"
#include "mocked.h"
#include "support/check.h"

void zero_40(void *object)
{
	memset(object, 0, 40);
}

/* A named cache where every second slab has a single page: constructed objects, what is counted, what is behind the last one. */
static void of_pieces(size_t size, slab_flags_t flags)
{
	static char *at[1000];
	struct kmem_cache *s = kmem_cache_create("pieces", size, 0, flags, zero_40);

	for (unsigned int i = 0; i < ARRAY_SIZE(at); i++) {
		mock_pieces = i % 4 < 2;
		at[i] = kmem_cache_alloc(s, GFP_ATOMIC);
		CHECK(at[i] != NULL && memchr_inv(at[i], 0, 40) == NULL);
	}
	mock_pieces = 0;
	CHECK(info_of(s).num_objs >= ARRAY_SIZE(at) && info_of(s).num_objs < dry_node_slabs(s->dry) * s->num);
	for (unsigned int i = 0; i < ARRAY_SIZE(at); i++) {
		struct slab *slab = virt_to_slab(at[i]);
		CHECK(slab->slab_cache == s && nearest_obj(s, slab, at[i] + size / 2) == at[i]);
		CHECK(at[i] + size <= (char *)slab_address(slab) + (PAGE_SIZE << slab_order(slab)));
		kmem_cache_free(s, at[i]);
	}
	CHECK_EQ(kmem_cache_shrink(s), 0);
	CHECK_EQ(info_of(s).num_objs, 0);
	kmem_cache_destroy(s);
}

/* On each node a cache begins with single pages, `halves` times half as many as a large slab has; then come large ones. */
static void check_growth(bool plain, unsigned int size, unsigned int halves)
{
	static char *at[2000];
	struct kmem_cache *s = kmem_cache_create("grows", size, 0, 0, NULL);
	unsigned int first = halves << s->dry->order >> 1, singles = 0, large = 0;

	if (plain)
		CHECK(s->dry->order > 0 && s->num_single == PAGE_SIZE / size);
	for (unsigned int i = 0; i < ARRAY_SIZE(at); i++) {
		CHECK((at[i] = kmem_cache_alloc(s, GFP_KERNEL)) != NULL);
		struct slab *slab = virt_to_slab(at[i]);
		if (obj_to_index(s, slab, at[i]) != 0)
			continue;
		*(slab_order(slab) == 0 ? &singles : &large) += 1;
		CHECK_EQ(objs_per_slab(s, slab), slab_order(slab) == 0 ? s->num_single : s->num);
		CHECK(slab_order(slab) == 0 || slab_order(slab) == s->dry->order);
	}
	CHECK(singles >= first && singles <= first * nr_node_ids && large > 2);
	CHECK_EQ(bytes_of(s), (singles + (large << s->dry->order)) * PAGE_SIZE);
	kmem_cache_free_bulk(s, ARRAY_SIZE(at), (void **)at);
	check_accounts();
	kmem_cache_destroy(s);
}

/* Four times as many as a large slab has; half as many where each wastes nearly half of itself. */
void test_grows(bool plain)
{
	check_growth(plain, 1000, 8);
	check_growth(plain, 2112, 1);
}

/* No slab has more pages than who waits can count on, but where one object needs them. */
void test_orders(void)
{
	for (unsigned int size = 2000; size <= 40000; size += 200) {
		struct kmem_cache *s = kmem_cache_create("orders", size, 0, 0, NULL);
		unsigned int least = (unsigned int)get_order(s->size);

		CHECK(s->dry->order <= (least > PAGE_ALLOC_COSTLY_ORDER ? least : PAGE_ALLOC_COSTLY_ORDER));
		kmem_cache_destroy(s);
	}
}

/* What lies behind the last object of a single page is told of as of none: one more would lie in somebody's page. */
void test_behind(void)
{
	struct kmem_cache *s = kmem_cache_create("drystone-behind", 1000, 0, 0, NULL);
	char *object = kmem_cache_alloc(s, GFP_KERNEL), *start = slab_address(virt_to_slab(object));
	unsigned int reports = mock_reports, told = mock_told;

	CHECK(s->place == 0 && slab_order(virt_to_slab(object)) == 0 && s->dry->order > 0);
	kmem_cache_free(s, start + PAGE_SIZE - 8);
	CHECK_EQ(mock_reports, reports + 1);
	CHECK_EQ(mock_told, told);
	kmem_cache_free(s, object + 8);
	CHECK_EQ(mock_reports, reports + 2);
	CHECK(mock_told > told);
	kmem_cache_free(s, object);
	kmem_cache_destroy(s);
}

/* Where no two free pages are side by side, there are objects all the same, and nobody is told of it; they are as any. */
void test_pieces(void)
{
	static char *at[3 * 400];
	unsigned int got = 0;

	of_pieces(600, 0);
	of_pieces(1000, SLAB_TYPESAFE_BY_RCU);
	of_pieces(2304, SLAB_ACCOUNT);
	mock_pieces = 1;
	for (size_t size = 1024; size <= PAGE_SIZE; size *= 2)
		for (int i = 0; i < 400; i++, got++) {
			at[got] = kmalloc(size, i % 2 != 0 ? GFP_ATOMIC : GFP_KERNEL | __GFP_NOFAIL);
			CHECK(at[got] != NULL && IS_ALIGNED((unsigned long)at[got], size));
			CHECK_EQ(virt_to_slab(at[got])->slab_cache->object_size, size);
			memset(at[got], (int)got, size);
		}
	for (size_t i = 0, size = 1024; size <= PAGE_SIZE; size *= 2)
		for (int k = 0; k < 400; k++, i++)
			CHECK(memchr_inv(at[i], (unsigned char)i, size) == NULL);
	mock_pieces = 0;
	for (unsigned int i = 0; i < got; i += 2)
		kfree(at[i]);
	for (unsigned int i = 1; i < got; i += 2)
		kmem_cache_free_bulk(NULL, 1, (void **)&at[i]);
	check_accounts();
}
