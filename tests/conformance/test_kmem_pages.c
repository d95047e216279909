/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* kmem.h: pages are whole ones, and orders that do not fit are none. */
#include <drystone/kmem.h>

#include "../support/check.h"
#include "../support/pattern.h"

/* A program that asks for some bytes of pages may use all of the last one. */
static void test_whole(void)
{
	volatile size_t most = SIZE_MAX; /* or the compiler warns */
	static const size_t sizes[] = { 1, 100, PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1, 5000, 3 * PAGE_SIZE - 8 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t whole = (sizes[i] + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;
		char *exact = alloc_pages_exact(sizes[i], GFP_KERNEL);
		char *zeros = alloc_pages_exact(sizes[i], GFP_KERNEL | __GFP_ZERO);
		char *block = vmalloc(sizes[i]), *clear = vzalloc(sizes[i]);

		CHECK(exact != NULL && zeros != NULL && block != NULL && clear != NULL);
		CHECK(ksize(exact) >= whole && ksize(zeros) >= whole && ksize(block) >= whole && ksize(clear) >= whole);
		CHECK(all_bytes(zeros, whole, 0) && all_bytes(clear, whole, 0));
		memset(exact, 1, whole);
		memset(zeros, 2, whole);
		memset(block, 3, whole);
		memset(clear, 4, whole);
		CHECK(all_bytes(exact, whole, 1) && all_bytes(zeros, whole, 2) && all_bytes(block, whole, 3));
		free_pages_exact(exact, sizes[i]);
		free_pages_exact(zeros, sizes[i]);
		vfree(block);
		vfree(clear);
	}
	CHECK(alloc_pages_exact(0, GFP_KERNEL) == NULL && vmalloc(0) == NULL);
	CHECK(alloc_pages_exact(most, GFP_KERNEL) == NULL && vzalloc(most - PAGE_SIZE) == NULL);
}

static void test_orders(void)
{
	const int bits = (int)sizeof(size_t) * 8;

	CHECK(get_order(1) == 0 && get_order(PAGE_SIZE) == 0 && get_order(PAGE_SIZE + 1) == 1);
	CHECK(get_order(8 * PAGE_SIZE) == 3 && get_order(8 * PAGE_SIZE + 1) == 4);
	CHECK_EQ(get_order(SIZE_MAX / 2 + 1), bits - 1 - PAGE_SHIFT);
	CHECK_EQ(get_order(SIZE_MAX), bits - PAGE_SHIFT);
	for (unsigned int order = (unsigned int)(bits - PAGE_SHIFT) - 1; order < 70; order++)
		CHECK(alloc_pages(GFP_KERNEL, order) == NULL && __get_free_pages(GFP_NOWAIT, order) == 0);
	CHECK(alloc_pages(GFP_KERNEL, ~0u) == NULL);
}

int main(void)
{
	test_whole();
	test_orders();
	CHECK_EQ(dry_heap_check(NULL), 0);
	return 0;
}
