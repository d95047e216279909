/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The process's secrets, and what is made of them: canaries by address, choices, marks of content. */
#ifndef DRY_DEBUG_CANARY_H
#define DRY_DEBUG_CANARY_H

#include <stdint.h>

/* Choose them, once; before the first call of what follows. */
void dry_secret_seed(void);

/* Bits for choices: cheap, and unknown to who does not know the secrets; canaries tell nothing of them. */
uint64_t dry_secret_random(void);

/* Of [from, to); never 0. */
uint16_t dry_secret_mark(const char *from, const char *to);

unsigned char dry_canary_byte(uintptr_t at);

/* The last eight bytes of a slot that ends there, a multiple of 8. */
void dry_canary_tail(char *end);

/* [from, to) before a tail; `to` is a multiple of 8. */
void dry_canary_fill(char *from, char *to);

/* The first byte in [from, end) that differs; NULL: none. The last eight are a tail. */
const char *dry_canary_find_broken(const char *from, const char *end);

#endif
