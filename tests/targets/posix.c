/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the test programs ask of POSIX, on a board that has none. picolibc gives the C
 * library and the way to the emulator's console (semihosting); here is the rest: one pipe, just good
 * enough for tests/support/capture.h to read what was written to standard error; anonymous memory; a clock.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <semihost.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { PIPE_READ = 10, PIPE_WRITE, SAVED_ERROR };

static struct {
	char text[8192];
	size_t used, taken;
	int captures; /* standard error goes into the pipe */
} pipe_state;

int pipe2(int fds[2], int flags)
{
	(void)flags;
	pipe_state.used = pipe_state.taken = 0;
	fds[0] = PIPE_READ;
	fds[1] = PIPE_WRITE;
	return 0;
}

int dup(int fd)
{
	if (fd == 2)
		return SAVED_ERROR;
	errno = EBADF;
	return -1;
}

int dup2(int from, int to)
{
	if (to != 2 || (from != PIPE_WRITE && from != SAVED_ERROR)) {
		errno = EBADF;
		return -1;
	}
	pipe_state.captures = from == PIPE_WRITE;
	return to;
}

int close(int fd)
{
	(void)fd;
	return 0;
}

ssize_t read(int fd, void *buffer, size_t size)
{
	size_t left = pipe_state.used - pipe_state.taken, bytes = size < left ? size : left;

	if (fd != PIPE_READ) {
		errno = EBADF;
		return -1;
	}
	memcpy(buffer, pipe_state.text + pipe_state.taken, bytes);
	pipe_state.taken += bytes;
	return (ssize_t)bytes;
}

ssize_t write(int fd, const void *buffer, size_t size)
{
	const char *text = buffer;
	size_t room = sizeof(pipe_state.text) - pipe_state.used;

	if (fd != 1 && fd != 2) {
		errno = EBADF;
		return -1;
	}
	if (fd == 2 && pipe_state.captures) {
		memcpy(pipe_state.text + pipe_state.used, text, size < room ? size : room);
		pipe_state.used += size < room ? size : room;
		return (ssize_t)size;
	}
	for (size_t i = 0; i < size; i++)
		sys_semihost_putc(text[i], NULL);
	return (ssize_t)size;
}

/* Anonymous memory comes from the C library's own heap, which is the board's and no pool of ours. */
void *mmap(void *address, size_t size, int protection, int flags, int fd, long offset)
{
	void *memory = memalign(4096, size);

	(void)address, (void)protection, (void)flags, (void)fd, (void)offset;
	return memory ? memset(memory, 0, size) : MAP_FAILED;
}

int munmap(void *address, size_t size)
{
	(void)size;
	free(address);
	return 0;
}

long sysconf(int name)
{
	if (name == _SC_PAGESIZE)
		return 4096;
	errno = EINVAL;
	return -1;
}

int usleep(useconds_t us)
{
	(void)us;
	return 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	struct timeval time;

	(void)clock;
	if (gettimeofday(&time, NULL))
		return -1;
	now->tv_sec = time.tv_sec;
	now->tv_nsec = time.tv_usec * 1000;
	return 0;
}
