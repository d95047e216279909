/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Limits of address space. */
#ifndef DRY_PORT_LINUX_ROOM_H
#define DRY_PORT_LINUX_ROOM_H

#include <stdbool.h>

/* Whether a limit of address space leaves less than libraries and threads of the program need. */
bool dry_linux_is_nearly_full(void);

#endif
