/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Threads, time and text, for the linux and the posix port. Keeps errno. */
#include "port/contract.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define HELPER_STACK     ((size_t)64 << 10)
#define HELPER_STACK_MAX ((size_t)1 << 20)

uint64_t dry_port_clock_ms(void)
{
	struct timespec now = { 0, 0 };
	int saved = errno;

	clock_gettime(CLOCK_MONOTONIC, &now);
	errno = saved;
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void *helper(void *arg)
{
	void (*fn)(void);

	*(void **)&fn = arg;
	fn();
	return NULL;
}

/*
 * The stack also holds the program's static thread-local storage, whose size
 * nobody tells: pthread_create() then says EINVAL, and a bigger one is tried.
 */
static int create_detached(void (*fn)(void))
{
	pthread_attr_t attr;
	pthread_t thread;
	size_t stack;
	int error = pthread_attr_init(&attr);

	if (error != 0)
		return error;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	error = EINVAL;
	for (stack = HELPER_STACK; error == EINVAL && stack <= HELPER_STACK_MAX; stack *= 2) {
		if (pthread_attr_setstacksize(&attr, stack) != 0)
			continue;
		error = pthread_create(&thread, &attr, helper, *(void **)&fn);
	}
	pthread_attr_destroy(&attr);
	if (error == EINVAL) {
		error = pthread_create(&thread, NULL, helper, *(void **)&fn);
		if (error == 0)
			pthread_detach(thread);
	}
	return error;
}

int dry_port_thread_start(void (*fn)(void))
{
	sigset_t all, before;
	int saved = errno, error;

	if (dry_port_restricted())
		return -EPERM;
	/* The new thread inherits the mask of its creator. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = create_detached(fn);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved;
	return -error;
}

void dry_port_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	int saved = errno;

	pthread_atfork(prepare, parent, child);
	errno = saved;
}

void dry_port_set_errno(int value)
{
	errno = value;
}

int dry_port_get_errno(void)
{
	return errno;
}

static int report_fd = 2; /* immutable after dry_port_keep_stderr() */

void dry_port_keep_stderr(void)
{
	int saved = errno, copy = fcntl(2, F_DUPFD_CLOEXEC, 64);

	if (copy >= 0)
		report_fd = copy;
	errno = saved;
}

void dry_port_write(const char *text, size_t bytes)
{
	int saved = errno, cancel;
	ssize_t done;

	/* free() may report, and must not become a cancellation point by it. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	while (bytes > 0) {
		done = write(report_fd, text, bytes);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			break;
		text += done;
		bytes -= (size_t)done;
	}
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}

_Noreturn void dry_port_abort(void)
{
	abort();
}
