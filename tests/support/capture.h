/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What is written to standard error between capture_begin() and capture_end().
 * Needs _GNU_SOURCE (pipe2). At most a pipe's room is kept; more would block, so
 * the pipe does not wait and drops it.
 */
#ifndef DRY_TESTS_CAPTURE_H
#define DRY_TESTS_CAPTURE_H

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "check.h"

struct capture {
	int saved, pipe[2];
};

static inline void capture_begin(struct capture *capture)
{
	CHECK(!pipe2(capture->pipe, O_NONBLOCK | O_CLOEXEC));
	capture->saved = dup(2);
	CHECK(capture->saved >= 0);
	CHECK(dup2(capture->pipe[1], 2) == 2);
}

/* The text, terminated; its length is returned. */
static inline size_t capture_end(struct capture *capture, char *text, size_t room)
{
	size_t used = 0;

	CHECK(dup2(capture->saved, 2) == 2);
	close(capture->saved);
	close(capture->pipe[1]);
	while (used < room - 1) {
		ssize_t got = read(capture->pipe[0], text + used, room - 1 - used);

		if (got <= 0)
			break;
		used += (size_t)got;
	}
	close(capture->pipe[0]);
	text[used] = 0;
	return used;
}

static inline size_t count_lines(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

#endif
