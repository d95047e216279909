/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A block is made smaller in a heap without any memory left: it stays where it is, with its content. */
#include <drystone/tiny.h>

#include "../support/exercise.h"

static void test_smaller(size_t size, size_t less)
{
	static _Alignas(16) char memory[65536];
	struct dry_heap_attr attr = { .memory = memory, .memory_size = sizeof(memory) };
	dry_heap *heap = dry_heap_create(&attr);
	char *block = dry_alloc(heap, size);

	CHECK(block);
	pattern_fill_key(block, size, 7);
	for (size_t other = 16384; other >= 8; other /= 2)
		while (dry_alloc(heap, other))
			;
	CHECK(!dry_alloc(heap, less));
	block = dry_realloc(heap, block, less);
	CHECK(block && dry_usable_size(heap, block) >= size && pattern_holds_key(block, less, 7));
	errno = 0;
	CHECK(!dry_realloc(heap, block, dry_usable_size(heap, block) + 1));
	CHECK_EQ(errno, ENOMEM);
	CHECK(pattern_holds_key(block, less, 7));
	CHECK_EQ(dry_usable_size(heap, NULL), 0);
	CHECK_EQ(dry_heap_check(heap), 0);
	dry_free(heap, block);
	CHECK_EQ(dry_heap_check(heap), 0);
}

int main(void)
{
	test_smaller(50000, 20000);
	test_smaller(5000, 304);
	test_smaller(1500, 32);
	test_smaller(100, 8);
	return 0;
}
