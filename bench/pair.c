/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * An allocation and its free, one thread.
 *
 *   pair    sizes 8 to 512 at random, freed at once
 *   ring    the same sizes; 64 live blocks, a random one is replaced each time
 *   pair64  64 bytes, freed at once: what the typed benchmark is compared with
 *
 * The operation is one malloc and one free. The requests come from a table, so
 * that making them up costs the same few instructions everywhere.
 */
#include "common.h"

#define TABLE 4096
#define LIVE  64

static uint16_t sizes[TABLE];
static uint8_t places[TABLE];
static void *ring[LIVE];

static void setup(void)
{
	uint64_t state = 88172645463325252ull;

	for (size_t i = 0; i < TABLE; i++) {
		sizes[i] = (uint16_t)bench_range(&state, 8, 512);
		places[i] = (uint8_t)bench_range(&state, 0, LIVE - 1);
	}
}

static uint64_t run_pair(size_t rounds, size_t *ops)
{
	uint64_t start = bench_now();

	for (size_t r = 0; r < rounds; r++) {
		for (size_t i = 0; i < TABLE; i++)
			free(bench_touch(malloc(sizes[i])));
	}
	*ops = rounds * TABLE;
	return bench_now() - start;
}

static uint64_t run_ring(size_t rounds, size_t *ops)
{
	uint64_t start = bench_now();

	for (size_t r = 0; r < rounds; r++) {
		for (size_t i = 0; i < TABLE; i++) {
			void **place = &ring[places[i]];

			free(*place);
			*place = bench_touch(malloc(sizes[i]));
		}
	}
	*ops = rounds * TABLE;
	return bench_now() - start;
}

static uint64_t run_pair64(size_t rounds, size_t *ops)
{
	uint64_t start = bench_now();

	for (size_t r = 0; r < rounds; r++) {
		for (size_t i = 0; i < TABLE; i++)
			free(bench_touch(malloc(64)));
	}
	*ops = rounds * TABLE;
	return bench_now() - start;
}

int main(int argc, char **argv)
{
	static const struct bench_case cases[] = {
		{ "pair", setup, run_pair },
		{ "ring", setup, run_ring },
		{ "pair64", NULL, run_pair64 },
		{ NULL, NULL, NULL },
	};

	return bench_main(argc, argv, cases);
}
