/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Filters on system calls (seccomp) end a process for a call that its author did not think of. Who installs one while
 * the process runs first calls prctl(), which is replaced (override.c): from then on only what libc's own malloc calls is called.
 * Whether there was one before the program began is read in /proc when it is first of interest; the calls for
 * that are those that the dynamic linker has made.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include "port/linux/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "port/contract.h"

static struct dry_lock lock = DRY_LOCK_INIT(DRY_RANK_PORT);
/* What is not known to be free counts as filtered. Written with the lock held; relaxed without: a hint. */
static _Atomic enum { UNKNOWN, NO_FILTER, FILTERED } state;

static void set_locked(int value)
{
	atomic_store_explicit(&state, value, memory_order_relaxed);
}

static int get(void)
{
	return (int)atomic_load_explicit(&state, memory_order_relaxed);
}

/* The character after `name`, of a file that has one line for each; 0: there is none. */
static char field(int fd, const char *name)
{
	char text[128];
	const char *next = name;
	long got;

	while ((got = syscall(SYS_read, fd, text, sizeof(text))) > 0)
		for (long i = 0; i < got; i++) {
			if (*next == '\0')
				return text[i];
			/* the first character comes but once in the name, so nothing has to be looked at twice */
			next = text[i] == *next ? next + 1 : text[i] == *name ? name + 1 : name;
		}
	return 0;
}

static bool is_free(void)
{
	int saved = errno, fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/status", O_RDONLY | O_CLOEXEC, 0);
	char mode = 0;

	if (fd >= 0) {
		mode = field(fd, "\nSeccomp:\t");
		syscall(SYS_close, fd);
	}
	errno = saved;
	return mode == '0';
}

bool dry_linux_free_begin(void)
{
	dry_lock_acquire(&lock);
	if (get() == UNKNOWN)
		set_locked(is_free() ? NO_FILTER : FILTERED);
	if (get() == NO_FILTER)
		return true;
	dry_lock_release(&lock);
	return false;
}

void dry_linux_free_end(void)
{
	dry_lock_release(&lock);
}

bool dry_port_restricted(void)
{
	if (get() == UNKNOWN && dry_linux_free_begin())
		dry_linux_free_end();
	return get() != NO_FILTER;
}

void dry_linux_filter_forked(void)
{
	dry_lock_forget(&lock);
}

void dry_linux_filter_unsure(void)
{
	dry_lock_acquire(&lock);
	if (get() == UNKNOWN)
		set_locked(FILTERED);
	dry_lock_release(&lock);
}

void dry_linux_filter_comes(void)
{
	dry_lock_acquire(&lock);
	set_locked(FILTERED);
	dry_lock_release(&lock);
}
