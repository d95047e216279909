/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program's handler of SIGABRT runs when an error is reported, wherever that was found: it may allocate, fork, begin a thread, or
 * leave by a jump, as crash handlers do, and does not wait for a lock of the thread that it runs in. Nor is a block given to two
 * after a jump: what was on its way to its slab is not where it came from, too.
 * The program starts itself again with each profile.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/glibc.h"
#include "../support/profiles.h"

#define SIZE    200
#define COUNT   4000
#define BATCH   40
/* A write after a free is found under some profiles only; at the end the default looks where libc says that there is one thread. */
#ifdef __GLIBC__
#define UNSEEN  1
#else
#define UNSEEN  2
#endif
#define SECONDS 20 /* for one that hangs */
#define HANDLED 42

enum { ALLOCATES, FORKS, BEGINS, JUMPS, WAYS, JUMPED };
/* Found at once or in a trim; the same; the same; by a free that makes room; in the trim; when the process ends. */
enum { TWICE, INTERIOR, WRITTEN, AMONG, FEW, LEFT, BUGS };

static const char *const ways[] = { "allocates", "forks", "begins a thread", "jumps" };
static const char *const bugs[] = { "freed twice",         "pointer into a block",       "written after free",
				    "freed twice of many", "freed twice of a few", "freed twice, at the end" };
static volatile int way;
static sigjmp_buf away;
static char *block[COUNT];

static void use(void)
{
	static char *got[COUNT];

	for (size_t size = 1; size < 2000; size += 7)
		free(malloc(size));
	for (size_t i = 0; i < COUNT; i++)
		CHECK(got[i] = malloc(SIZE));
	for (size_t i = 0; i < COUNT; i++)
		free(got[i]);
}

static void check_own(char *const *own)
{
	for (size_t i = 0; i < COUNT; i++)
		CHECK(memcmp(own[i], &i, sizeof(i)) == 0);
}

/* Nobody else has blocks that are handed out, and a trim takes none of them. */
static void keep(void)
{
	static char *own[COUNT];

	for (size_t i = 0; i < COUNT; i++) {
		CHECK(own[i] = malloc(SIZE));
		memcpy(own[i], &i, sizeof(i));
	}
	check_own(own);
	malloc_trim(0);
	use();
	check_own(own);
	for (size_t i = 0; i < COUNT; i++)
		free(own[i]);
}

static void *work(void *unused)
{
	use();
	return unused;
}

static void handle(int signal)
{
	pthread_t thread;
	pid_t child;

	(void)signal;
	if (way == JUMPED) /* reported for nothing, or another time */
		_exit(1);
	if (way == JUMPS) {
		way = JUMPED;
		siglongjmp(away, 1);
	}
	if (way == ALLOCATES)
		use();
	if (way == FORKS) {
		child = fork();
		if (child == 0)
			_exit(0);
		CHECK(child > 0 && waitpid(child, NULL, 0) == child);
	}
	if (way == BEGINS)
		CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
	_exit(HANDLED);
}

/* One of so many is freed again, when it is not the newest any more. */
static void err_among(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(block[i]);
		if (i == count / 4 + BATCH / 2)
			free(block[count / 4]);
	}
	malloc_trim(0);
	exit(0);
}

static void err(int bug)
{
	char *volatile victim;

	for (size_t i = 0; i < COUNT; i++)
		CHECK(block[i] = malloc(SIZE));
	if (bug == AMONG || bug == FEW)
		err_among(bug == AMONG ? COUNT : BATCH);
	victim = block[COUNT / 2];
	block[COUNT / 2] = NULL;
	if (bug == INTERIOR) {
		free(victim + 16);
	} else {
		free(victim);
		free(block[0]);
		block[0] = NULL;
		if (bug == WRITTEN)
			victim[SIZE / 2]++;
		else
			free(victim);
	}
	if (bug == LEFT)
		exit(0);
	for (size_t i = 0; i < COUNT; i++)
		free(block[i]);
	use();
	malloc_trim(0);
	exit(0); /* the last look */
}

static int run(int bug, int how)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_NODEFER };
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		close(2);
		alarm(SECONDS);
		way = how;
		CHECK(sigaction(SIGABRT, &action, NULL) == 0);
		if (sigsetjmp(away, 1) == 0)
			err(bug);
		keep();
		use();
		_exit(HANDLED);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	return status;
}

static void look(const char *conf)
{
	unsigned handled = 0;

	for (int bug = 0; bug < BUGS; bug++) {
		for (int how = 0; how < WAYS; how++) {
			int status = run(bug, how);

			printf("%s, %s, %s: status %x\n", conf, bugs[bug], ways[how], (unsigned)status);
			fflush(stdout);
			CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == HANDLED || WEXITSTATUS(status) == 0));
			handled += WEXITSTATUS(status) == HANDLED;
		}
	}
	CHECK(handled >= (BUGS - UNSEEN) * WAYS);
}

static void leave(int signal)
{
	(void)signal;
	siglongjmp(away, 1);
}

/* Who left a report about a big block is not told of its owners in the next one, about a small block. */
static void check_owners(void)
{
	struct sigaction action = { .sa_handler = leave, .sa_flags = SA_NODEFER };
	char *volatile big = malloc(20000), *volatile small = NULL;
	char text[4096];
	int ends[2];
	ssize_t got;

	for (int i = 0; i < 500; i++)
		CHECK(small = malloc(48));
	CHECK(pipe(ends) == 0 && dup2(ends[1], 2) == 2 && sigaction(SIGABRT, &action, NULL) == 0);
	for (int i = 0; i < 2; i++) {
		char *volatile victim = i == 0 ? big : small;
		if (sigsetjmp(away, 1) == 0) {
			free(victim);
			free(victim);
		}
		CHECK((got = read(ends[0], text, sizeof(text) - 1)) > 0);
		text[got] = '\0';
		CHECK((strstr(text, "allocated by") != NULL) == (i == 0));
	}
}

int main(int argc, char **argv)
{
	static const char *const confs[] = { "abort:1", "check:1", "secure:1,guard_rate:1000000", "debug:FZPUQ" };

	if (argc > 1) {
		look(argv[1]);
		if (strncmp(argv[1], "secure", 6) == 0)
			check_owners();
		return 0;
	}
	for (size_t i = 0; i < sizeof(confs) / sizeof(confs[0]); i++)
		CHECK_EQ(test_again(confs[i], confs[i], NULL), 0);
	return 0;
}
