/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sigaction(), and signal() by each name that programs have it by, for what they tell of faults: the program sees its own handler
 * or the default, not ours (src/port/unix/guard.c). With glibc only, which has both under other names, too.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sighandler_t */
#endif
#include <errno.h>
#include <signal.h>

#include "base/compiler.h"
#include "port/unix/resend.h"

#ifdef __GLIBC__

DRY_REPLACEABLE int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	return dry_unix_handles(signal) ? dry_unix_sigaction(signal, action, old) :
					  dry_unix_real_sigaction(signal, action, old);
}

/* ssignal() is another name of the libc's. */
static sighandler_t bsd(int signal, sighandler_t handler)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART }, old;

	if (!dry_unix_handles(signal) || handler == SIG_ERR)
		return ssignal(signal, handler);
	sigaddset(&action.sa_mask, signal);
	return dry_unix_sigaction(signal, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

DRY_REPLACEABLE sighandler_t signal(int signal, sighandler_t handler)
{
	return bsd(signal, handler);
}

DRY_REPLACEABLE sighandler_t bsd_signal(int signal, sighandler_t handler)
{
	return bsd(signal, handler);
}

/* As in System V: for one signal, which may come again meanwhile. ISO C's signal() is this, where headers keep to that. */
static sighandler_t sysv(int signal, sighandler_t handler)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = (int)SA_RESETHAND | SA_NODEFER }, old;

	if (handler == SIG_ERR) {
		errno = EINVAL;
		return SIG_ERR;
	}
	return sigaction(signal, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

DRY_REPLACEABLE sighandler_t __sysv_signal(int signal, sighandler_t handler)
{
	return sysv(signal, handler);
}

DRY_REPLACEABLE sighandler_t sysv_signal(int signal, sighandler_t handler)
{
	return sysv(signal, handler);
}

#endif
