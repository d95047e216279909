/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The machine, QEMU's versatilepb: the serial line and the switch. And what any C program needs of a library. */
#ifndef EXAMPLE_KERNEL_BOARD_H
#define EXAMPLE_KERNEL_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void board_write(const char *text, size_t bytes);
_Noreturn void board_off(bool good);

void *memcpy(void *to, const void *from, size_t bytes);
void *memset(void *at, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
size_t strlen(const char *text);

#endif
