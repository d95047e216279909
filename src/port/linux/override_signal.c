/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sigaction() and signal(), for what they tell of faults: the program sees its own handler or the default, not ours
 * (src/port/unix/guard.c). With glibc only, which has both under other names, too.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sighandler_t */
#endif
#include <signal.h>

#include "base/compiler.h"
#include "port/unix/resend.h"

#ifdef __GLIBC__

DRY_REPLACEABLE int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	return dry_unix_handles(signal) ? dry_unix_sigaction(signal, action, old) :
					  dry_unix_real_sigaction(signal, action, old);
}

DRY_REPLACEABLE sighandler_t signal(int signal, sighandler_t handler)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART }, old;

	if (!dry_unix_handles(signal) || handler == SIG_ERR)
		return ssignal(signal, handler);
	sigaddset(&action.sa_mask, signal);
	return dry_unix_sigaction(signal, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

#endif
