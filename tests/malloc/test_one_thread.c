/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program of one thread, with a heap so big that there is a thread that returns memory, has one thread where that matters: when
 * it forks (Python warns of forks beside threads, which it counts right afterwards), takes a namespace of users (the kernel
 * refuses it to more than one), or gives up privileges. Later the thread is there again, and does its work; until then, which may
 * be for ever, the frees do it.
 * DRY_TEST_NO_POSIX: there it stays. DRY_TEST_NO_NORSEQ: threads that end are no matter of slots.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/status.h"

#define SIZE    1000
#define COUNT   200000 /* 200 MB */
#define PART    20000 /* blocks that are replaced while it is waited for */
#define LONGEST 20     /* s */
#define FORKS   5

static char *block[COUNT];

/* Not one by one, which is no matter for slabs. */
static void replace(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		free(block[i]);
	for (size_t i = from; i < to; i++) {
		block[i] = malloc(SIZE);
		CHECK(block[i] != NULL);
		memset(block[i], 1, SIZE);
	}
}

static void want_helper(void)
{
	for (size_t n = 0; status_number("Threads:") < 2; n++) {
		CHECK(n < LONGEST * 100);
		replace(n * PART % COUNT, n * PART % COUNT + PART);
		usleep(10000);
	}
}

static void end_well(pid_t child)
{
	int status = -1;

	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

static void forks(void)
{
	pid_t child;
	size_t threads;

	want_helper();
	child = fork();
	threads = status_number("Threads:");
	if (child == 0) {
		replace(0, PART);
		_exit(threads != 1);
	}
	CHECK_EQ(threads, 1);
	end_well(child);
}

/* errno, 0 if it was granted. */
static int try_namespace(void)
{
	return unshare(CLONE_NEWUSER) == 0 ? 0 : errno;
}

/* What a small program is told. */
static int usual_word(void)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(try_namespace());
	CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void gives_back(bool after_fork)
{
	if (after_fork)
		forks();
	else
		want_helper();
	for (size_t i = 0; i < COUNT; i++) {
		free(block[i]);
		block[i] = NULL;
	}
	for (size_t n = 0; status_number("VmRSS:") > 30000; n++) {
		CHECK(n < LONGEST * 100);
		usleep(10000);
	}
}

int main(void)
{
	int usual = usual_word();

	replace(0, COUNT);
	for (size_t i = 0; i < FORKS; i++)
		forks();
	gives_back(false);
	replace(0, COUNT);
	gives_back(true);
	replace(0, COUNT);
	want_helper();
	CHECK_EQ(try_namespace(), usual);
	replace(0, COUNT);
	want_helper();
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(status_number("Threads:"), 1);
	replace(0, COUNT);
	return 0;
}
