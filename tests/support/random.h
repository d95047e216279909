/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Seeded random numbers, the seed of a test run, and the soak length.
 *
 * A test calls test_seed() once: it takes argv[1], else DRY_TEST_SEED, else the
 * clock, and prints what it took, so that every failure can be replayed.
 */
#ifndef DRY_TESTS_RANDOM_H
#define DRY_TESTS_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct rng {
	uint64_t state;
};

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static inline uint64_t rng_next(struct rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* 0 <= result < n; n > 0. */
static inline size_t rng_below(struct rng *rng, size_t n)
{
	return (size_t)(rng_next(rng) % n);
}

/* A size up to 2^bits, small ones as likely as big ones in each doubling. */
static inline size_t rng_size(struct rng *rng, unsigned bits)
{
	return rng_below(rng, ((size_t)1 << (rng_below(rng, bits) + 1))) + 1;
}

static inline void rng_shuffle(struct rng *rng, void **items, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = rng_below(rng, i);
		void *swap = items[i - 1];

		items[i - 1] = items[j];
		items[j] = swap;
	}
}

static inline uint64_t test_seed(int argc, char **argv)
{
	const char *text = argc > 1 ? argv[1] : getenv("DRY_TEST_SEED");
	struct timespec now;
	uint64_t seed;

	if (text && *text) {
		seed = strtoull(text, NULL, 0);
	} else {
		clock_gettime(CLOCK_REALTIME, &now);
		seed = ((uint64_t)now.tv_nsec << 20 ^ (uint64_t)now.tv_sec ^ (uint64_t)getpid() << 44) % 1000000007u;
	}
	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	return seed;
}

/* DRY_TEST_SCALE: how much of its usual work a test does. */
static inline double test_scale(void)
{
	const char *text = getenv("DRY_TEST_SCALE");

	return text && *text ? strtod(text, NULL) : 1.0;
}

/* n times DRY_TEST_SCALE (a factor, default 1), at least 1. */
static inline size_t test_scaled(size_t n)
{
	double scaled = (double)n * test_scale();

	return scaled < 1.0 ? 1 : (size_t)scaled;
}

/* Where every case of a list is run: with a DRY_TEST_SCALE below 1, every how-many-th. */
static inline size_t test_stride(void)
{
	double scale = test_scale();

	return scale > 0.001 && scale < 1.0 ? (size_t)(1.0 / scale) : 1;
}

#endif
