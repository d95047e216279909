/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Memory goes back in programs of several threads with filters on system calls. Under one of before the program (a container's, a
 * service's) while it sleeps, for there is the helper thread, and so if only a child of vfork() has asked for one. Under one of its
 * own in its calls, and the process, stopped and continued again and again, is not killed for what the kernel goes on with
 * (restart_syscall).
 * DRY_TEST_NO_POSIX: that port knows no filters.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/seccomp.h"

#define STATUS  7
#define THREADS_OF 2
#define BLOCKS  100000 /* in each thread */
#define BYTES   500
#define FULL    ((size_t)THREADS_OF * BLOCKS * BYTES)
#define STOPS   40
#define PATIENT 100 /* tenths of a second */

/* What the dynamic linker needs, and the sleep and the look at memory of this test. */
static const int before[] = { LEAST, THREADS, LOADER, SYS_clock_nanosleep };
static const int own[] = { LEAST, THREADS, SYS_pread64 };

static pthread_barrier_t gate;
static int statm = -1;

static size_t resident(void)
{
	unsigned long pages = 0;
	char text[64] = "";

	CHECK(pread(statm, text, sizeof(text) - 1, 0) > 0);
	CHECK(sscanf(text, "%*u %lu", &pages) == 1);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void *fill_and_free(void *arg)
{
	char **block = malloc(BLOCKS * sizeof(*block));

	CHECK(block);
	for (size_t i = 0; i < BLOCKS; i++) {
		CHECK(block[i] = malloc(BYTES));
		memset(block[i], 1, BYTES);
	}
	pthread_barrier_wait(&gate); /* full */
	pthread_barrier_wait(&gate); /* maybe the filter is there */
	for (size_t i = 0; i < BLOCKS; i++)
		free(block[i]);
	free(block);
	pthread_barrier_wait(&gate); /* free */
	pthread_barrier_wait(&gate); /* memory was looked at: the thread is there meanwhile */
	return arg;
}

static long ms_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000;
}

/* Some calls, without one to the system of its own, for so long. */
static void work_for_ms(long ms)
{
	struct timespec start;
	char *block[64];

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (size_t i = 0; i < 64; i++) {
			CHECK(block[i] = malloc(i * 512 + 1));
			block[i][0] = 1;
		}
		for (size_t i = 0; i < 64; i++)
			free(block[i]);
	} while (ms_since(&start) < ms);
}

enum whose { OUTER, OWN, CHILDS };
static const char *const names[] = { "outer", "own", "child's" };

/* One of a child that shares our memory; it ends at once. */
static void ask_for_childs(void)
{
	pid_t pid = vfork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : 1);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void run(enum whose whose, bool stopped)
{
	const struct timespec tenth = { 0, 100000000 };
	pthread_t ids[THREADS_OF];
	size_t start, full, left;
	char text[128];
	int tenths = 0;

	CHECK((statm = open("/proc/self/statm", O_RDONLY)) >= 0);
	start = resident();
	CHECK(!pthread_barrier_init(&gate, NULL, THREADS_OF + 1));
	for (int i = 0; i < THREADS_OF; i++)
		CHECK(!pthread_create(&ids[i], NULL, fill_and_free, NULL));
	pthread_barrier_wait(&gate);
	full = resident();
	if (whose == OWN)
		seccomp_install(own, sizeof(own) / sizeof(own[0]), 1, 1);
	if (whose == CHILDS)
		ask_for_childs();
	pthread_barrier_wait(&gate);
	pthread_barrier_wait(&gate);
	do {
		if (whose == OWN)
			work_for_ms(100);
		else
			clock_nanosleep(CLOCK_MONOTONIC, 0, &tenth, NULL);
		left = resident();
	} while (left > start + FULL / 4 && ++tenths < PATIENT); /* a heap of 16 MiB is small */
	if (stopped) /* meanwhile */
		work_for_ms(500);
	pthread_barrier_wait(&gate);
	for (int i = 0; i < THREADS_OF; i++)
		CHECK(!pthread_join(ids[i], NULL));
	/* stdio would ask what its file is, for which the filter kills */
	snprintf(text, sizeof(text), "%s filter: KiB at the start %zu, full %zu, %d tenths of a second later %zu\n",
		 names[whose], start >> 10, full >> 10, tenths, left >> 10);
	CHECK(write(STDOUT_FILENO, text, strlen(text)) > 0);
	CHECK(full > FULL);
	CHECK(tenths < PATIENT);
	exit(STATUS);
}

static void expect(enum whose whose, bool stops)
{
	char how[3] = { (char)('0' + whose), stops ? 's' : '-', '\0' };
	const struct timespec pause = { 0, 10000000 };
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0) {
		setenv("DRYSTONE_CONF", "decay_ms:100", 1);
		if (whose == OUTER)
			seccomp_install(before, sizeof(before) / sizeof(before[0]), 1, 0);
		execl("/proc/self/exe", "filtered_memory", how, (char *)NULL);
		_exit(9);
	}
	for (int i = 0; stops && i < STOPS; i++) {
		nanosleep(&pause, NULL);
		kill(pid, SIGSTOP);
		nanosleep(&pause, NULL);
		kill(pid, SIGCONT);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != STATUS)
		fprintf(stderr, "%s filter, %s: status %#x\n", names[whose], stops ? "stopped" : "not stopped",
			(unsigned)status);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == STATUS);
}

int main(int argc, char **argv)
{
	if (argc == 2)
		run((enum whose)(argv[1][0] - '0'), argv[1][1] == 's');
	expect(OUTER, false);
	expect(CHILDS, false);
	expect(OWN, false);
	expect(OWN, true);
	return 0;
}
