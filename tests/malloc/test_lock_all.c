/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program that locks its memory (mlockall) gets as much as it uses, not all that the allocator might once
 * use: what is writable is small however much is reserved. One that may lock more than RLIMIT_MEMLOCK gets more.
 * In the default profile and under guard:1.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/profiles.h"
#include "../support/status.h"

#define MOST 262144 /* KiB */

static void use(void)
{
	void *blocks[200];

	for (size_t i = 0; i < 200; i++) {
		blocks[i] = malloc(i * 200);
		CHECK(blocks[i]);
		memset(blocks[i], 1, i * 200);
	}
	for (size_t i = 0; i < 200; i++)
		free(blocks[i]);
}

/* What is mapped from now on is locked, too, and counted, but the limit does not hold for who has the right to more. */
static void pass_limit(const char *conf)
{
	enum { BLOCKS = 1000, SIZE = 20000 };
	static void *blocks[BLOCKS];
	struct rlimit limit;

	CHECK_EQ(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
	limit.rlim_cur = 8 << 20;
	if (limit.rlim_cur > limit.rlim_max || setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
		return;
	void *more = mmap(NULL, 16 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool may = more != MAP_FAILED;

	if (may)
		CHECK_EQ(munmap(more, 16 << 20), 0);
	for (int i = 0; may && i < BLOCKS; i++)
		CHECK((blocks[i] = malloc(SIZE)) != NULL);
	printf("%s: %s\n", conf, may ? "20 MB where 8 may be locked" : "no right to lock more");
	for (int i = 0; may && i < BLOCKS; i++)
		free(blocks[i]);
}

static int run(const char *conf)
{
	size_t data, rss;

	use();
	data = status_number("VmData:");
	printf("%s: %zu KiB are writable\n", conf, data);
	CHECK(data < MOST); /* else mlockall would take the machine's memory */
	if (mlockall(MCL_CURRENT)) {
		printf("%s: mlockall: %s\n", conf, strerror(errno)); /* not permitted: no harm */
		return 0;
	}
	rss = status_number("VmRSS:");
	use();
	printf("%s: %zu KiB are present\n", conf, rss);
	CHECK(rss < MOST);
	pass_limit(conf);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const confs[] = { "exit_check:1", "guard:1" };

	if (argc == 2)
		return run(argv[1]);
	for (size_t i = 0; i < sizeof(confs) / sizeof(confs[0]); i++)
		CHECK_EQ(test_again(confs[i], confs[i], NULL), 0);
	return 0;
}
