/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Two threads that each free a block which another thread gave them, then allocate one, have blocks in cache lines of their own,
 * though those that they were given lay side by side (passive false sharing). On two CPUs; not with other sequences than those
 * of x86-64, by which threads do not say that they are new, nor in debug builds, where to open a slot takes longer than a thread
 * waits for it, and so it takes blocks one by one.
 * DRY_TEST_NO_POSIX: nor do they there.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"

#if defined(DRY_TEST_ARCH_x86_64) && !defined(DRY_DEBUG)

#define ROUNDS 100
#define MOST   10 /* all, if what was given is handed out again; none otherwise, but where a slot cannot be opened in time */
#define LINE   64

static int cpu[2];
static void *given[2], *got[2];
static atomic_int arrived;

static void *run(void *arg)
{
	size_t i = (size_t)(uintptr_t)arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu[i], &set);
	CHECK(pthread_setaffinity_np(pthread_self(), sizeof(set), &set) == 0);
	free(given[i]);
	got[i] = malloc(8);
	atomic_fetch_add(&arrived, 1);
	while (atomic_load(&arrived) != 2) /* a thread that rests would leave its CPU's blocks to the other one */
		;
	return NULL;
}

static int is_given(const void *block)
{
	return block == given[0] || block == given[1];
}

/* One array's, of a CPU that one thread left to the other meanwhile, may lie side by side without that, too. */
static int is_shared(void)
{
	return (is_given(got[0]) || is_given(got[1])) && (uintptr_t)got[0] / LINE == (uintptr_t)got[1] / LINE;
}

/* In a process in which nothing has gone from CPU to CPU yet. */
static int shares(void)
{
	pthread_t id[2];

	for (size_t i = 0; i < 2; i++)
		CHECK(given[i] = malloc(8));
	for (size_t i = 0; i < 2; i++)
		CHECK(pthread_create(&id[i], NULL, run, (void *)(uintptr_t)i) == 0);
	for (size_t i = 0; i < 2; i++)
		CHECK(pthread_join(id[i], NULL) == 0);
	return is_shared();
}

int main(void)
{
	cpu_set_t may;
	int cpus = 0, same = 0;

	CHECK(sched_getaffinity(0, sizeof(may), &may) == 0);
	for (int i = 0; i < CPU_SETSIZE && cpus < 2; i++)
		if (CPU_ISSET(i, &may))
			cpu[cpus++] = i;
	if (cpus < 2) {
		printf("one CPU only: skipped\n");
		return 77;
	}
	for (int i = 0; i < ROUNDS; i++) {
		int status;
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0)
			_exit(shares());
		CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
		same += WEXITSTATUS(status);
	}
	printf("%d of %d times in one line\n", same, ROUNDS);
	fflush(stdout);
	CHECK(same <= MOST);
	return 0;
}

#else

int main(void)
{
	printf("not in this build: skipped\n");
	return 77;
}

#endif
