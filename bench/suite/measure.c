/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * measure RESULT PRELOAD COMMAND...: runs a command with PRELOAD as its LD_PRELOAD ("-": none), waits for it and writes
 * one line to the file RESULT: exit status, seconds, seconds of user and of system, peak of resident memory in KiB,
 * page faults.
 *
 * A program of its own, linked statically, because what a process counts as its peak begins with the size of the
 * process that started it: a script would put its own ten megabytes under every figure.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static int start(char **command, const char *preload)
{
	if (strcmp(preload, "-") != 0)
		setenv("LD_PRELOAD", preload, 1);
	execvp(command[0], command);
	perror(command[0]);
	return 127;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	int status;

	if (argc < 4) {
		fputs("usage: measure RESULT PRELOAD COMMAND...\n", stderr);
		return 2;
	}

	double begin = now();
	pid_t child = fork();

	if (child == 0)
		_exit(start(argv + 3, argv[2]));
	if (child < 0 || wait4(child, &status, 0, &usage) != child) {
		perror("measure");
		return 1;
	}

	double took = now() - begin;
	FILE *file = fopen(argv[1], "w");

	if (file == NULL) {
		perror(argv[1]);
		return 1;
	}
	fprintf(file, "%d %.6f %.6f %.6f %ld %ld\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), took,
		seconds(usage.ru_utime), seconds(usage.ru_stime), usage.ru_maxrss, usage.ru_minflt + usage.ru_majflt);
	return fclose(file) == 0 ? 0 : 1;
}
