/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Bit arithmetic on unsigned words. Every function is pure and total on the
 * domain that its comment names.
 */
#ifndef DRY_BASE_BITS_H
#define DRY_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The q with q * odd = 1 in a word; odd is. By Newton: 3 bits are right at first, each step doubles them. */
static inline size_t dry_inverse(size_t odd)
{
	size_t q = odd;

	for (unsigned bits = 3; bits < sizeof(q) * 8; bits *= 2)
		q *= 2 - odd * q;
	return q;
}

/* by < bits of a word. */
static inline size_t dry_rotate_right(size_t x, unsigned by)
{
	return x >> by | x << (-by & (sizeof(x) * 8 - 1));
}

/* Index of the lowest set bit; x != 0. */
static inline unsigned dry_ctz32(uint32_t x)
{
	return (unsigned)__builtin_ctz(x);
}
static inline unsigned dry_ctz64(uint64_t x)
{
	if (sizeof(long) == sizeof(x))
		return (unsigned)__builtin_ctzll(x);
	return (uint32_t)x != 0 ? dry_ctz32((uint32_t)x) : 32 + dry_ctz32((uint32_t)(x >> 32));
}

/* Every bit of the result depends on every bit of x; one to one (the finaliser of splitmix64, Stafford's variant 13). */
static inline uint64_t dry_mix64(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Number of set bits: in pairs, in nibbles, in bytes, then their sum. */
static inline unsigned dry_popcount64(uint64_t x)
{
	x -= x >> 1 & 0x5555555555555555u;
	x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
	return (unsigned)(x * 0x0101010101010101u >> 56);
}

/* floor(log2(x)); x != 0. */
static inline unsigned dry_log2_floor(uint64_t x)
{
	return 63u - (unsigned)__builtin_clzll(x);
}

/* The same of a size, without arithmetic on 64 bits where a size has 32. */
static inline unsigned dry_log2_size(size_t x)
{
	return (unsigned)(sizeof(long) * 8 - 1) - (unsigned)__builtin_clzl(x);
}

/* Smallest n with 2^n >= x; x != 0. */
static inline unsigned dry_log2_ceil(uint64_t x)
{
	return x == 1 ? 0 : dry_log2_floor(x - 1) + 1;
}

static inline bool dry_is_pow2(uint64_t x)
{
	return x != 0 && (x & (x - 1)) == 0;
}

/* To a multiple of `unit`, a power of two. The caller excludes overflow (else: checked.h). */
static inline size_t dry_round_down(size_t x, size_t unit)
{
	return x & ~(unit - 1);
}
static inline size_t dry_round_up(size_t x, size_t unit)
{
	return (x + unit - 1) & ~(unit - 1);
}

/* A word at any address; the freestanding memcpy() would be a call. */
static inline uint64_t dry_load64(const void *from)
{
	uint64_t word;

	__builtin_memcpy(&word, from, sizeof(word));
	return word;
}

static inline void dry_store64(void *to, uint64_t word)
{
	__builtin_memcpy(to, &word, sizeof(word));
}

/* Halves of a word in memory. */
union dry_halves {
	uint64_t word;
	uint32_t half[2];
};

/*
 * A word that others look at meanwhile, relaxed. Where `long` has 32 bits its halves come and go one by one: who looks
 * may rely on those alone.
 */
static inline uint64_t dry_peek64(const uint64_t *at)
{
	union dry_halves seen;

	if (sizeof(long) == sizeof(*at))
		return __atomic_load_n(at, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 2; i++)
		seen.half[i] = __atomic_load_n(&((const union dry_halves *)(const void *)at)->half[i], __ATOMIC_RELAXED);
	return seen.word;
}

static inline void dry_poke64(uint64_t *at, uint64_t word)
{
	const union dry_halves set = { word };

	if (sizeof(long) == sizeof(*at))
		__atomic_store_n(at, word, __ATOMIC_RELAXED);
	else
		for (unsigned i = 0; i < 2; i++)
			__atomic_store_n(&((union dry_halves *)(void *)at)->half[i], set.half[i], __ATOMIC_RELAXED);
}

#endif
