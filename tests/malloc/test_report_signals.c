/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A report that cannot be written does not end the program by that: standard error is a pipe without a reader, or a file at the
 * limit of its size. With abort:0 it goes on, else it ends by SIGABRT. A signal that waited before still waits afterwards, and none
 * other does.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/profiles.h"

static bool waits(int signal)
{
	sigset_t set;

	sigpending(&set);
	return sigismember(&set, signal) == 1;
}

static void block(int signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void make_error(void)
{
	void *object = malloc(200), *again = object;

	OPAQUE(again);
	free(object);
	free(again);
}

/* In a child; what: p a pipe, f a file; blocked: b blocked, w waiting, too. Its status says what is wrong. */
static void child(char what, char blocked)
{
	int signal = what == 'p' ? SIGPIPE : SIGXFSZ, ends[2];
	struct rlimit none = { 0, 0 }, few = { 10, 10 };
	char name[] = "/tmp/drystone-report-XXXXXX";
	sigset_t set;

	setrlimit(RLIMIT_CORE, &none);
	if (what == 'p') {
		if (pipe(ends) != 0)
			_exit(2);
		close(ends[0]);
	} else {
		ends[1] = mkstemp(name);
		unlink(name);
		setrlimit(RLIMIT_FSIZE, &few);
	}
	dup2(ends[1], 2);
	if (blocked != '-')
		block(signal);
	if (blocked == 'w')
		raise(signal);
	make_error();
	sigprocmask(SIG_SETMASK, NULL, &set);
	if ((sigismember(&set, signal) == 1) != (blocked != '-'))
		_exit(3);
	_exit(waits(signal) == (blocked == 'w') ? 0 : 4);
}

int main(int argc, char **argv)
{
	static const char *const confs[] = { "check:1", "check:1,abort:0" };
	static const char cases[] = "p-pbpwf-fbfw";

	if (argc > 1)
		child(argv[1][0], argv[1][1]);
	for (size_t i = 0; i < 2; i++) {
		for (const char *at = cases; *at != '\0'; at += 2) {
			char word[] = { at[0], at[1], '\0' };
			int status = test_again(confs[i], word, NULL);

			CHECK_EQ(WIFSIGNALED(status) ? WTERMSIG(status) : 0, i == 0 ? SIGABRT : 0);
			CHECK_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : 0, 0);
		}
	}
	return 0;
}
