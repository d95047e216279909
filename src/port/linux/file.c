/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include "port/unix/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h> /* of 64-bit processors it is the kernel's */
#include <sys/syscall.h>
#include <unistd.h>

#include "port/linux/node.h"

int dry_file_open(const char *path)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}

void dry_file_close(int fd)
{
	syscall(SYS_close, fd);
}

ptrdiff_t dry_file_read(int fd, void *to, size_t bytes)
{
	return syscall(SYS_read, fd, to, bytes);
}

ptrdiff_t dry_file_read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	return syscall(SYS_pread64, fd, to, bytes, offset);
}

unsigned long dry_linux_links(const char *path)
{
	struct stat file;

	return syscall(SYS_newfstatat, AT_FDCWD, path, &file, 0) == 0 ? (unsigned long)file.st_nlink : 0;
}

bool dry_file_random(void *to, size_t bytes)
{
	return syscall(SYS_getrandom, to, bytes, 0) == (long)bytes;
}

/* The kernel reads a set of signals, and then finds that there is no such thing to do with it. */
bool dry_file_can_read(const void *address)
{
	return syscall(SYS_rt_sigprocmask, -1, address, NULL, sizeof(uint64_t)) == 0 || errno != EFAULT;
}
