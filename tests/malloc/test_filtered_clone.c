/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A child that was made by the system call itself, which no handler of fork() knows of, has no helper thread, though its memory
 * says that one sleeps: when it asks for a filter it does not wait long for that. As long as a number of the shortest sleeps, at
 * most.
 * DRY_TEST_NO_POSIX: that port knows no filters.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/check.h"

#define BLOCKS 20000
#define BYTES  2000
#define SLEEPS 1000

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *fill(void *arg)
{
	char **block = arg;

	for (size_t i = 0; i < BLOCKS; i++) {
		CHECK(block[i] = malloc(BYTES));
		memset(block[i], 1, BYTES);
	}
	return NULL;
}

static int child(void)
{
	const struct timespec least = { 0, 1 };
	double start = seconds(), asked;

	for (int i = 0; i < 2; i++)
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
			return 1;
	asked = seconds();
	for (int i = 0; i < SLEEPS; i++)
		nanosleep(&least, NULL);
	return asked - start < seconds() - asked ? 0 : 2;
}

int main(int argc, char **argv)
{
	const struct timespec second = { 1, 0 };
	static char *block[BLOCKS];
	pthread_t id;
	int status;

	if (argc == 1) {
		setenv("DRYSTONE_CONF", "decay_ms:100000", 1);
		execl("/proc/self/exe", argv[0], "sleeps", (char *)NULL);
		return 9;
	}
	CHECK(!pthread_create(&id, NULL, fill, block));
	CHECK(!pthread_join(id, NULL));
	nanosleep(&second, NULL); /* the helper thread has begun, and sleeps for long */
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	CHECK(pid >= 0);
	if (pid == 0)
		syscall(SYS_exit_group, child());
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return 0;
}
