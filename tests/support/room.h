/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How much a test may ask for. The suite also runs on small machines, where every
 * heap lives in a pool of DRY_TEST_POOL bytes; elsewhere all of these return what they are given.
 */
#ifndef DRY_TESTS_ROOM_H
#define DRY_TESTS_ROOM_H

#include <stdbool.h>
#include <stddef.h>

#ifdef DRY_TEST_POOL
#define TEST_POOL ((size_t)DRY_TEST_POOL)
#else
#define TEST_POOL ((size_t)-1)
#endif

static inline bool test_in_pool(void)
{
	return TEST_POOL != (size_t)-1;
}

/*
 * The allocators for small machines under the same header (DRY_TEST_TINY): no arrays before the slabs, one way to keep free
 * objects, slabs of several sizes in one cache.
 */
static inline bool test_is_tiny(void)
{
#ifdef DRY_TEST_TINY
	return true;
#else
	return false;
#endif
}

/* The predecessor: objects of all caches share pages, so constructors run at each allocation and no slab stays. */
static inline bool test_is_sequential(void)
{
#ifdef DRY_TEST_SEQUENTIAL
	return true;
#else
	return false;
#endif
}

static inline size_t test_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* n, or as many objects of this size as 3/8 of a pool hold; at least 1. */
static inline size_t test_fit(size_t n, size_t size)
{
	size_t most = TEST_POOL / 8 * 3 / (size ? size : 1);

	return test_min(n, most ? most : 1);
}

/* A size or alignment of blocks of which some must be had at once. */
static inline size_t test_biggest(size_t size)
{
	return test_min(size, TEST_POOL / 16);
}

/* For rng_size(): no block is above test_biggest(). */
static inline unsigned test_bits(unsigned bits)
{
	while (bits > 1 && ((size_t)1 << bits) > TEST_POOL / 16)
		bits--;
	return bits;
}

#endif
