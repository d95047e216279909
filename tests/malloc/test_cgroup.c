/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * In a memory cgroup of 192 MiB: phases of 112 MiB each, every one of another block size, so that what
 * is kept of one phase must serve the next or go back. The kernel kills who goes beyond the limit.
 * Needs the right to make a cgroup; skipped without.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"

#define LIMIT ((size_t)192 << 20)
#define PHASE ((size_t)112 << 20)

static bool put(const char *folder, const char *file, const char *text)
{
	char path[256];
	int fd;
	bool good;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	good = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return good;
}

/* A new cgroup with the limit; false: not permitted, or no memory controller. */
static bool make_cgroup(char *folder, size_t room)
{
	static const char *const roots[] = { "/sys/fs/cgroup/memory", "/sys/fs/cgroup" };
	static const char *const files[] = { "memory.limit_in_bytes", "memory.max" };
	char limit[32];

	snprintf(limit, sizeof(limit), "%zu", LIMIT);
	for (int i = 0; i < 2; i++) {
		snprintf(folder, room, "%s/drystone-test-%d", roots[i], (int)getpid());
		if (mkdir(folder, 0755) != 0)
			continue;
		if (put(folder, files[i], limit))
			return true;
		rmdir(folder);
	}
	return false;
}

static void phase(size_t size)
{
	size_t count = PHASE / size;
	char **blocks = malloc(count * sizeof(char *));

	CHECK(blocks != NULL);
	for (size_t i = 0; i < count; i++) {
		blocks[i] = malloc(size);
		CHECK(blocks[i] != NULL);
		memset(blocks[i], (int)i | 1, size);
	}
	for (size_t i = 0; i < count; i++) {
		CHECK(blocks[i][size - 1] == (char)((int)i | 1));
		free(blocks[i]);
	}
	free(blocks);
}

int main(void)
{
	static const size_t sizes[] = { 100, 4000, 1 << 20, 64, 30000, 5 << 20, 300, 300000, 1000 };
	char folder[128];
	int status;
	pid_t child;

	if (!make_cgroup(folder, sizeof(folder))) {
		printf("no cgroup can be made here: skipped\n");
		return 77;
	}
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		CHECK(put(folder, "cgroup.procs", "0"));
		for (int round = 0; round < 2; round++)
			for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
				phase(sizes[i]);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	for (int patience = 100; rmdir(folder) != 0 && errno == EBUSY && patience > 0; patience--)
		usleep(10000);
	if (WIFSIGNALED(status))
		fprintf(stderr, "killed by signal %d\n", WTERMSIG(status));
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return 0;
}
