/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* malloc_usable_size: at least the size asked for, constant, and all of it writable. */
#define _GNU_SOURCE 1
#include <stdlib.h>

#include "../support/check.h"
#include "../support/glibc.h"
#include "../support/pattern.h"
#include "../support/random.h"

#define N 3000

static struct {
	void *at;
	size_t usable;
} blocks[N];

static void *get(struct rng *rng, size_t size)
{
	switch (rng_below(rng, 4)) {
	case 0:
		return calloc(1, size);
	case 1:
		return memalign((size_t)16 << rng_below(rng, 9), size);
	case 2:
		return realloc(malloc(size / 2 + 1), size);
	default:
		return malloc(size);
	}
}

void free_sized(void *block, size_t size) __attribute__((weak));

/* Who resized a block may free it as one of its last size. */
static void resized(void)
{
	for (size_t size = 20; size < 9000000; size = size * 5 / 3 + 7)
		for (size_t k = 1; k <= 20 && free_sized; k++) {
			size_t last = size * k / 9 + 1;
			char *block = realloc(malloc(size), last);

			CHECK(block);
			block[last - 1] = 1;
			free_sized(block, last);
		}
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };

	CHECK_EQ(malloc_usable_size(NULL), 0);
	resized();
	for (size_t size = 0; size < 70000; size += size < 4200 ? 1 : 113) {
		void *block = malloc(size);

		CHECK(malloc_usable_size(block) >= size);
		memset(block, 0xff, malloc_usable_size(block));
		free(block);
	}
	for (int i = 0; i < N; i++) {
		size_t size = i % 100 ? rng_size(&rng, 16) : rng_size(&rng, 22);

		CHECK(blocks[i].at = get(&rng, size));
		blocks[i].usable = malloc_usable_size(blocks[i].at);
		CHECK(blocks[i].usable >= size);
		pattern_fill(blocks[i].at, blocks[i].usable);
	}
	for (size_t step = 0; step < test_scaled(20000); step++) { /* nothing that happens around changes it */
		size_t i = rng_below(&rng, N), size = rng_size(&rng, 16);

		CHECK_EQ(malloc_usable_size(blocks[i].at), blocks[i].usable);
		if (step % 3)
			continue;
		CHECK(pattern_holds(blocks[i].at, blocks[i].usable));
		free(blocks[i].at);
		CHECK(blocks[i].at = get(&rng, size));
		blocks[i].usable = malloc_usable_size(blocks[i].at);
		pattern_fill(blocks[i].at, blocks[i].usable);
	}
	malloc_trim(0);
	for (int i = 0; i < N; i++) {
		CHECK_EQ(malloc_usable_size(blocks[i].at), blocks[i].usable);
		CHECK(pattern_holds(blocks[i].at, blocks[i].usable));
		free(blocks[i].at);
	}
	return 0;
}
