/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/chance.h"

#include "base/bits.h"
#include "debug/canary.h"

/*
 * -ln(u) of a uniform u. log2(1 + f) is taken as f + 0.344 f (1 - f), which is at most 0.6 % off, and on average not at all.
 */
uint64_t dry_chance_exponential(void)
{
	uint64_t u = dry_secret_random() >> 16 | 1; /* 48 bits */
	unsigned whole = dry_log2_floor(u);         /* u = 2^whole * (1 + part / 2^16) */
	uint64_t part = whole >= 16 ? u >> (whole - 16) & 0xffff : u << (16 - whole) & 0xffff;
	uint64_t bend = (part * (65536 - part) >> 16) * 22544 >> 16;
	uint64_t log2 = ((uint64_t)(48 - whole) << 16) - part - bend; /* of 2^48 / u */

	return log2 * 45426 >> 16; /* ln 2 */
}
