/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Where memory has ended once, and small blocks came from slabs of bigger ones, wrong sizes of frees are reported as before: all of
 * them where what was asked for is known (secure:1, red zones), and by check:1 those that no such block was asked for with.
 *
 * DRY_TEST_NO_POSIX: what a limit leaves differs.
 */
#define _GNU_SOURCE 1
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drystone/drystone.h>

#include "../support/check.h"
#include "../support/profiles.h"

extern __typeof__(dry_version) dry_version __attribute__((weak));
__attribute__((weak)) void free_sized(void *block, size_t size);

/* Until there is none. */
static void **fill(size_t size)
{
	void **chain = NULL, **block;

	while ((block = malloc(size)) != NULL) {
		*block = chain;
		chain = block;
	}
	CHECK(chain != NULL);
	return chain;
}

/* Every second one. */
static void thin(void **chain)
{
	for (void **block; chain != NULL && (block = *chain) != NULL; chain = *chain) {
		*chain = *block;
		free(block);
	}
}

static void run(size_t size, size_t as)
{
	for (int i = 0; i < 64; i++) /* the first ones are guarded */
		free(malloc(size));
	void *block = malloc(size), *right = malloc(size);

	CHECK(block != NULL && right != NULL);
	void **bigger = fill(4900), **small;
	thin(bigger);
	small = fill(100);
	if (malloc_usable_size(small) == 112) /* a class of its own */
		_exit(8);
	free_sized(small, 100);
	free_sized(right, size);
	OPAQUE(block);
	free_sized(block, as);
	_exit(7); /* nothing was said */
}

int main(int argc, char **argv)
{
	static const struct {
		const char *conf, *size, *as;
	} cases[] = {
		{ "check:1,limit:4M", "5000", "1000" },       { "check:1,limit:4M", "20000", "600" },
		{ "secure:1,limit:4M", "100", "50" },        { "secure:1,limit:4M", "5000", "400" },
		{ "secure:1,limit:4M", "3000", "2999" },     { "debug:Z,limit:6M", "100", "50" },
	};

	if (dry_version == NULL || free_sized == NULL)
		return 0;
	if (argc == 3)
		run(strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int status = test_again(cases[i].conf, cases[i].size, cases[i].as);
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
			fprintf(stderr, "%s, %s as %s: status %#x\n", cases[i].conf, cases[i].size, cases[i].as, (unsigned)status);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
	return 0;
}
