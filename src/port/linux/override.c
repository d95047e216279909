/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Linux's own call that is replaced beside the malloc family: it tells of filters to come (filter.c). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "port/linux/filter.h"

DRY_REPLACEABLE int prctl(int option, ...)
{
	unsigned long args[4];
	va_list list;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		args[i] = va_arg(list, unsigned long);
	va_end(list);
	if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS)
		dry_linux_filter_comes();
	return (int)syscall(SYS_prctl, option, args[0], args[1], args[2], args[3]);
}
