/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* General allocation: alignment, usable size, zeroing, realloc, errors. On a private heap and the default one. */
#include <stdlib.h>

#include "../support/exercise.h"

static void check_natural(const void *block, size_t size)
{
	size_t align = size < 16 ? 8 : 2 * sizeof(void *);

	if (size && !(size & (size - 1)) && size <= 4096 && size > align)
		align = size;
	CHECK_EQ((uintptr_t)block % align, 0);
}

static void test_sizes(dry_heap *heap)
{
	for (size_t size = 0; size < test_biggest(40000); size += size < 5000 ? 1 : 97) {
		void *a = dry_alloc(heap, size), *b = dry_alloc(heap, size);
		size_t usable;

		CHECK(a && b && a != b);
		check_natural(a, size);
		check_natural(b, size);
		usable = dry_usable_size(heap, a);
		CHECK(usable >= size);
		memset(a, 0x11, usable); /* all of it is ours */
		memset(b, 0x22, dry_usable_size(heap, b));
		CHECK(all_bytes(a, usable, 0x11));
		CHECK_EQ(dry_usable_size(heap, a), usable);
		errno = 1234;
		dry_free(heap, a);
		dry_free(heap, b);
		CHECK_EQ(errno, 1234);
	}
	dry_free(heap, NULL);
	CHECK_EQ(dry_usable_size(heap, NULL), 0);
	CHECK_EQ(dry_heap_check(heap), 0);
}

static void test_natural(dry_heap *heap)
{
	void *blocks[64];

	for (size_t size = 1; size <= 4096; size *= 2) {
		const int n = (int)test_fit(64, 2 * size);

		for (int i = 0; i < n; i++) {
			CHECK(blocks[i] = dry_alloc(heap, size));
			check_natural(blocks[i], size);
		}
		for (int i = 0; i < n; i++)
			dry_free(heap, blocks[i]);
	}
}

static void test_zero(dry_heap *heap, struct rng *rng)
{
	for (size_t round = 0; round < test_scaled(20000); round++) {
		size_t size = rng_size(rng, test_bits(round % 50 ? 15 : 23));
		char *block = dry_alloc(heap, size);

		CHECK(block);
		memset(block, 0xff, size);
		dry_free(heap, block);
		block = dry_zalloc(heap, size);
		CHECK(block && all_bytes(block, size, 0));
		memset(block, 0xee, size);
		dry_free(heap, block);
	}
}

static void test_aligned(dry_heap *heap, struct rng *rng)
{
	static const size_t bad[] = { 0, 3, 6, 24, 4095, 4097, SIZE_MAX };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		errno = 0;
		CHECK(!dry_alloc_aligned(heap, bad[i], 100));
		CHECK_EQ(errno, EINVAL);
	}
	for (size_t align = 1; align <= test_biggest(4 << 20); align *= 2) {
		for (int i = 0; i < 30; i++) {
			size_t size = i == 0 ? 0 : i == 1 ? align : i == 2 ? align + 1 : rng_size(rng, test_bits(20));
			char *block = dry_alloc_aligned(heap, align, size);

			CHECK(block && (uintptr_t)block % align == 0);
			CHECK(dry_usable_size(heap, block) >= size);
			pattern_fill(block, size);
			CHECK(pattern_holds(block, size));
			dry_free(heap, block);
		}
	}
	errno = 0;
	CHECK(!dry_alloc_aligned(heap, SIZE_MAX / 2 + 1, 1));
	CHECK_EQ(errno, ENOMEM);
	CHECK_EQ(dry_heap_check(heap), 0);
}

static void test_realloc(dry_heap *heap)
{
	static const size_t sizes[] = { 1,    8,	 15,	16,    17,    64,     100,     1000,    1024,	   4096,
					5000, 10000, 65536, 70000, 300000, 1 << 20, 5 << 20, 33 << 20 };
	const int n = sizeof(sizes) / sizeof(sizes[0]);

	for (int i = 0; i < n; i++) {
		for (int j = 0; j < n; j++) {
			size_t common = sizes[i] < sizes[j] ? sizes[i] : sizes[j];
			char *block;

			if (sizes[i] > test_biggest(sizes[i]) || sizes[j] > test_biggest(sizes[j]))
				continue;
			block = dry_realloc(heap, NULL, sizes[i]);

			CHECK(block);
			pattern_fill_key(block, sizes[i], 99);
			block = dry_realloc(heap, block, sizes[j]);
			CHECK(block && dry_usable_size(heap, block) >= sizes[j]);
			CHECK(pattern_holds_key(block, common / 8 * 8, 99));
			memset(block, 1, sizes[j]);
			dry_free(heap, block);
		}
	}
	CHECK_EQ(dry_heap_check(heap), 0);
}

static void test_too_big(dry_heap *heap)
{
	const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 4096, (size_t)PTRDIFF_MAX + 1, (size_t)PTRDIFF_MAX,
				 SIZE_MAX >> 14 };
	char *block = dry_alloc(heap, 1000);

	CHECK(block);
	pattern_fill(block, 1000);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		errno = 0;
		CHECK(!dry_alloc(heap, sizes[i]));
		CHECK_EQ(errno, ENOMEM);
		errno = 0;
		CHECK(!dry_zalloc(heap, sizes[i]));
		CHECK_EQ(errno, ENOMEM);
		errno = 0;
		CHECK(!dry_alloc_aligned(heap, 64, sizes[i]));
		CHECK_EQ(errno, ENOMEM);
		errno = 0;
		CHECK(!dry_realloc(heap, block, sizes[i]));
		CHECK_EQ(errno, ENOMEM);
		CHECK(pattern_holds(block, 1000));
	}
	dry_free(heap, block);
	CHECK_EQ(dry_heap_check(heap), 0);
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };
	dry_heap *heap = dry_heap_create(NULL), *each[2] = { heap, NULL };

	CHECK(heap);
	for (int i = 0; i < 2; i++) {
		test_sizes(each[i]);
		test_natural(each[i]);
		test_zero(each[i], &rng);
		test_aligned(each[i], &rng);
		test_realloc(each[i]);
		test_too_big(each[i]);
		exercise_general(each[i], 22, test_scaled(10000), &rng);
		dry_heap_trim(each[i]);
		CHECK_EQ(dry_heap_check(each[i]), 0);
	}
	CHECK_EQ(dry_heap_destroy(heap), 0);
	return 0;
}
