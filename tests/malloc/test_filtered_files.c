/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Files that the user asks for are written in a program with a filter of before it began, as in a container; the filter kills for a
 * call that libc does not ask for.
 * DRY_TEST_NO_POSIX: that port knows no filters.
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/seccomp.h"

static void *volatile kept, *volatile lost;

static int run(const char *path)
{
	struct stat file;

	for (int i = 0; i < 10000; i++) {
		kept = malloc(100);
		if (i % 2)
			free(kept);
		else
			lost = kept;
	}
	for (int patience = 500; strstr(path, "metrics") != NULL && stat(path, &file) != 0 && patience > 0; patience--)
		usleep(10000);
	kept = lost = NULL;
	return 7;
}

static void expect(const char *option, const char *name)
{
	char path[64], conf[160];
	struct stat file;
	pid_t pid;
	int status;

	snprintf(path, sizeof(path), "/tmp/drystone-%d-%s", (int)getpid(), name);
	snprintf(conf, sizeof(conf), "%s:%s", option, path);
	CHECK((pid = fork()) >= 0);
	if (pid == 0) {
		setenv("DRYSTONE_CONF", conf, 1);
		seccomp_forbid(RARE);
		execl("/proc/self/exe", "filtered_files", path, (char *)NULL);
		_exit(9);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
		fprintf(stderr, "%s: status %#x\n", option, (unsigned)status);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	if (stat(path, &file) != 0 || file.st_size == 0)
		fprintf(stderr, "%s: no file\n", option);
	CHECK(stat(path, &file) == 0 && file.st_size > 0);
	unlink(path);
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return run(argv[1]);
	expect("profile:1000,profile_file", "profile");
	expect("leaks_file", "leaks");
	expect("metrics_ms:100,metrics", "metrics");
	return 0;
}
