/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Self-verifying payloads: a block is filled with words that follow from a key.
 * The usual key is the block's address and size, so that a block handed out
 * twice, or written through a stale pointer, shows when it is verified.
 */
#ifndef DRY_TESTS_PATTERN_H
#define DRY_TESTS_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t pattern_key(const void *block, size_t size)
{
	return (uint64_t)(uintptr_t)block * 0x9e3779b97f4a7c15u ^ (uint64_t)size * 0xc2b2ae3d27d4eb4fu;
}

static inline uint64_t pattern_word(uint64_t key, size_t offset)
{
	uint64_t x = key + (uint64_t)offset * 0xd6e8feb86659fd93u;

	return x ^ x >> 29;
}

static inline void pattern_fill_key(void *block, size_t size, uint64_t key)
{
	unsigned char *at = (unsigned char *)block;

	for (size_t i = 0; i < size; i += 8) {
		uint64_t word = pattern_word(key, i);

		memcpy(at + i, &word, size - i < 8 ? size - i : 8);
	}
}

static inline bool pattern_holds_key(const void *block, size_t size, uint64_t key)
{
	const unsigned char *at = (const unsigned char *)block;

	for (size_t i = 0; i < size; i += 8) {
		uint64_t word = pattern_word(key, i);

		if (memcmp(at + i, &word, size - i < 8 ? size - i : 8))
			return false;
	}
	return true;
}

static inline void pattern_fill(void *block, size_t size)
{
	pattern_fill_key(block, size, pattern_key(block, size));
}

static inline bool pattern_holds(const void *block, size_t size)
{
	return pattern_holds_key(block, size, pattern_key(block, size));
}

static inline bool all_bytes(const void *block, size_t size, unsigned char value)
{
	const unsigned char *at = (const unsigned char *)block;

	return size == 0 || (at[0] == value && !memcmp(at, at + 1, size - 1));
}

#endif
