/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the measurements' programs share: random numbers, the population of a kernel, a pool that shows its use. */
#ifndef DRY_BENCH_TINY_WORKLOAD_H
#define DRY_BENCH_TINY_WORKLOAD_H

#include <stdint.h>

#include "subject.h"

/* Marsaglia's xorshift, 64 bits; the state is not 0. */
struct dice {
	uint64_t state;
};

static inline uint64_t dice_next(struct dice *dice)
{
	uint64_t x = dice->state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return dice->state = x;
}

/* 0 <= result < n, n > 0 */
static inline uint32_t dice_below(struct dice *dice, uint32_t n)
{
	return (uint32_t)((dice_next(dice) >> 32) * n >> 32);
}

/* A mapping filled with a pattern; what an allocator has written to can be told from it. */
struct pool {
	unsigned char *memory;
	size_t size;
};
bool pool_make(struct pool *pool, size_t size);
size_t pool_touched(const struct pool *pool); /* bytes in pages of 4 KiB that were written to */

/* One object of the population. */
struct resident {
	void *at;
	uint32_t size; /* of a block */
	uint16_t kind; /* index into kinds; POPULATION_BLOCK: a block */
};
#define POPULATION_BLOCK 0xffff

struct population {
	struct kind kinds[512];
	char names[512][48];
	size_t kind_count;
	struct resident objects[65536]; /* shuffled */
	size_t count, bytes;		/* bytes: of the objects alone */
	bool drawn;
};

/*
 * Read a table of caches (bench/tiny/data): its active objects, `percent` of each row. Rows named kmalloc-*
 * become blocks, of the cache's size or, if `drawn`, of sizes drawn evenly from the range that it serves.
 */
bool population_read(struct population *population, const char *path, unsigned percent, bool drawn, struct dice *dice);
bool population_open(struct population *population); /* prepare the kinds; false: the pool is exhausted */
bool population_get(struct population *population, struct resident *object);
void population_put(struct population *population, struct resident *object);

#endif
