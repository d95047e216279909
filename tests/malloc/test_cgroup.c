/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * In memory cgroups, whose kernel kills who goes beyond the limit:
 *
 *   phases   192 MiB: phases of 112 MiB each, every one of another block size, so that what is kept of one phase must
 *            serve the next or go back
 *   endless  64 MiB, DRYSTONE_CONF=limit:85%: threads allocate until NULL, with ENOMEM; what they have works on
 *   secure   the same under secure:1, which takes more for itself
 *   payload  64 MiB, secure:1 and no limit: 45 MiB of blocks of each size live, as in the default profile, and every fourth
 *            block has been freed beside them
 *
 * Needs the right to make a cgroup; skipped without. DRY_TEST_NO_POSIX: that port does not know groups.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"

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
static bool make_cgroup(char *folder, size_t room, size_t bytes)
{
	static const char *const roots[] = { "/sys/fs/cgroup/memory", "/sys/fs/cgroup" };
	static const char *const files[] = { "memory.limit_in_bytes", "memory.max" };
	char limit[32];

	snprintf(limit, sizeof(limit), "%zu", bytes);
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

static void run_phases(void)
{
	static const size_t sizes[] = { 100, 4000, 1 << 20, 64, 30000, 5 << 20, 300, 300000, 1000 };

	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			phase(sizes[i]);
}

/* Blocks in a chain until there is no memory, twice; all of it is written. */
static void *fill(void *arg)
{
	static const size_t sizes[] = { 48, 300, 5000, 70000, 1500000 };
	size_t which = (size_t)arg, *total = malloc(sizeof(size_t));

	CHECK(total != NULL);
	*total = 0;
	for (int round = 0; round < 2; round++) {
		size_t size = sizes[(which + (size_t)round) % 5];
		void **first = NULL, **block;

		errno = 0;
		while ((block = malloc(size)) != NULL) {
			memset(block, 0x5a, size);
			*block = first;
			first = block;
			*total += size;
		}
		CHECK(errno == ENOMEM);
		for (; first != NULL; first = block) {
			CHECK(((char *)first)[size - 1] == 0x5a);
			block = *first;
			free(first);
		}
	}
	return total;
}

static void run_endless(void)
{
	pthread_t threads[4];
	size_t sum = 0;
	void *total;

	for (size_t i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, fill, (void *)i) == 0);
	for (size_t i = 0; i < 4; i++) {
		CHECK(pthread_join(threads[i], &total) == 0);
		sum += *(size_t *)total;
		free(total);
	}
	CHECK(sum >= (size_t)30 << 20);
	free(fill((void *)1)); /* alone */
}

#define PAYLOAD ((size_t)45 << 20)

static void run_payload(void)
{
	static const size_t sizes[] = { 16, 100, 30000, 4000, 500, 64 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t size = sizes[i];
		char **first = NULL, **block;

		for (size_t n = 0; n < PAYLOAD / size; n++) {
			block = malloc(size);
			CHECK(block != NULL);
			memset(block, 0x5a, size);
			*block = (char *)first;
			first = block;
			if (n % 4 == 0)
				free(calloc(1, size));
		}
		for (; first != NULL; first = block) {
			CHECK(size == 16 || ((char *)first)[size - 1] == 0x5a);
			block = (char **)*first;
			free(first);
		}
	}
}

static const struct mode {
	const char *name, *conf;
	size_t limit;
	void (*run)(void);
} modes[] = {
	{ "phases", "", (size_t)192 << 20, run_phases },
	{ "endless", "limit:85%", (size_t)64 << 20, run_endless },
	{ "secure", "secure:1,limit:85%", (size_t)64 << 20, run_endless },
	{ "payload", "secure:1", (size_t)64 << 20, run_payload },
};

/* false: no cgroup can be made. */
static bool try_mode(const struct mode *mode)
{
	char folder[128];
	int status;
	pid_t child;

	if (!make_cgroup(folder, sizeof(folder), mode->limit))
		return false;
	child = fork();
	CHECK(child >= 0);
	if (child == 0) { /* started anew: the limit is read, and options are set, at start */
		CHECK(put(folder, "cgroup.procs", "0"));
		if (mode->conf[0] != '\0')
			setenv("DRYSTONE_CONF", mode->conf, 1);
		execl("/proc/self/exe", "cgroup", mode->name, (char *)NULL);
		_exit(127);
	}
	CHECK(waitpid(child, &status, 0) == child);
	for (int patience = 100; rmdir(folder) != 0 && errno == EBUSY && patience > 0; patience--)
		usleep(10000);
	if (WIFSIGNALED(status))
		fprintf(stderr, "%s: killed by signal %d\n", mode->name, WTERMSIG(status));
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return true;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (argc > 1 && strcmp(argv[1], modes[i].name) == 0) {
			modes[i].run();
			return 0;
		}
		if (argc == 1 && !try_mode(&modes[i])) {
			printf("no cgroup can be made here: skipped\n");
			return 77;
		}
	}
	return argc > 1;
}
