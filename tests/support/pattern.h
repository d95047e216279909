/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Self-verifying payloads: a block is filled with words that follow from a key.
 * The usual key is the block's address and size, so that a block handed out
 * twice, or written through a stale pointer, shows when it is verified.
 *
 * The address sanitizer is asked about a block as a whole: to ask at each word took most of its tests' time.
 */
#ifndef DRY_TESTS_PATTERN_H
#define DRY_TESTS_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define PATTERN_PLAIN __attribute__((no_sanitize("address", "undefined")))
/* Ends in the sanitizer's report where a part of the block may not be touched. */
static inline void pattern_may_touch(const void *block, size_t size)
{
	volatile char *bad = __asan_region_is_poisoned((void *)(uintptr_t)block, size);

	if (bad != NULL)
		*bad = *bad;
}
#else
#define PATTERN_PLAIN
#define pattern_may_touch(block, size) ((void)0)
#endif

static inline uint64_t pattern_key(const void *block, size_t size)
{
	return (uint64_t)(uintptr_t)block * 0x9e3779b97f4a7c15u ^ (uint64_t)size * 0xc2b2ae3d27d4eb4fu;
}

static inline PATTERN_PLAIN uint64_t pattern_word(uint64_t key, size_t offset)
{
	uint64_t x = key + (uint64_t)offset * 0xd6e8feb86659fd93u;

	return x ^ x >> 29;
}

/* A copy of 8 bytes is one instruction; one of a size that the compiler does not know is a call. */
static inline PATTERN_PLAIN void pattern_fill_words(void *block, size_t size, uint64_t key)
{
	unsigned char *at = (unsigned char *)block;
	size_t i;
	uint64_t word;

	for (i = 0; size - i >= 8; i += 8) {
		word = pattern_word(key, i);
		memcpy(at + i, &word, 8);
	}
	word = pattern_word(key, i);
	memcpy(at + i, &word, size - i);
}

static inline PATTERN_PLAIN bool pattern_words_hold(const void *block, size_t size, uint64_t key)
{
	const unsigned char *at = (const unsigned char *)block;
	size_t i;
	uint64_t word, seen;

	for (i = 0; size - i >= 8; i += 8) {
		word = pattern_word(key, i);
		memcpy(&seen, at + i, 8);
		if (seen != word)
			return false;
	}
	word = pattern_word(key, i);
	return !memcmp(at + i, &word, size - i);
}

static inline void pattern_fill_key(void *block, size_t size, uint64_t key)
{
	pattern_may_touch(block, size);
	pattern_fill_words(block, size, key);
}

static inline bool pattern_holds_key(const void *block, size_t size, uint64_t key)
{
	pattern_may_touch(block, size);
	return pattern_words_hold(block, size, key);
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
