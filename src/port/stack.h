/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What debugging asks of a port beyond contract.h: who is calling. For src/debug and reports. Nothing here allocates,
 * takes a lock of drystone's or changes errno.
 */
#ifndef DRY_PORT_STACK_H
#define DRY_PORT_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Return addresses of the functions around the call, innermost first, at most max; leading ones in the library itself
 * are left out where they can be told from the program's. On x86-64 it follows the tables for unwinding that compilers emit, else
 * and where there are none frame pointers, and ends where they do. Some ten instructions a frame by frame pointers, fifty by
 * tables that were read before, a few thousand by others: not for hits. 0: a port that cannot tell.
 */
unsigned dry_port_stack(uintptr_t *frames, unsigned max);

/*
 * Text for a return address, "function+0x1c (module+0x2345 93ac61ec5a8eb139)" or what of it is known, with the first 8 bytes of the
 * module's build ID. For reports only. Returns its length.
 */
size_t dry_port_symbol(uintptr_t address, char *text, size_t size);

/*
 * Whether some module has the C++ library inside, and with it operators new and delete that nobody else sees. It takes
 * milliseconds until one was found. For reports only.
 */
bool dry_port_has_cxx_apart(void);

/* A number for the calling thread; that of its task where the system has one. */
uint32_t dry_port_thread(void);

#endif
