/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* secure_getenv */
#endif
#include "port/contract.h"
#include "port/linux/filter.h"
#include "port/unix/file.h"
#include "port/unix/resend.h"
#include "port/linux/thread.h"
#include "port/stack.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local uint32_t dry_linux_thread;

const char *dry_port_getenv(const char *name)
{
	return secure_getenv(name);
}

bool dry_port_has_environment(void)
{
	return environ != NULL && getauxval(AT_BASE) != 0;
}

/* After a fork the thread of the child is another task; the port asks again, see dry_port_forked(). */
uint32_t dry_port_thread(void)
{
	static _Atomic uint32_t unknown; /* threads of which no more may be asked */

	if (dry_linux_thread == 0 && !dry_port_restricted())
		dry_linux_thread = (uint32_t)syscall(SYS_gettid);
	if (dry_linux_thread == 0)
		dry_linux_thread = UINT32_MAX - atomic_fetch_add_explicit(&unknown, 1, memory_order_relaxed);
	return dry_linux_thread;
}

#ifdef __GLIBC__
int __sigaction(int signal, const struct sigaction *action, struct sigaction *old);
#else
#define __sigaction sigaction /* nobody stands in for it there (override_signal.c) */
#endif

int dry_unix_real_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	return __sigaction(signal, action, old);
}

void dry_unix_resend(int signal, const siginfo_t *info)
{
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signal, info) != 0)
		raise(signal);
}

size_t dry_file_look(const char *path, void *to, size_t bytes)
{
	if (!dry_linux_look_begin())
		return 0;
	size_t count = dry_file_beginning(path, to, bytes);
	dry_linux_look_end();
	return count;
}
