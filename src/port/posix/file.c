/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/unix/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

int dry_file_open(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC);
}

void dry_file_close(int fd)
{
	close(fd);
}

ptrdiff_t dry_file_read(int fd, void *to, size_t bytes)
{
	return read(fd, to, bytes);
}

ptrdiff_t dry_file_read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	return pread(fd, to, bytes, (off_t)offset);
}

size_t dry_file_look(const char *path, void *to, size_t bytes)
{
	return dry_file_beginning(path, to, bytes);
}

bool dry_file_random(void *to, size_t bytes)
{
	return getentropy(to, bytes) == 0;
}

/*
 * The text that a link would have is read first, and no link has an empty name. Of calls that read times or sizes musl does that
 * itself. A page without an end of text that has nothing behind it counts as unreadable.
 */
bool dry_file_can_read(const void *address)
{
	return symlinkat(address, -1, "") == 0 || errno != EFAULT;
}
