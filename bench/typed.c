/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * An allocation and its free from a typed cache of 64-byte objects, one thread.
 * Linked with libdrystone.so; the counterpart for other allocators is pair64 of pair.c.
 */
#include <drystone/drystone.h>

#include "common.h"

#define ROUND 4096

static dry_cache *cache;

static void setup(void)
{
	struct dry_cache_attr attr = { .name = "bench-typed", .size = 64 };

	cache = dry_cache_create(NULL, &attr);
	if (cache == NULL)
		bench_die("cannot create a cache");
}

static uint64_t run_typed(size_t rounds, size_t *ops)
{
	dry_cache *c = cache;
	uint64_t start = bench_now();

	for (size_t r = 0; r < rounds; r++) {
		for (size_t i = 0; i < ROUND; i++)
			dry_cache_free(c, bench_touch(dry_cache_alloc(c)));
	}
	*ops = rounds * ROUND;
	return bench_now() - start;
}

int main(int argc, char **argv)
{
	static const struct bench_case cases[] = {
		{ "typed", setup, run_typed },
		{ NULL, NULL, NULL },
	};

	return bench_main(argc, argv, cases);
}
