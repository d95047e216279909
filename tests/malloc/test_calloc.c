/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* calloc gives zeros after dirty reuse, for every size; a big block takes no memory before it is touched. */
#include <stdlib.h>
#include <sys/resource.h>

#include "../support/check.h"
#include "../support/pattern.h"
#include "../support/random.h"

/* Dirty a handful of blocks of this size, free them, and look at what calloc makes of them. */
static void test_size(size_t size, int count)
{
	unsigned char *blocks[16];

	for (int i = 0; i < count; i++) {
		CHECK(blocks[i] = malloc(size));
		OPAQUE(blocks[i]);
		memset(blocks[i], 0xff, size);
		OPAQUE(blocks[i]);
	}
	for (int i = 0; i < count; i++)
		free(blocks[i]);
	for (int i = 0; i < count; i++) {
		CHECK(blocks[i] = calloc(1, size));
		OPAQUE(blocks[i]);
		CHECK(all_bytes(blocks[i], size, 0));
		memset(blocks[i], 0xee, size);
		OPAQUE(blocks[i]);
	}
	for (int i = 0; i < count; i++)
		free(blocks[i]);
}

static long resident_kib(void)
{
	struct rusage usage;

	CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
	return usage.ru_maxrss;
}

static void test_untouched(void)
{
	long before = resident_kib();
	char *block = calloc(1, (size_t)256 << 20);

	CHECK(block);
	OPAQUE(block);
	CHECK_EQ(block[(size_t)200 << 20], 0);
	CHECK(resident_kib() < before + (16 << 10));
	free(block);
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };

	test_untouched();
	for (size_t size = 1; size <= 5000; size++)
		test_size(size, 8);
	for (size_t size = 5000; size < 300000; size += 997)
		test_size(size, 4);
	for (size_t size = 300000; size < (40 << 20); size = size * 5 / 4 + 1)
		test_size(size, 2);
	for (size_t step = 0; step < test_scaled(30000); step++)
		test_size(rng_size(&rng, 15), (int)rng_below(&rng, 16) + 1);
	return 0;
}
