/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The process's secrets, and what is made of them: canaries by address, choices, marks of content. */
#ifndef DRY_DEBUG_CANARY_H
#define DRY_DEBUG_CANARY_H

#include <stdint.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "core/cache.h"

/* Choose them, once; before the first call of what follows. */
void dry_secret_seed(void);

/* Bits for choices: cheap, and unknown to who does not know the secrets; canaries tell nothing of them. */
uint64_t dry_secret_random(void);

/* The same of a number that its caller counts: the same for the same. */
uint64_t dry_secret_choice(uint64_t number);

/*
 * In the child of a fork, with a number that no other child of its parent has. What it chooses from then on neither the parent nor
 * another child does: where blocks of one lie tells nothing of the next one's. Canaries stay, for there are blocks that have some.
 */
void dry_secret_forked(uint64_t number);

/* Of [from, to); never 0. */
uint16_t dry_secret_mark(const char *from, const char *to);

/* Three for canaries, three for choices. Atomic: 0 until dry_secret_seed(), then the same for as long as the process lives. */
extern DRY_HIDDEN uint64_t dry_secrets[6];

/*
 * A permutation by three secrets: three rounds of a multiplication and a shift of the upper half onto the lower one, which no
 * sum or product commutes with. What it gives for some x tells nothing usable of others. key[1] is odd.
 */
static inline uint64_t dry_scramble(uint64_t x, const uint64_t *key)
{
	uint64_t factor = __atomic_load_n(&key[1], __ATOMIC_RELAXED);

	x = (x ^ __atomic_load_n(&key[0], __ATOMIC_RELAXED)) * factor;
	x = ((x ^ x >> 32) + __atomic_load_n(&key[2], __ATOMIC_RELAXED)) * factor;
	x = (x ^ x >> 29) * factor;
	return x ^ x >> 32;
}

/* Of the slot that ends there, a multiple of 8. No byte is zero or a letter: strings that run over write those. */
static inline uint64_t dry_canary_of(const char *end)
{
	return dry_scramble((uintptr_t)end, dry_secrets) | UINT64_C(0x8080808080808080);
}

/* Its last eight bytes have a zero in their midst: a string without an end that is read ends there, in no neighbour. */
static inline uint64_t dry_canary_tail(uint64_t canary)
{
	return canary & ~(UINT64_C(0xff) << 32);
}

/* The byte at an address before the tail. */
static inline unsigned char dry_canary_byte(uint64_t canary, const char *at)
{
	return (unsigned char)(canary >> (uintptr_t)at % 8 * 8);
}

/* [from, end) without the tail. */
void dry_canary_fill(uint64_t canary, char *from, char *end);

const char *dry_canary_broken_at(uint64_t canary, const char *from, const char *end);

/* The first byte of [from, end), which has the tail at its end, that differs; NULL: none. */
static inline const char *dry_canary_find_broken(uint64_t canary, const char *from, const char *end)
{
	const char *tail = end - DRY_SECURE_TAIL;

	if (DRY_LIKELY(from == tail) && DRY_LIKELY(dry_load64(tail) == dry_canary_tail(canary)))
		return NULL;
	return dry_canary_broken_at(canary, from, end);
}

#endif
