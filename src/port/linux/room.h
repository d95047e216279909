/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Limits of address space and of locked memory. */
#ifndef DRY_PORT_LINUX_ROOM_H
#define DRY_PORT_LINUX_ROOM_H

#include <stddef.h>

/*
 * After `size` bytes were mapped, which nobody has touched: 0, or a limit leaves less than libraries and threads of the
 * program need, -ENOMEM for one of address space, -EAGAIN for one of locked memory.
 */
int dry_linux_nearly_full(void *mapped, size_t size);

#endif
