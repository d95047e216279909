/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include "port/linux/futex.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

void dry_linux_futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *limit)
{
	int saved = errno;

	syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, limit, NULL, 0);
	errno = saved;
}
