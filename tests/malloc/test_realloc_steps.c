/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Blocks that realloc() makes bigger or smaller in small steps, as strings and vectors of some programs grow, are not copied
 * each time, under secure:1 neither: the page faults are in proportion to the memory; nor are those that are asked for the size
 * that they have. What is in them stays, and under secure:1 what is written behind their end is found at the next step or when
 * they are freed, and faults with a report where they had memory before.
 * DRY_TEST_NO_NORSEQ: slots are no matter.
 */
#define _GNU_SOURCE 1
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/pattern.h"

#define FROM  ((size_t)40000)
#define TO    ((size_t)4 << 20)
#define BELOW 20000 /* faults; 1,000 steps that copied would have 500,000 */

static long faults(void)
{
	struct rusage usage;

	CHECK_EQ(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_minflt;
}

/* Two that grow in turns; other blocks come and go between. again: each size is asked for twice. */
static void grow(size_t step, bool again)
{
	unsigned char *block[2] = { malloc(FROM), malloc(FROM) };
	long before = faults();

	CHECK(block[0] && block[1]);
	pattern_fill_key(block[0], FROM, 1);
	pattern_fill_key(block[1], FROM, 2);
	for (size_t size = FROM + step; size <= TO; size += step) {
		for (size_t i = 0; i < 2; i++) {
			block[i] = realloc(block[i], size);
			CHECK(block[i] != NULL && (uintptr_t)block[i] % 16 == 0);
			memset(block[i] + size - step, (int)i + 1, step);
			if (again)
				block[i] = realloc(block[i], size);
			CHECK(block[i] != NULL);
		}
		if (size % 64 == 0)
			free(malloc(size / 4));
	}
	printf("steps of %zu%s: %ld faults\n", step, again ? ", each twice" : "", faults() - before);
	CHECK(faults() - before < BELOW);
	for (size_t i = 0; i < 2; i++) {
		CHECK(pattern_holds_key(block[i], FROM / 8 * 8, (unsigned)i + 1));
		for (size_t at = FROM; at < TO - step; at++)
			CHECK(block[i][at] == i + 1);
		free(block[i]);
	}
}

/* What was left behind the block is others' to have, and is not in memory. */
static void shrink(size_t step)
{
	unsigned char *block = malloc(TO), *other = NULL;
	size_t size = TO;
	long before;

	CHECK(block != NULL);
	pattern_fill_key(block, TO, 1);
	before = faults();
	while ((size -= step) >= FROM) {
		block = realloc(block, size);
		CHECK(block != NULL && pattern_holds_key(block, size < 4096 ? size : 4096, 1));
		free(other);
		other = malloc(FROM);
		CHECK(other);
		other[0] = other[FROM - 1] = 2;
	}
	printf("steps of %zu down: %ld faults\n", step, faults() - before);
	CHECK(faults() - before < BELOW);
	size += step;
	CHECK(pattern_holds_key(block, size / 8 * 8, 1));
	free(other);
	block = realloc(block, size + size / 8);
	CHECK(block != NULL && pattern_holds_key(block, size / 8 * 8, 1));
	memset(block, 3, size + size / 8);
	free(block);
}

static void overrun(bool frees, int step)
{
	unsigned char *block = malloc(FROM);

	for (int i = 1; i <= 5; i++)
		block = realloc(block, FROM + (size_t)(long)(i * step));
	block[FROM + (size_t)(long)(5 * step)]++;
	if (frees)
		free(block);
	else
		block = realloc(block, FROM + (size_t)(long)(6 * step));
	_exit(0);
}

static void test_overrun(bool frees, int step)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		close(2);
		overrun(frees, step);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static int read_left(void)
{
	const volatile unsigned char *block = realloc(malloc(TO), TO - 50000);

	return block[TO - 1000];
}

/* A block of which nothing is remembered: others that live, far before it, are not meant. */
static int read_gone(void)
{
	static void *block[3000];
	const size_t count = sizeof(block) / sizeof(block[0]);
	const volatile unsigned char *gone;

	free(malloc(FROM));
	for (size_t i = 0; i < count; i++)
		CHECK(block[i] = malloc(FROM));
	gone = block[100];
	for (size_t i = 1; i < count; i++)
		free(block[i]);
	return gone[10];
}

static void test_fault(int (*access)(void), const char *expected)
{
	char text[512] = "";
	int status = 0, ends[2];
	pid_t child;

	CHECK_EQ(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		CHECK(dup2(ends[1], 2) == 2);
		_exit(access());
	}
	close(ends[1]);
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK(read(ends[0], text, sizeof(text) - 1) > 0);
	close(ends[0]);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK(strstr(text, expected) != NULL);
}

int main(void)
{
	const char *conf = getenv("DRYSTONE_CONF");

	if (conf != NULL && strcmp(conf, "secure:1") == 0) {
		for (int i = 0; i < 4; i++)
			test_overrun(i / 2, i % 2 == 0 ? 100 : -100);
		test_fault(read_left, "read, 49000 bytes after a block of 4144304 bytes");
		test_fault(read_gone, "read, where a guarded block was");
	}
	grow(4096, false);
	grow(1000, false);
	grow(10000, false);
	grow(4096, true);
	shrink(4096);
	shrink(1000);
	return 0;
}
