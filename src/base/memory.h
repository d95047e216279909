/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The four calls of libc that every compiler asks for anyway, also where there is no libc to declare them. */
#ifndef DRY_BASE_MEMORY_H
#define DRY_BASE_MEMORY_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *at, int byte, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

#endif
