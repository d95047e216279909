/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mlockall() without the right to lock more than RLIMIT_MEMLOCK, 8 MiB as Debian has it. The kernel counts all that is mapped,
 * reserved or not: a small program gets its lock in each profile, allocates on within the limit, and beyond it gets NULL.
 *
 * DRY_TEST_NO_POSIX: it reserves all at once.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/pages.h"

#define MIB    ((size_t)1 << 20)
#define KIB    ((size_t)1 << 10)
#define PIECES 64 /* mappings of a small program, and slabs of its classes, about: with bigger pages each is bigger */
#define SECURE 96 /* with what secure:1 keeps of each slab */

static const struct profile {
	const char *conf;
	size_t before, live; /* blocks before the lock; of 20,000 bytes that stay */
	size_t more;	     /* bytes of blocks that must be had after it */
} profiles[] = {
	{ "exit_check:1", 200, 0, 3800 * KIB },	{ "exit_check:1", 200, 100, 1700 * KIB },
	{ "check:1", 200, 0, 3500 * KIB },	{ "guard:1", 200, 100, 1700 * KIB },
	{ "secure:1", 200, 0, 2700 * KIB },	{ "secure:1", 10, 30, 1700 * KIB },
};

/* Blocks in a chain until there is no memory: their bytes. */
static size_t fill(size_t size)
{
	void **first = NULL, **block;
	size_t total = 0;

	errno = 0;
	while ((block = malloc(size)) != NULL) {
		memset(block, 1, size);
		*block = first;
		first = block;
		total += size;
		CHECK(total < 64 * MIB); /* else the limit is none */
	}
	CHECK_EQ(errno, ENOMEM);
	for (; first != NULL; first = block) {
		block = *first;
		free(first);
	}
	return total;
}

static int run(const struct profile *profile)
{
	size_t got;

	for (size_t i = 1; i < profile->before; i++)
		free(memset(malloc(i * 10), 1, i * 10));
	for (size_t i = 0; i < profile->live; i++)
		CHECK(memset(malloc(20000), 1, 20000) != NULL);
	CHECK_EQ(mlockall(MCL_CURRENT | MCL_FUTURE), 0);
	got = fill(1000);
	printf("%s: %zu KiB of small blocks", profile->conf, got >> 10);
	fflush(stdout);
	CHECK(got >= profile->more);
	got = fill(1000);
	printf(", then %zu\n", got >> 10);
	CHECK(got >= profile->more);
	CHECK_EQ(munlockall(), 0);
	void *big = malloc(32 * MIB);
	CHECK(big != NULL);
	free(big);
	return 0;
}

int main(int argc, char **argv)
{
	int status;

	if (argc == 2)
		return run(&profiles[atoi(argv[1])]);
	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
		char number[] = { (char)('0' + i), '\0' };
		bool secure = strcmp(profiles[i].conf, "secure:1") == 0;
		size_t most = 8 * MIB + test_beyond_4k(secure ? SECURE : PIECES);
		struct rlimit limit = { most, most };
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0) {
			/* What is not in the bounding set is lost with execve(), also by root. */
			prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0);
			CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
			setenv("DRYSTONE_CONF", profiles[i].conf, 1);
			execl("/proc/self/exe", "lock_unprivileged", number, (char *)NULL);
			_exit(9);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK_EQ(status, 0);
	}
	return 0;
}
