/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Linux's own calls that are replaced beside the malloc family: prctl() tells of filters to come (filter.c), mlockall() that
 * what is mapped will be locked (room.c), unshare() and setns() that there had better be one thread (rest.c).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include <sched.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "port/contract.h"
#include "port/linux/filter.h"
#include "port/linux/rest.h"
#include "port/linux/room.h"

DRY_REPLACEABLE int prctl(int option, ...)
{
	unsigned long args[4];
	va_list list;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		args[i] = va_arg(list, unsigned long);
	va_end(list);
	if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS) {
		dry_port_rest_end(); /* what is parked would be a second thread for good */
		if (dry_linux_filter_comes())
			dry_linux_rest_ends();
	}
	return (int)syscall(SYS_prctl, option, args[0], args[1], args[2], args[3]);
}

/* Several of these are for processes of one thread. */
DRY_REPLACEABLE int unshare(int flags)
{
	dry_port_rest_end();
	return (int)syscall(SYS_unshare, flags);
}

DRY_REPLACEABLE int setns(int fd, int type)
{
	dry_port_rest_end();
	return (int)syscall(SYS_setns, fd, type);
}

DRY_REPLACEABLE int mlockall(int flags)
{
	int done = (int)syscall(SYS_mlockall, flags);

	if (done == 0)
		dry_linux_locks_future((flags & MCL_FUTURE) != 0);
	return done;
}

DRY_REPLACEABLE int munlockall(void)
{
	int done = (int)syscall(SYS_munlockall);

	if (done == 0)
		dry_linux_locks_future(false);
	return done;
}
