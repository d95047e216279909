/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Failing memory: link fail_port.c and pass --wrap to the linker for
 * dry_port_reserve, dry_port_reserve_at, dry_port_commit and dry_port_resize.
 */
#ifndef DRY_TESTS_FAIL_PORT_H
#define DRY_TESTS_FAIL_PORT_H

#include <stdatomic.h>

extern atomic_long dry_fail_calls; /* calls of the four so far; counted from what a test sets */
extern atomic_long dry_fail_at;    /* the call with this number fails (the first is 1); 0: none */
extern atomic_bool dry_fail_after; /* and so does every later one */

#endif
