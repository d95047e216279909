/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Threads own their slots here, and the child of vfork() has its parent's to itself: vfork() is libc's. */
#ifndef DRY_PORT_VFORK_H
#define DRY_PORT_VFORK_H

#define DRY_VFORK ""

#endif
