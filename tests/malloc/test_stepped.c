/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program of which a debugger executes one instruction after the other (gdb's `stepi`, watchpoints without the processor's help,
 * `record full`) gets through malloc(), free() and the like, although each restartable sequence is aborted as often as it begins.
 * Alone, beside a thread that allocates, and with profiles whose slow ways have sequences of their own.
 * DRY_TEST_NO_NORSEQ: nothing begins anew there.
 * DRY_TEST_NO_POSIX: nor there.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/one_cpu.h"

#define PATIENCE 200 /* seconds until who does not get through counts as stuck */
#define BLOCKS   4
#define MARK     SIGUSR2 /* begin, and end, of what is stepped through */

static char *blocks[BLOCKS];

static char *checked(char *block, size_t size)
{
	CHECK(block != NULL);
	block[0] = block[size - 1] = 1;
	return block;
}

static void use(size_t size, size_t count)
{
	for (size_t i = 0; i < count; i++)
		blocks[i] = checked(i % 3 == 0 ? calloc(1, size) : malloc(size), size);
	for (size_t i = 0; i < count; i += 2)
		free(blocks[i]);
	for (size_t i = 0; i < count; i += 2)
		blocks[i] = checked(aligned_alloc(64, size), size);
	for (size_t i = 1; i < count; i += 2)
		blocks[i] = checked(realloc(blocks[i], size * 2), size * 2);
	for (size_t i = 0; i < count; i++)
		free(blocks[i]);
}

/* musl has none */
extern int malloc_trim(size_t left) __attribute__((weak));

static void use_all(int all)
{
	use(100, BLOCKS);
	if (!all)
		return;
	use(8, BLOCKS);
	use(3000, BLOCKS / 4);
	free(checked(malloc(300000), 300000));
	if (malloc_trim != NULL)
		malloc_trim(0);
}

static void *allocate(void *arg)
{
	for (;;) {
		free(malloc(100));
		usleep(1000);
	}
	return arg;
}

static void traced(const char *how)
{
	int all = strcmp(how, "some") != 0;
	pthread_t id;

	if (strcmp(how, "threads") == 0) {
		CHECK(pthread_create(&id, NULL, allocate, NULL) == 0);
		CHECK(pthread_detach(id) == 0);
	}
	use_all(1); /* in one go: what happens once */
	CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
	CHECK(raise(MARK) == 0);
	use_all(all);
	CHECK(raise(MARK) == 0);
	_exit(0);
}

/* To the next stop. 0: it is at its mark. */
static int step(pid_t child)
{
	int status, sig = 0;

	do {
		CHECK(ptrace(PTRACE_SINGLESTEP, child, NULL, (void *)(long)sig) == 0);
		CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
		sig = WSTOPSIG(status);
	} while (sig != SIGTRAP && sig != MARK);
	return sig == SIGTRAP;
}

/* The program is this one anew, with options of the library. */
static void run(const char *options, const char *how)
{
	unsigned long steps = 0;
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		CHECK(setenv("DRYSTONE_CONF", options, 1) == 0);
		execl("/proc/self/exe", "stepped", how, (char *)NULL);
		_exit(2);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status) && WSTOPSIG(status) == MARK);
	alarm(PATIENCE);
	one_cpu_begin(child);
	while (step(child))
		steps++;
	one_cpu_end();
	alarm(0);
	CHECK(ptrace(PTRACE_CONT, child, NULL, NULL) == 0);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	printf("%s %s: %lu steps\n", how, options, steps);
	fflush(stdout);
	CHECK(steps > BLOCKS * 100);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		traced(argv[1]);
	run("", "alone");
	run("", "threads");
	run("guard:1", "some");
	run("profile:2000", "some");
	return 0;
}
