/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Random replacement: a table of live blocks; an operation frees one of them and allocates another in its place.
 *
 *   powerlaw      100,000 places in all, sizes by a power law up to 16 KiB; some places are replaced far more often
 *   powerlaw_few  1024 places for each thread, the same sizes
 *   small256      256 places for each thread, 8 to 519 bytes, every place as likely as another
 *   wide          512 places for each thread, 16 to 16,000 bytes; every 500 operations a thread swaps 64 of its blocks
 *                 with what others left, so that much is freed by another thread than allocated it
 */
#include "patterns.h"

#include <stdatomic.h>

static void replace(struct suite_worker *w, struct suite_block **place, size_t size)
{
	suite_free(*place);
	*place = suite_alloc(size);
	w->check += size;
}

static struct suite_block **table_of(size_t places)
{
	struct suite_block **table = calloc(places, sizeof(*table));

	if (table == NULL)
		bench_die("out of memory");
	return table;
}

static void free_table(struct suite_block **table, size_t places)
{
	for (size_t i = 0; i < places; i++)
		suite_free(table[i]);
	free(table);
}

/* ---- powerlaw ---- */

#define ALL_PLACES 100000

/* The square of a fraction: a quarter of the places gets half of the replacements. */
static size_t skewed(uint64_t *random, size_t places)
{
	uint64_t r = bench_random(random);

	return (size_t)(((r * r) >> 32) * places >> 32);
}

static void powerlaw(struct suite_worker *w)
{
	size_t places = ALL_PLACES / w->suite->threads;
	struct suite_block **table = table_of(places);

	w->ops = suite_share(w->suite, 5e6);
	for (size_t i = 0; i < w->ops; i++)
		replace(w, &table[skewed(&w->random, places)], suite_power_law(&w->random));
	free_table(table, places);
}

void pattern_powerlaw(struct suite *suite)
{
	suite_threads(suite, powerlaw);
}

#define FEW_PLACES 1024

static void powerlaw_few(struct suite_worker *w)
{
	struct suite_block **table = table_of(FEW_PLACES);

	w->ops = suite_share(w->suite, 1e7);
	for (size_t i = 0; i < w->ops; i++)
		replace(w, &table[bench_range(&w->random, 0, FEW_PLACES - 1)], suite_power_law(&w->random));
	free_table(table, FEW_PLACES);
}

void pattern_powerlaw_few(struct suite *suite)
{
	suite_threads(suite, powerlaw_few);
}

/* ---- small256: blocks too small for a link, so marked by a byte ---- */

#define SMALL_PLACES 256

static void small256(struct suite_worker *w)
{
	uint8_t *block[SMALL_PLACES] = { NULL };
	uint8_t mark[SMALL_PLACES] = { 0 };

	w->ops = suite_share(w->suite, 2e7);
	for (size_t i = 0; i < w->ops; i++) {
		uint32_t r = bench_random(&w->random), place = r >> 24, size = 8 + (r & 511);

		if (block[place] != NULL && block[place][0] != mark[place])
			suite_damaged(block[place]);
		free(block[place]);
		block[place] = bench_touch(malloc(size));
		mark[place] = block[place][0] = (uint8_t)i;
		w->check += size;
	}
	for (size_t i = 0; i < SMALL_PLACES; i++)
		free(block[i]);
}

void pattern_small256(struct suite *suite)
{
	suite_threads(suite, small256);
}

/* ---- wide ---- */

#define WIDE_PLACES 512
#define SWAP_EVERY  500
#define SWAPPED     64

/* What threads leave for each other. Exchanged with acquire and release: the block's mark goes with its address. */
static _Atomic(struct suite_block *) left[1024];

static void swap_some(struct suite_worker *w, struct suite_block **table)
{
	for (int i = 0; i < SWAPPED; i++) {
		uint32_t r = bench_random(&w->random);
		struct suite_block **mine = &table[r % WIDE_PLACES];

		*mine = atomic_exchange_explicit(&left[(r >> 20) % 1024], *mine, memory_order_acq_rel);
	}
}

static void wide(struct suite_worker *w)
{
	struct suite_block **table = table_of(WIDE_PLACES);

	w->ops = suite_share(w->suite, 5e6);
	for (size_t i = 0; i < w->ops; i++) {
		uint32_t r = bench_random(&w->random);

		replace(w, &table[r % WIDE_PLACES], 16 + (size_t)((r >> 9) % 15985));
		if (i % SWAP_EVERY == SWAP_EVERY - 1)
			swap_some(w, table);
	}
	free_table(table, WIDE_PLACES);
}

void pattern_wide(struct suite *suite)
{
	suite_threads(suite, wide);
	for (size_t i = 0; i < 1024; i++)
		suite_free(left[i]);
}
