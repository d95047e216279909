/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/unix/writer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"

#define PATIENCE 2000 /* ms that a pipe may be full */

int dry_unix_write(int fd, struct dry_unix_text *text)
{
	ssize_t done;

	while (text->bytes > 0) {
		done = write(fd, text->from, text->bytes);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? errno : EIO;
		text->from += done;
		text->bytes -= (size_t)done;
	}
	return 0;
}

static void set_of(sigset_t *set, int one, int other)
{
	sigemptyset(set);
	sigaddset(set, one);
	sigaddset(set, other);
}

/*
 * The signals of both wait meanwhile, and one that this raised is taken back. Those that did not wait before are let through again,
 * instead of the mask as it was: of that libc leaves its own signals out (thread.c).
 */
DRY_NOINLINE int dry_unix_write_quietly(int fd, struct dry_unix_text *text)
{
	static const struct timespec now;
	sigset_t open, other; /* no third one: there may be little stack */
	bool pipe, size;
	int error;

	set_of(&open, SIGPIPE, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &open, &other);
	pipe = sigismember(&other, SIGPIPE) == 1;
	size = sigismember(&other, SIGXFSZ) == 1;
	if (pipe)
		sigdelset(&open, SIGPIPE);
	if (size)
		sigdelset(&open, SIGXFSZ);
	if (pipe || size) { /* else none waits */
		sigpending(&other);
		pipe = sigismember(&other, SIGPIPE) == 1;
		size = sigismember(&other, SIGXFSZ) == 1;
	}
	error = dry_unix_write(fd, text);
	if ((error == EPIPE && !pipe) || (error == EFBIG && !size)) {
		set_of(&other, error == EPIPE ? SIGPIPE : SIGXFSZ, error == EPIPE ? SIGPIPE : SIGXFSZ);
		sigtimedwait(&other, NULL, &now);
	}
	pthread_sigmask(SIG_UNBLOCK, &open, NULL);
	return error;
}

static int send_all(int fd, struct dry_unix_text *text)
{
	ssize_t done;

	while (text->bytes > 0) {
		done = send(fd, text->from, text->bytes, MSG_NOSIGNAL);
		if (done <= 0 && errno != EINTR)
			return EIO;
		text->from += done > 0 ? done : 0;
		text->bytes -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

/* A pipe that takes nothing at the moment is waited for, but not for good: locks may be held. */
static int write_all(int fd, struct dry_unix_text *text)
{
	struct pollfd takes = { .fd = fd, .events = POLLOUT };
	int error;

	do
		error = dry_unix_write_quietly(fd, text);
	while (error == EAGAIN && poll(&takes, 1, PATIENCE) > 0);
	return error;
}

void dry_unix_flush(struct dry_unix_writer *writer)
{
	struct dry_unix_text text = { writer->text, writer->used };

	if (!writer->failed)
		writer->failed = (writer->socket ? send_all(writer->fd, &text) : write_all(writer->fd, &text)) != 0;
	writer->used = 0;
}

void dry_unix_put(void *arg, const char *text, size_t bytes)
{
	struct dry_unix_writer *writer = arg;

	for (size_t i = 0; i < bytes; i++) {
		if (writer->used == sizeof(writer->text))
			dry_unix_flush(writer);
		writer->text[writer->used++] = text[i];
	}
}
