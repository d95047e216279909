/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* drystone-tiny in place of SLOB, over the mock: the test that kernels run at boot, then what is seen from below. */
#include "base/fatal.h"
#include "mm/slab.h"
#include "mocked.h"
#include "test/damage.h"
#include "support/check.h"

/* All that was accounted is marked, and nothing is left of it where nothing is in use. */
static void check_accounts(void)
{
	long marked = 0;

	for (unsigned long pfn = 0; pfn < max_pfn; pfn++)
		marked += mock_pages[pfn].flags & 1 ? (long)PAGE_SIZE : 0;
	CHECK_EQ(marked, mock_slab_bytes);
}

/* Pages go back with the last object in them, but for a few that are kept. */
static void test_return(void)
{
	static void *at[4000];
	long before = mock_slab_bytes;

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 4000; i++)
			at[i] = kmalloc((size_t)(i * 37 % 3000 + 1), GFP_KERNEL);
		CHECK(mock_slab_bytes > before + 4000 * 1400);
		for (int i = 0; i < 4000; i++)
			kfree(at[i]);
		check_accounts();
		CHECK(mock_slab_bytes <= before + 40 * (long)PAGE_SIZE);
	}
}

/* No page at once: who may wait gets one nevertheless, who may not NULL. */
static void test_no_memory(void)
{
	static void *at[4096];
	int got = 0;

	mock_no_pages = true;
	while (got < 4096 && (at[got] = kmalloc(1000, GFP_ATOMIC)) != NULL)
		got++;
	CHECK(got < 4096);
	for (int i = got; i < got + 100; i++)
		CHECK((at[i] = kmalloc(1000, GFP_KERNEL)) != NULL);
	mock_no_pages = false;
	for (int i = 0; i < got + 100; i++)
		kfree(at[i]);
	check_accounts();
}

/* What must not fail does not where a handler takes the pages that were got for it. */
static void *stolen[4096];
static unsigned int steals;

static void thief(void)
{
	if (steals < ARRAY_SIZE(stolen) && (stolen[steals] = kmalloc(3000, GFP_ATOMIC)) != NULL)
		steals++;
}

static void test_never_failing(void)
{
	static void *at[2000];

	mock_no_pages = true;
	mock_handler = thief;
	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		CHECK((at[i] = kmalloc(3000, GFP_KERNEL | __GFP_NOFAIL)) != NULL);
	mock_handler = NULL;
	mock_no_pages = false;
	CHECK(steals > 100);
	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		kfree(at[i]);
	while (steals > 0)
		kfree(stolen[--steals]);
	check_accounts();
}

/* Caches of like objects share slabs; the last one of them to go takes these along. */
static void test_shared(void)
{
	struct kmem_cache *stays = kmem_cache_create("stays", 40, 8, 0, NULL); /* and with it the slab of what caches are */
	long before = mock_slab_bytes;
	struct kmem_cache *one = kmem_cache_create("one", 824, 8, 0, NULL), *other = kmem_cache_create("other", 824, 8, 0, NULL);
	void *object = kmem_cache_alloc(one, GFP_KERNEL), *like;
	long with_one = mock_slab_bytes;

	like = kmem_cache_alloc(other, GFP_KERNEL);
	CHECK_EQ(mock_slab_bytes, with_one);
	kmem_cache_free(one, object);
	kmem_cache_destroy(one);
	kmem_cache_free(other, like);
	like = kmem_cache_alloc(other, GFP_KERNEL);
	kmem_cache_free(other, like);
	kmem_cache_destroy(other);
	CHECK(mock_slab_bytes <= before);
	kmem_cache_destroy(stays);
}

/* Of objects of more than half a page three lie in two pages. */
static void test_large(void)
{
	struct kmem_cache *large = kmem_cache_create("large", 2112, 64, 0, NULL);
	long before = mock_slab_bytes;
	void *at[3];

	for (int i = 0; i < 3; i++)
		CHECK((at[i] = kmem_cache_alloc(large, GFP_KERNEL)) != NULL);
	CHECK_EQ(mock_slab_bytes, before + 2 * (long)PAGE_SIZE);
	for (int i = 0; i < 3; i++)
		kmem_cache_free(large, at[i]);
	kmem_cache_destroy(large);
}

static void test_double_free(void)
{
	void *object = kmalloc(100, GFP_KERNEL), *other = kmalloc(100, GFP_KERNEL);

	kfree(object);
	CHECK_EQ(mock_reports, 0);
	kfree(object);
	CHECK_EQ(mock_reports, 1);
	CHECK(strstr(mock_text, "double free") != NULL);
	kfree(other);
}

/* Each kind of damage is told once, and outlived. */
static void test_damage(void)
{
	unsigned int before = mock_reports;

	dry_damage(false);
	CHECK_EQ(mock_reports, before + 4);
	CHECK(strstr(mock_text, "caches sound") != NULL);
}

int main(void)
{
	mock_boot();
	CHECK_EQ(slab_state, FULL);
	mock_initcall_drystone_test();
	CHECK(strstr(mock_text, " 0 failed") != NULL);
	CHECK_EQ(mock_reports, 0);
	check_accounts();
	test_return();
	test_no_memory();
	test_never_failing();
	test_shared();
	test_large();
	test_double_free();
	test_damage();
	return 0;
}
