/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program with threads and next to no memory allocates one big block, fills it and frees it, and then only sleeps: the block goes
 * back, though no call came after it; whichever call it came of.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/statm.h"

#define BLOCK	    ((size_t)60 << 20)
#define MOST_TENTHS 600 /* of a second: of a busy machine */

static void *rest(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void run(bool aligned)
{
	size_t before, after;
	pthread_t id;
	char *block;

	CHECK(pthread_create(&id, NULL, rest, NULL) == 0);
	before = test_resident();
	CHECK(block = aligned ? aligned_alloc(64, BLOCK) : malloc(BLOCK));
	memset(block, 1, BLOCK);
	CHECK(test_resident() >= before + BLOCK / 10 * 9);
	free(block);
	for (unsigned tenths = 0; (after = test_resident()) > before + BLOCK / 10 && tenths < MOST_TENTHS; tenths++)
		usleep(100000);
	printf("resident KiB: before %zu, after %zu\n", before >> 10, after >> 10);
	CHECK(after <= before + BLOCK / 10);
}

int main(void)
{
	for (int aligned = 0; aligned < 2; aligned++) { /* each without the other's helper */
		int status;
		pid_t child = fork();

		CHECK(child >= 0);
		if (child == 0) {
			run(aligned);
			fflush(stdout);
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child);
		CHECK_EQ(status, 0);
	}
	return 0;
}
