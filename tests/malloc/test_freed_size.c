/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The size of a block that is freed, or of no block's start, is not told where that is known: a report ends the program. */
#define _GNU_SOURCE 1
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drystone/drystone.h>

#include "../support/check.h"

extern __typeof__(dry_version) dry_version __attribute__((weak));

static void ask(size_t size, size_t offset)
{
	char *block = malloc(size), *other = malloc(size); /* its slab stays, its page is in use */

	OPAQUE(block);
	CHECK(block && other && malloc_usable_size(block) >= size);
	if (offset == 0)
		free(block);
	OPAQUE(block);
	CHECK(malloc_usable_size(block + offset) != 1);
	_exit(0);
}

static void runs(char **argv, const char *conf, const char *size, const char *offset, const char *report)
{
	char *args[] = { argv[0], (char *)(uintptr_t)size, (char *)(uintptr_t)offset, NULL }, text[4096];
	int ends[2], status;
	size_t length = 0;
	ssize_t got;

	CHECK(pipe(ends) == 0);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		setenv("DRYSTONE_CONF", conf, 1);
		dup2(ends[1], 2);
		execv("/proc/self/exe", args);
		_exit(9);
	}
	close(ends[1]);
	while (length < sizeof(text) - 1 && (got = read(ends[0], text + length, sizeof(text) - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = '\0';
	close(ends[0]);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	CHECK(strstr(text, report));
}

int main(int argc, char **argv)
{
	if (!dry_version)
		return 0;
	if (argc == 3)
		ask(strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10));
	runs(argv, "check:1", "100", "0", "drystone: use after free");
	runs(argv, "check:1", "8", "0", "drystone: use after free");
	runs(argv, "check:1", "20000", "0", "drystone: use after free");
	runs(argv, "debug:U", "100", "0", "drystone: use after free");
	runs(argv, "secure:1", "100", "0", "drystone: use after free");
	runs(argv, "check:1", "100", "16", "drystone: pointer into the middle of an object");
	runs(argv, "check:0", "100000", "4096", "drystone: pointer into the middle of an object");
	return 0;
}
