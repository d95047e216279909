/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A fork while another thread is in the middle of a report, which nobody reads: the child's have whole stacks all the same. */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"

#define DEPTH 40
#define ROOM  300 /* bytes of a pipe: the first lines of a report */

static char text[65536];

/* A double free, under so many frames. */
static __attribute__((noinline)) int make_error(int depth)
{
	char *block = depth == 0 ? malloc(200) : NULL;
	int frames = 1;

	if (depth > 0)
		frames += make_error(depth - 1);
	for (int i = 0; depth == 0 && i < 2; i++) {
		OPAQUE(block);
		free(block);
	}
	OPAQUE(frames);
	return frames;
}

static void *report(void *arg)
{
	make_error(DEPTH);
	return arg;
}

static int held(int pipe)
{
	int bytes;

	CHECK(ioctl(pipe, FIONREAD, &bytes) == 0);
	return bytes;
}

/* Lines of a stack in a report that is made here. */
static int count_frames(void)
{
	int ends[2], frames = 0;
	ssize_t bytes;

	CHECK(pipe(ends) == 0 && dup2(ends[1], 2) == 2);
	make_error(DEPTH);
	bytes = read(ends[0], text, sizeof(text) - 1);
	CHECK(bytes > 0);
	text[bytes] = '\0';
	for (const char *at = text; (at = strstr(at, "\n  ")) != NULL; at++)
		frames++;
	return frames;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int ends[2], room, status;
	pid_t child;

	(void)argc;
	if (!getenv("DRYSTONE_CONF") || !strstr(getenv("DRYSTONE_CONF"), "abort:0")) {
		setenv("DRYSTONE_CONF", "check:1,abort:0", 1);
		execv("/proc/self/exe", argv);
		return 3;
	}
	CHECK(pipe(ends) == 0);
	room = fcntl(ends[1], F_SETPIPE_SZ, 4096);
	CHECK(room > ROOM && write(ends[1], text, (size_t)room - ROOM) == room - ROOM);
	CHECK(dup2(ends[1], 2) == 2);
	CHECK_EQ(pthread_create(&thread, NULL, report, NULL), 0);
	for (int last = -1, same = 0; same < 20; usleep(5000)) {
		int now = held(ends[0]);
		same = now == last && now > room - ROOM ? same + 1 : 0;
		last = now;
	}
	child = fork();
	if (child == 0)
		_exit(count_frames());
	CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
	dup2(1, 2);
	CHECK(read(ends[0], text, sizeof(text)) > 0);
	CHECK(WEXITSTATUS(status) > DEPTH);
	_exit(0);
}
