/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/canary.h"

#include <string.h>

#include "core/cache.h"
#include "port/guard.h"

/* Three for canaries, three for choices. Atomic: 0 until dry_secret_seed(), then the same for good. */
static uint64_t key[6];

static uint64_t key_at(const uint64_t *keys, int i)
{
	return __atomic_load_n(&keys[i], __ATOMIC_RELAXED);
}

/*
 * A permutation by three secrets: three rounds of a multiplication and a shift of the upper half onto the lower one, which no
 * sum or product commutes with. What it gives for some x tells nothing usable of others. keys[1] is odd.
 */
static inline uint64_t scramble(uint64_t x, const uint64_t *keys)
{
	uint64_t factor = key_at(keys, 1);

	x = (x ^ key_at(keys, 0)) * factor;
	x = ((x ^ x >> 32) + key_at(keys, 2)) * factor;
	x = (x ^ x >> 29) * factor;
	return x ^ x >> 32;
}

uint64_t dry_canary_of(const char *end)
{
	return scramble((uintptr_t)end, key) | UINT64_C(0x8080808080808080);
}

/* Of the eight bytes around an address those from it on. */
static uint64_t mask_from(const char *at)
{
	return UINT64_MAX << (uintptr_t)at % 8 * 8;
}

static char *word_around(const char *at)
{
	return (char *)(uintptr_t)at - (uintptr_t)at % 8;
}

void dry_canary_fill(uint64_t canary, char *from, char *end)
{
	char *tail = end - DRY_SECURE_TAIL, *at = word_around(from);

	if (at != from) { /* the rest of the word is the object's */
		uint64_t mask = mask_from(from);
		dry_store64(at, (dry_load64(at) & ~mask) | (canary & mask));
		at += 8;
	}
	for (; at < tail; at += 8)
		dry_store64(at, canary);
}

const char *dry_canary_broken_at(uint64_t canary, const char *from, const char *end)
{
	const char *tail = end - DRY_SECURE_TAIL, *at = word_around(from);
	uint64_t mask = mask_from(from), differs = 0;

	for (; at < tail && differs == 0; at += 8, mask = UINT64_MAX)
		differs = (dry_load64(at) ^ canary) & mask;
	if (differs != 0)
		at -= 8;
	else
		differs = dry_load64(at) ^ dry_canary_tail(canary);
	return DRY_LIKELY(differs == 0) ? NULL : at + dry_ctz64(differs) / 8;
}

void dry_secret_seed(void)
{
	/* Objects that have canaries already must keep their secrets. */
	for (int i = 0; i < 6; i++) {
		uint64_t none = 0;
		if (__atomic_load_n(&key[i], __ATOMIC_RELAXED) == 0)
			__atomic_compare_exchange_n(&key[i], &none, dry_port_random() | 1, false, __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED);
	}
}

uint64_t dry_secret_random(void)
{
	static _Atomic uint64_t counter;

	/* relaxed: any order will do */
	return dry_secret_choice(atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed));
}

uint64_t dry_secret_choice(uint64_t number)
{
	return scramble(number, key + 3);
}

uint16_t dry_secret_mark(const char *from, const char *to)
{
	uint64_t mark = 0, word;

	for (; to - from >= 8; from += 8) {
		memcpy(&word, from, sizeof(word));
		mark = scramble(mark ^ word, key);
	}
	for (; from < to; from++)
		mark = scramble(mark ^ (unsigned char)*from, key);
	return (uint16_t)(mark | 1);
}
