/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The word of an array: how many objects it has, pops counted, and after which one somebody wants to look.
 *
 *   bits 0 to 15    avail
 *   bits 16 to 60   pops so far; where a countdown runs, less than 0: as many pops as are left
 *   bits 61 to 63   flags, and above the count the place that its carry goes to:
 *
 *     slots that the kernel restarts:  0xx counting (the count goes on up to bit 62)    100 over
 *     slots that threads own:          101 counting                                     110 over
 *
 * A pop adds 0xffff: one to the count, and one off avail. So a countdown costs a hit nothing: the pop that ends it carries into
 * the flags, which hits look at in any case (bit 63: there is something to do; bit 61: not more than an owned slot always has).
 * That one fails, and all after it, until somebody has looked and armed the array anew.
 *
 * Must not know: what is looked at.
 */
#ifndef DRY_PORT_WORD_H
#define DRY_PORT_WORD_H

#include <stdbool.h>
#include <stdint.h>

#define DRY_WORD_POP      0xffffu
#define DRY_WORD_COUNT    16
#define DRY_WORD_OWNED    ((uint64_t)5 << 61)
#define DRY_WORD_LEFT_MAX (((uint64_t)1 << 36) - 1) /* longest countdown */
#define DRY_WORD_UNARMED  ((uint64_t)1 << 36)       /* over, as no pop has made it */

static inline bool dry_word_is_over(uint64_t word)
{
	return word >> 61 == 4 || word >> 61 == 6;
}

/* What is over with no pop since; `empty` is what words start with. */
static inline uint64_t dry_word_over(uint64_t empty)
{
	return empty != 0 ? (uint64_t)6 << 61 : (uint64_t)4 << 61;
}

/* Of which so many pops succeed, and the one after them does not. */
static inline uint64_t dry_word_armed(uint64_t empty, uint64_t left)
{
	if (left > DRY_WORD_LEFT_MAX)
		left = DRY_WORD_LEFT_MAX;
	return dry_word_over(empty) - ((left + 1) << DRY_WORD_COUNT);
}

/* Nobody has armed it yet: a pop fails for that. */
static inline uint64_t dry_word_unarmed(uint64_t empty)
{
	return dry_word_over(empty) | DRY_WORD_UNARMED;
}

/* Whether such a word that is over was not armed before. */
static inline bool dry_word_is_unarmed(uint64_t word)
{
	return (word & DRY_WORD_UNARMED) != 0;
}

/* Its count: differences are pops. Those that failed are none. */
static inline int64_t dry_word_pops(uint64_t word)
{
	unsigned wide = word >> 63 == 0 ? 47 : 45;
	uint64_t count = word >> DRY_WORD_COUNT & (((uint64_t)1 << wide) - 1);

	if (dry_word_is_over(word))
		return dry_word_is_unarmed(word) ? 0 : -1;
	return (int64_t)count - (count >> 37 == (((uint64_t)1 << wide) - 1) >> 37 ? (int64_t)1 << wide : 0);
}

#endif
