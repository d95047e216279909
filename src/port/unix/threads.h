/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_PORT_UNIX_THREADS_H
#define DRY_PORT_UNIX_THREADS_H

/* In the child of a fork: the library's threads of the parent are not there. No call: filters may not have thought of getpid(). */
void dry_unix_threads_forked(void);

/* The same of stack.c and symbol.c: what another thread was reading is nobody's. */
void dry_unix_stack_forked(void);
void dry_unix_symbol_forked(void);

/* Threads of the library's own; one that is about to end is none any more. A hint. */
unsigned dry_unix_helpers(void);
/* All that the kernel counts. 0: that cannot be seen. */
unsigned dry_unix_threads(void);

#endif
