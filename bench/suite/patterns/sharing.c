/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * False sharing. Each thread writes again and again to a block of 8 bytes that is its own; if the allocator put two
 * threads' blocks into one cache line, they slow each other down.
 *
 *   sharing_active   each thread allocates its block, writes to it 200 times and frees it
 *   sharing_passive  the main thread allocates one after another a block for each thread; a thread frees the one
 *                    that it was given and then does as above, so that an allocator may hand the same line on
 *
 * An operation is one block with its writes. (The two kinds are those of E. D. Berger and others: Hoard, 2000.)
 */
#include "patterns.h"

#define WRITES 200

static volatile uint64_t *given[64];

static void write_often(struct suite_worker *w)
{
	w->ops = suite_share(w->suite, 2e6);
	for (size_t i = 0; i < w->ops; i++) {
		volatile uint64_t *block = (volatile uint64_t *)malloc(8);

		if (block == NULL)
			bench_die("out of memory");
		*block = i;
		for (int k = 0; k < WRITES; k++)
			*block += (uint64_t)k;
		if (*block != i + WRITES * (WRITES - 1) / 2)
			suite_damaged((const void *)block);
		w->check += *block;
		free((void *)block);
	}
}

void pattern_sharing_active(struct suite *suite)
{
	suite_threads(suite, write_often);
}

static void take_over(struct suite_worker *w)
{
	if (*given[w->index] != w->index)
		suite_damaged((const void *)given[w->index]);
	free((void *)given[w->index]);
	write_often(w);
}

void pattern_sharing_passive(struct suite *suite)
{
	for (unsigned i = 0; i < suite->threads; i++) {
		given[i] = bench_touch(malloc(8));
		*given[i] = i;
	}
	suite_threads(suite, take_over);
}
