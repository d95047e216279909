/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * dry_guard(): sampling begins and ends while the program runs; guarded blocks are blocks like others, and their
 * size is exact.
 */
/* DRY_TEST_NOT_TINY: it has no guarded blocks. */
#include <drystone/drystone.h>
#include <string.h>

#include "../support/check.h"
#include "../support/random.h"

#define N 4000

static unsigned char *blocks[N];
static size_t sizes[N];

static size_t extents(void)
{
	struct dry_heap_stats stats;

	CHECK(!dry_heap_stats(NULL, &stats));
	return stats.extents;
}

/* Fills all; the bytes that guarded blocks take. */
static size_t fill(struct rng *rng)
{
	size_t before = extents();

	for (size_t i = 0; i < N; i++) {
		sizes[i] = 1 + rng_below(rng, 3000);
		blocks[i] = i % 2 ? dry_alloc(NULL, sizes[i]) : dry_zalloc(NULL, sizes[i]);
		CHECK(blocks[i]);
		CHECK((uintptr_t)blocks[i] % (sizes[i] < 16 ? 8 : 16) == 0);
		CHECK(dry_usable_size(NULL, blocks[i]) >= sizes[i]);
		for (size_t k = 0; k < sizes[i] && i % 2 == 0; k++)
			CHECK(!blocks[i][k]);
		memset(blocks[i], (int)i, sizes[i]);
	}
	return extents() - before;
}

static void resize_and_drop(struct rng *rng)
{
	for (size_t i = 0; i < N; i++) {
		size_t size = 1 + rng_below(rng, 6000);
		unsigned char *moved = dry_realloc(NULL, blocks[i], size);

		CHECK(moved);
		for (size_t k = 0; k < size && k < sizes[i]; k++)
			CHECK(moved[k] == (unsigned char)i);
		dry_free(NULL, moved);
	}
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };

	/* What is watched anyway has had its turn. */
	fill(&rng);
	resize_and_drop(&rng);

	CHECK(!dry_guard(1));
	CHECK(fill(&rng) >= 4096);
	resize_and_drop(&rng);

	CHECK(!dry_guard(0));
	CHECK_EQ(fill(&rng), 0);
	resize_and_drop(&rng);
	CHECK(!dry_heap_check(NULL));
	return 0;
}
