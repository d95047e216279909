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

/* No byte is zero or a letter: strings that run over write those. `at` is a multiple of 8. */
static uint64_t canary_at(uintptr_t at)
{
	return scramble(at, key) | UINT64_C(0x8080808080808080);
}

/* The last eight bytes have a zero in their midst: a string without an end that is read ends there, in no neighbour. */
static uint64_t tail_at(uintptr_t at)
{
	return canary_at(at) & ~(UINT64_C(0xff) << 32);
}

unsigned char dry_canary_byte(uintptr_t at)
{
	return (unsigned char)(canary_at(at & ~(uintptr_t)7) >> at % 8 * 8);
}

static void put_word(char *at, uint64_t word)
{
	memcpy(at, &word, sizeof(word));
}

void dry_canary_tail(char *end)
{
	put_word(end - DRY_SECURE_TAIL, tail_at((uintptr_t)end - DRY_SECURE_TAIL));
}

void dry_canary_fill(char *from, char *to)
{
	for (; (uintptr_t)from % 8 != 0 && from < to; from++)
		*from = (char)dry_canary_byte((uintptr_t)from);
	for (; from < to; from += 8)
		put_word(from, canary_at((uintptr_t)from));
}

const char *dry_canary_find_broken(const char *from, const char *end)
{
	const char *tail = end - DRY_SECURE_TAIL;
	uint64_t word, right;

	for (; (uintptr_t)from % 8 != 0; from++)
		if (*(const unsigned char *)from != dry_canary_byte((uintptr_t)from))
			return from;
	for (; from < end; from += 8) {
		memcpy(&word, from, sizeof(word));
		right = from == tail ? tail_at((uintptr_t)from) : canary_at((uintptr_t)from);
		for (unsigned i = 0; word != right && i < 8; i++)
			if ((word ^ right) >> i * 8 & 0xff)
				return from + i;
	}
	return NULL;
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
	return scramble(atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed), key + 3);
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
