/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* For guard.c, one of each port: send a signal to this thread once more, with its siginfo where the system can do that. */
#ifndef DRY_PORT_UNIX_RESEND_H
#define DRY_PORT_UNIX_RESEND_H

#include <signal.h>

void dry_unix_resend(int signal, const siginfo_t *info);

#endif
