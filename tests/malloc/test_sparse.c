/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Blocks of which the program touches little, as buffers are: they take the pages that were touched, not all of their own.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/seccomp.h"
#include "../support/statm.h"

#define MOST  4000
#define SLACK ((size_t)12 << 20)

static char *block[MOST];

/* Where the system gives huge pages to all, each touch is one of 2 MiB. */
static int huge_for_all(void)
{
	char text[64] = "";
	FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");

	if (file == NULL)
		return 0;
	CHECK(fgets(text, sizeof(text), file));
	fclose(file);
	return strstr(text, "[always]") != NULL;
}

static void touch_ends(size_t count, size_t bytes)
{
	size_t before = test_resident(), most = count * 2 * (size_t)sysconf(_SC_PAGESIZE) + SLACK, after;

	for (size_t i = 0; i < count; i++) {
		CHECK(block[i] = malloc(bytes));
		block[i][0] = block[i][bytes - 1] = 1;
	}
	after = test_resident();
	printf("%zu blocks of %zu: %zu MiB before, %zu with them\n", count, bytes, before >> 20, after >> 20);
	fflush(stdout);
	CHECK(after <= before + most);
	for (size_t i = 0; i < count; i++)
		free(block[i]);
}

/* A table of which little is used, allocated zeroed again and again. */
static void tables(size_t bytes)
{
	size_t before = test_resident(), after;

	for (unsigned round = 0; round < 20; round++) {
		char *table = calloc(1, bytes);
		CHECK(table);
		for (size_t at = round; at < bytes; at += bytes / 64) {
			CHECK_EQ(table[at], 0);
			table[at] = 1;
		}
		after = test_resident();
		free(table);
	}
	printf("a table of %zu MiB: %zu MiB before, %zu with it\n", bytes >> 20, before >> 20, after >> 20);
	CHECK(after <= before + bytes / 4);
}

static void *sleeps(void *arg)
{
	sleep(600);
	return arg;
}

int main(void)
{
	pthread_t thread;

	if (huge_for_all()) {
		printf("huge pages for all: skipped\n");
		return 77;
	}
	for (size_t i = 0; i < MOST; i++) /* a heap that has some memory, of small objects */
		CHECK(block[i] = calloc(1, 2000));
	for (size_t i = 0; i < MOST; i++)
		free(block[i]);
	touch_ends(MOST, 40000);
	touch_ends(MOST / 2, 100000);
	/* The POSIX port does not know what has memory; under a filter it is read in a file. */
	bool unknown = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0 && (!KNOWS_FILES || access("/proc/self/pagemap", R_OK) != 0);
	if (unknown || (getenv("LD_PRELOAD") && strstr(getenv("LD_PRELOAD"), "posix"))) {
		printf("what has memory is not known here: tables are left out\n");
		return 0;
	}
	CHECK_EQ(pthread_create(&thread, NULL, sleeps, NULL), 0); /* then what is free waits for longer */
	memset(block[0] = malloc(16 << 20), 1, 16 << 20);
	tables(60 << 20);
	return 0;
}
