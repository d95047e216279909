/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* debug:FZPUQ: where an error wrote over what is known of a block's owner, the report prints none of it. Else it does. */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"

#define SIZE 100
#define FAR  180 /* beyond the end of its slot's block of 112 bytes and the zone, into the record */

static char text[65536];

static void child(size_t bytes)
{
	struct rlimit none = { 0, 0 };
	char *block = malloc(SIZE);

	setrlimit(RLIMIT_CORE, &none);
	OPAQUE(block);
	memset(block, 'A', bytes);
	OPAQUE(block);
	free(block);
	_exit(0);
}

static void report_of(char *program, const char *bytes)
{
	size_t used = 0;
	ssize_t got;
	int ends[2], status;
	pid_t pid;

	CHECK_EQ(pipe(ends), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		dup2(ends[1], 2);
		setenv("DRYSTONE_CONF", "debug:FZPUQ", 1);
		execl("/proc/self/exe", program, bytes, (char *)NULL);
		_exit(9);
	}
	close(ends[1]);
	while ((got = read(ends[0], text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)got;
	text[used] = '\0';
	close(ends[0]);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status));
	CHECK(strstr(text, "drystone: object was written beyond its end") == text);
	CHECK(strstr(text, "\nObject 0x") != NULL);
}

int main(int argc, char **argv)
{
	char bytes[16];

	if (argc > 1)
		child(strtoul(argv[1], NULL, 10));
	snprintf(bytes, sizeof(bytes), "%d", SIZE + 2);
	report_of(argv[0], bytes);
	CHECK(strstr(text, "100 of 112 bytes asked for, in use") != NULL);
	CHECK(strstr(text, "\nAllocated ") != NULL);
	snprintf(bytes, sizeof(bytes), "%d", FAR);
	report_of(argv[0], bytes);
	CHECK(strstr(text, "asked for") == NULL);
	CHECK(strstr(text, "\nAllocated ") == NULL);
	CHECK(strstr(text, "\nFreed ") == NULL);
	return 0;
}
