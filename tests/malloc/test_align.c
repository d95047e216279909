/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Aligned allocation: all alignments up to 1 MiB, and the bad ones; freed by size, up to 16 MiB, which nothing is wrong with. */
#define _GNU_SOURCE 1
#include <stdint.h>
#include <stdlib.h>

#include "../support/check.h"
#include "../support/glibc.h"
#include "../support/pattern.h"
#include "../support/random.h"

void free_aligned_sized(void *block, size_t align, size_t size) __attribute__((weak));

static void test_bad(void)
{
	static const size_t never[] = { 3, 5, 7, 9, 24, 100, 4095, 65537 };
	void *out = &out, *untouched = &out;

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		size_t align = never[i];

		OPAQUE(align);
		errno = 1234;
		CHECK_EQ(posix_memalign(&out, align, 64), EINVAL);
		CHECK(out == untouched);
	}
	for (size_t align = 1; align < sizeof(void *); align *= 2) { /* powers of two, but below a pointer's size */
		CHECK_EQ(posix_memalign(&out, align, 64), EINVAL);
		CHECK(out == untouched);
	}
	CHECK_EQ(posix_memalign(&out, 0, 64), EINVAL);
	CHECK(out == untouched);
}

/* An alignment beyond what an address can have. */
static void test_absurd(void)
{
	size_t align = (size_t)1 << 63;
	void *out = &out;

	OPAQUE(align);
	errno = 0;
	CHECK(!memalign(align, 100) && (errno == EINVAL || errno == ENOMEM));
	int error = posix_memalign(&out, align, 100);
	CHECK(error == EINVAL || error == ENOMEM);
	CHECK(out == &out);
}

static void check_block(void *block, size_t align, size_t size)
{
	CHECK(block && (uintptr_t)block % align == 0);
	CHECK(malloc_usable_size(block) >= size);
	pattern_fill(block, size);
	CHECK(pattern_holds(block, size));
}

static void test_good(size_t align, struct rng *rng)
{
	void *held[60] = { NULL };

	for (int i = 0; i < 60; i++) {
		size_t size = i == 0 ? 0 : i == 1 ? 1 : i == 2 ? align : i == 3 ? align - 1 : rng_size(rng, 18);

		if (align >= sizeof(void *) && i % 3 == 0)
			CHECK_EQ(posix_memalign(&held[i], align, size), 0);
		else if (i % 3 == 1)
			held[i] = memalign(align, size);
		else
			held[i] = aligned_alloc(align, (size + align - 1) / align * align);
		check_block(held[i], align, size);
	}
	for (int i = 0; i < 60; i += 2) { /* an aligned block may be resized as any other */
		held[i] = realloc(held[i], 100000);
		check_block(held[i], 16, 100000);
	}
	for (int i = 0; i < 60; i++)
		free(held[i]);
}

static void test_sized(size_t align)
{
	const size_t sizes[] = { 0, 1, 100, align / 2 + 1, align - 1, align };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		void *block = aligned_alloc(align, sizes[i]);
		CHECK(block && (uintptr_t)block % align == 0);
		free_aligned_sized(block, align, sizes[i]);
	}
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	test_bad();
	test_absurd();
	for (int round = 0; round < 3; round++)
		for (size_t align = 1; align <= 1 << 20; align *= 2)
			test_good(align, &rng);
	for (size_t align = 1; align <= 16 << 20 && free_aligned_sized; align *= 2)
		test_sized(align);
	for (size_t size = 1; size < 100000; size = size * 3) {
		void *a = valloc(size), *b = pvalloc(size);

		check_block(a, page, size);
		check_block(b, page, (size + page - 1) / page * page);
		free(a);
		free(b);
	}
	return 0;
}
