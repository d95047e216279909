/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/contract.h"
#include "port/unix/resend.h"
#include "port/stack.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

const char *dry_port_getenv(const char *name)
{
	if (getuid() != geteuid() || getgid() != getegid())
		return NULL;
	return getenv(name);
}

/* POSIX has no number for a thread: the order in which they asked. */
uint32_t dry_port_thread(void)
{
	static _Atomic uint32_t last;
	static _Thread_local uint32_t mine;

	if (mine == 0)
		mine = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
	return mine;
}

void dry_unix_resend(int signal, const siginfo_t *info)
{
	(void)info;
	raise(signal);
}
