/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A filter that comes for all threads while one of them is asking the kernel how much of a big block was filled (mincore) waits for
 * the end of that: it is several calls, and the filter kills for them.
 * DRY_TEST_NO_POSIX: that port knows no filters.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/seccomp.h"

#define STATUS 7
#define BYTES  ((size_t)32 << 20)
#define LONG   20 /* ms */

static const int own[] = { LEAST, THREADS };
static _Atomic int asked, done;

static long ms_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000;
}

/* The library's calls come here; each takes long. */
int mincore(void *addr, size_t size, unsigned char *there)
{
	struct timespec start;

	if (asked < 5) {
		asked++;
		clock_gettime(CLOCK_MONOTONIC, &start);
		while (ms_since(&start) < LONG)
			;
	}
	return (int)syscall(SYS_mincore, addr, size, there);
}

static void *fill(void *arg)
{
	for (int i = 0; i < 8; i++) {
		char *block = malloc(BYTES + (size_t)i * 65536);

		CHECK(block);
		memset(block, 1, BYTES);
		free(block);
	}
	done = 1;
	return arg;
}

static void run(void)
{
	pthread_t id;

	CHECK(!pthread_create(&id, NULL, fill, NULL));
	while (asked == 0 && !done)
		;
	CHECK(asked != 0);
	seccomp_install(own, sizeof(own) / sizeof(own[0]), 1, 1);
	CHECK(!pthread_join(id, NULL));
	_exit(STATUS);
}

int main(void)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0)
		run();
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == STATUS);
	return 0;
}
