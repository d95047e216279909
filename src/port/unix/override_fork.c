/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What is replaced for fork() over musl, beside the malloc family: port/unix/musl_fork.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fflush_unlocked */
#endif
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "port/unix/musl_fork.h"

#ifndef __GLIBC__

/* fflush_unlocked() is musl's fflush() by another name: it locks. In a static program both come with it, and this one gives way. */
DRY_REPLACEABLE int fflush(FILE *stream)
{
	int result;

	if (stream != NULL)
		return fflush_unlocked(stream);
	dry_unix_flush_begin();
	result = fflush_unlocked(NULL);
	dry_unix_flush_end();
	return result;
}

/* The first is to be seen in static programs only; _Fork() came with the call below (1.2.2). */
extern void *__ofl_lock(void) DRY_WEAK;
extern pid_t _Fork(void) DRY_WEAK;

bool dry_unix_fork_calls(void)
{
	return __ofl_lock != NULL && _Fork != NULL;
}

void __malloc_atfork(int who);

/* who: below 0 before the fork; after it there are our handlers, which libc calls when its own locks are free. */
DRY_REPLACEABLE void __malloc_atfork(int who)
{
	if (who < 0)
		dry_unix_fork_called();
}

#endif
