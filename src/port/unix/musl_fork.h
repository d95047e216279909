/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What musl's fork() does after the handlers (docs/design/fork.md): it takes the lock of the list of all streams, which
 * fflush(NULL) holds while it waits for a stream whose user may wait for memory. So ours must come after it.
 *
 *   Where libc is a shared library, fflush(NULL) is ours (override_fork.c) and waits for fork() before it takes that lock.
 *   In a static program, fork() calls us where musl's own malloc would be locked, after all of libc's locks.
 *
 * With glibc nothing of it is there.
 */
#ifndef DRY_PORT_UNIX_MUSL_FORK_H
#define DRY_PORT_UNIX_MUSL_FORK_H

#include <stdbool.h>

#include "base/compiler.h"

#ifndef __GLIBC__

/* Around fflush(NULL), which may call itself (a stream of the program's own). */
void dry_unix_flush_begin(void) DRY_HIDDEN;
void dry_unix_flush_end(void) DRY_HIDDEN;

/* That libc's fork() calls us after its own locks, which a program of more than one thread takes. NULL without our malloc. */
bool dry_unix_fork_calls(void) DRY_WEAK;
/* It does. */
void dry_unix_fork_called(void) DRY_HIDDEN;

#endif
#endif
