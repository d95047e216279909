// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What may come while the library serves metrics. served SOCKET: a child goes on without its parent, whose socket answers nobody
 * then. served: ends under a filter of its own that kills for what metrics at a socket take.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int answers(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), rc;

	strcpy(at.sun_path, path);
	rc = connect(fd, (struct sockaddr *)&at, sizeof(at));
	close(fd);
	return rc == 0 ? 0 : errno;
}

/* 0: refused, as nobody listens. */
static int without_parent(const char *path)
{
	int ready[2], done[2], how;
	char byte;

	if (pipe(ready) != 0 || pipe(done) != 0 || answers(path) != 0)
		return 2;
	if (fork() == 0) { /* has the socket, and ends by a signal */
		if (fork() == 0) {
			write(ready[1], "", 1);
			close(done[1]);
			read(done[0], &byte, 1); /* until the first one ends */
			_exit(0);
		}
		_exit(0);
	}
	wait(NULL);
	read(ready[0], &byte, 1);
	pid_t watcher = fork();
	if (watcher == 0) {
		close(done[1]);
		while (getppid() != 1 && getppid() == (pid_t)strtol(getenv("FIRST"), NULL, 10))
			usleep(1000);
		how = answers(path);
		dprintf(1, "%s\n", how == ECONNREFUSED ? "refused" : how == 0 ? "taken, and nobody answers" : strerror(how));
		_exit(0);
	}
	raise(SIGKILL);
	return 3;
}

static int filtered(void)
{
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(exit_group), ALLOW(exit), ALLOW(futex), ALLOW(mmap), ALLOW(munmap), ALLOW(mprotect), ALLOW(madvise),
		ALLOW(write), ALLOW(brk), ALLOW(rt_sigprocmask),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	pid_t stopper, self = getpid();
	struct sock_fprog program = { sizeof(rules) / sizeof(rules[0]), rules };

	usleep(200000); /* while its thread begins, libc makes calls for it */
	stopper = fork();
	if (stopper == 0) { /* a wait with a time goes on by another call after that */
		usleep(2200000);
		if (getppid() == self)
			kill(self, SIGSTOP);
		usleep(100000);
		if (getppid() == self)
			kill(self, SIGCONT);
		_exit(0);
	}
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
		return 2;
	for (struct timespec now, end = { 0 };;) { /* two looks of the thread that serves */
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (end.tv_sec == 0)
			end.tv_sec = now.tv_sec + 4;
		if (now.tv_sec >= end.tv_sec)
			return 0;
		free(malloc(100));
	}
}

int main(int argc, char **argv)
{
	char text[16];

	if (argc < 2)
		return filtered();
	snprintf(text, sizeof(text), "%d", (int)getpid());
	setenv("FIRST", text, 1);
	return without_parent(argv[1]);
}
