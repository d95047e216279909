/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program with threads and next to no memory allocates one big block, fills it and frees it, and then only sleeps: the block goes
 * back, though no call came after it.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
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

int main(void)
{
	size_t before, after;
	pthread_t id;
	char *block;

	CHECK(pthread_create(&id, NULL, rest, NULL) == 0);
	before = test_resident();
	CHECK(block = malloc(BLOCK));
	memset(block, 1, BLOCK);
	CHECK(test_resident() >= before + BLOCK / 10 * 9);
	free(block);
	for (unsigned tenths = 0; (after = test_resident()) > before + BLOCK / 10 && tenths < MOST_TENTHS; tenths++)
		usleep(100000);
	printf("resident KiB: before %zu, after %zu\n", before >> 10, after >> 10);
	CHECK(after <= before + BLOCK / 10);
	return 0;
}
