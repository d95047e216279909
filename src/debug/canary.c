/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/canary.h"

#include <string.h>

#include "port/guard.h"

uint64_t dry_secrets[6];

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
		if (__atomic_load_n(&dry_secrets[i], __ATOMIC_RELAXED) == 0)
			__atomic_compare_exchange_n(&dry_secrets[i], &none, dry_port_random() | 1, false, __ATOMIC_RELAXED,
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
	return dry_scramble(number, dry_secrets + 3);
}

/* Of the old ones, without a system call: a filter may not let the child ask for randomness. */
void dry_secret_forked(uint64_t number)
{
	uint64_t renewed[3];

	if (__atomic_load_n(&dry_secrets[5], __ATOMIC_RELAXED) == 0) /* nothing is chosen yet */
		return;
	for (uint64_t i = 0; i < 3; i++)
		renewed[i] = dry_secret_choice(UINT64_MAX - 3 * number - i) | 1; /* others count upwards */
	for (int i = 0; i < 3; i++)
		__atomic_store_n(&dry_secrets[3 + i], renewed[i], __ATOMIC_RELAXED);
}

uint16_t dry_secret_mark(const char *from, const char *to)
{
	uint64_t mark = 0, word;

	for (; to - from >= 8; from += 8) {
		memcpy(&word, from, sizeof(word));
		mark = dry_scramble(mark ^ word, dry_secrets);
	}
	for (; from < to; from++)
		mark = dry_scramble(mark ^ (unsigned char)*from, dry_secrets);
	return (uint16_t)(mark | 1);
}
