/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a search for lost blocks asks of a port beyond contract.h: where a program may keep pointers. src/stats alone uses it.
 * Nothing here allocates, takes a lock of drystone's or changes errno.
 */
#ifndef DRY_PORT_ROOTS_H
#define DRY_PORT_ROOTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Stops all other threads as far as they can be, calls visit() for each range of memory that is the process's own to write and in
 * use (the library's, too), and lets them go on. Registers of all threads lie in one of the ranges; what lies beyond the end
 * of a stack in none. visit() must not wait for another thread. false: not to be had; then it was not called.
 */
bool dry_port_roots(void (*visit)(uintptr_t from, uintptr_t to));

/* Whether a page can be read: a program may take the right to from a part of a block. For visit(), and after it. */
bool dry_port_root_readable(uintptr_t page);

#endif
