/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A descriptor that is kept. Programs close all that they do not know and open others: what has its number then is theirs, no
 * place for reports, and nothing to accept connections from.
 */
#ifndef DRY_PORT_UNIX_KEPT_H
#define DRY_PORT_UNIX_KEPT_H

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "port/contract.h"

#define DRY_UNIX_KEPT_LEAST 64 /* numbers below are what programs count on */

struct dry_unix_kept {
	_Atomic int fd; /* relaxed all, for whoever sees some of another one's file opens it again */
	_Atomic dev_t dev;
	_Atomic ino_t ino;
};

static inline void dry_unix_keep(struct dry_unix_kept *kept, int fd)
{
	struct stat file;

	if (fd < 0 || fstat(fd, &file) != 0)
		return;
	atomic_store_explicit(&kept->dev, file.st_dev, memory_order_relaxed);
	atomic_store_explicit(&kept->ino, file.st_ino, memory_order_relaxed);
	atomic_store_explicit(&kept->fd, fd, memory_order_relaxed);
}

/* The same with a number out of the way of programs, if there is one; fd is closed then. */
static inline int dry_unix_fd_high(int fd)
{
	int high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, DRY_UNIX_KEPT_LEAST) : -1;

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/* -1: it is not there any more. Where the program has asked for a filter, it is not looked at. */
static inline int dry_unix_kept_fd(const struct dry_unix_kept *kept)
{
	int fd = atomic_load_explicit(&kept->fd, memory_order_relaxed);
	struct stat file;

	if (fd < 0 || dry_port_confined())
		return fd;
	return fstat(fd, &file) == 0 && file.st_dev == atomic_load_explicit(&kept->dev, memory_order_relaxed) &&
			       file.st_ino == atomic_load_explicit(&kept->ino, memory_order_relaxed) ?
		       fd :
		       -1;
}

#endif
