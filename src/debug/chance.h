/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Gaps between samples: geometric in allocations, exponential in bytes, so that no rhythm of the program's hides from them. */
#ifndef DRY_DEBUG_CHANCE_H
#define DRY_DEBUG_CHANCE_H

#include <stdint.h>

/* A random number of the exponential distribution with mean 1, times 2^16; after dry_secret_seed(). */
uint64_t dry_chance_exponential(void);

#endif
