/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* realloc: from every size to every size with the content kept, and long random walks. */
#define _GNU_SOURCE 1
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "../support/check.h"
#include "../support/pattern.h"
#include "../support/random.h"

static const size_t sizes[] = { 0,    1,    7,     8,	   9,	  15,	 16,	17,	24,	31,    32,	33,
				48,   63,   64,	   65,	   100,	  127,	 128,	255,	256,	257,   500,	1000,
				1023, 1024, 2000,  2048,   4095,  4096,	 4097,	6000,	8192,	10000, 16384,	32768,
				40000, 65536, 65537, 100000, 131072, 200000, 300000, 1 << 20, 3 << 20, 5 << 20 };

static void test_matrix(void)
{
	const int n = sizeof(sizes) / sizeof(sizes[0]);

	for (int i = 0; i < n; i++) {
		for (int j = 0; j < n; j++) {
			size_t common = sizes[i] < sizes[j] ? sizes[i] : sizes[j];
			unsigned char *block = malloc(sizes[i]), last = 0;

			CHECK(block);
			if (sizes[j] == 0) { /* frees; not this test's matter */
				free(block);
				continue;
			}
			pattern_fill_key(block, sizes[i], 7);
			if (common)
				last = block[common - 1];
			block = realloc(block, sizes[j]);
			CHECK(block && (uintptr_t)block % (sizes[j] < 16 ? 8 : 16) == 0);
			CHECK(malloc_usable_size(block) >= sizes[j]);
			CHECK(pattern_holds_key(block, common / 8 * 8, 7));
			CHECK(!common || block[common - 1] == last);
			memset(block, 0x99, sizes[j]);
			free(block);
		}
	}
}

/* Many blocks grow and shrink at once, so that growing in place meets neighbours. */
static void test_walks(struct rng *rng)
{
	enum { N = 64 };
	struct {
		unsigned char *at;
		size_t size;
	} blocks[N] = { { NULL, 0 } };

	for (size_t step = 0; step < test_scaled(60000); step++) {
		size_t i = rng_below(rng, N), size;
		size_t common;

		switch (rng_below(rng, 3)) {
		case 0:
			size = rng_size(rng, step % 200 ? 17 : 24);
			break;
		case 1:
			size = blocks[i].size + rng_below(rng, 5000) + 1;
			break;
		default:
			size = blocks[i].size / 2 + 1;
		}
		if (size > (64 << 20))
			size = 1;
		common = blocks[i].size < size ? blocks[i].size : size;
		blocks[i].at = realloc(blocks[i].at, size);
		CHECK(blocks[i].at);
		CHECK(pattern_holds_key(blocks[i].at, common / 8 * 8, i));
		pattern_fill_key(blocks[i].at + common / 8 * 8, size - common / 8 * 8,
				 (uint64_t)i + (uint64_t)(common / 8 * 8) * 0xd6e8feb86659fd93u);
		blocks[i].size = size;
	}
	for (int i = 0; i < N; i++) {
		CHECK(pattern_holds_key(blocks[i].at, blocks[i].size / 8 * 8, (uint64_t)i));
		free(blocks[i].at);
	}
}

/* A big block that grows step by step keeps its content; with mremap this is cheap. */
static void test_grow_big(void)
{
	size_t size = 1 << 20;
	char *block = malloc(size);

	CHECK(block);
	memset(block, 0x42, size);
	while (size < (256 << 20)) {
		size_t more = size + size / 2;

		block = realloc(block, more);
		CHECK(block && block[0] == 0x42 && block[size - 1] == 0x42 && block[size / 2] == 0x42);
		block[more - 1] = 0x42;
		for (size_t at = size; at < more; at += 4096)
			block[at] = 0x42;
		block[more / 2] = 0x42;
		size = more;
	}
	block = realloc(block, 100);
	CHECK(block && all_bytes(block, 100, 0x42));
	free(block);
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };

	test_matrix();
	test_walks(&rng);
	test_grow_big();
	return 0;
}
