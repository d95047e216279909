/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What guard.c has of each port for signals, and gives who stands in for sigaction(). */
#ifndef DRY_PORT_UNIX_RESEND_H
#define DRY_PORT_UNIX_RESEND_H

#include <signal.h>
#include <stdbool.h>

/* Send a signal to this thread once more, with its siginfo where the system can do that. */
void dry_unix_resend(int signal, const siginfo_t *info);

/* libc's own sigaction(), also where a name of ours stands in for it. */
int dry_unix_real_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

/* Whether the signal's handler is ours now and then: then dry_unix_sigaction() is to be asked. */
bool dry_unix_handles(int signal);

/*
 * sigaction() as it were without our handler: what it tells is what the program set. A handler of the program's
 * replaces ours, and its default brings ours back, which leads to that default.
 */
int dry_unix_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

#endif
