/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Where memory ends, it ends for all: under a limit of address space that leaves 1.3 to 4 MiB, once no block of 8 bytes is had,
 * there is none of any other size either, though others were freed before; what the slabs and guarded places of other sizes had
 * free are blocks, aligned, written to, freed, some with their size. So is a big block that has grown until there was no more,
 * and was freed. In each profile.
 *
 * DRY_TEST_NO_POSIX: it reserves all at once. DRY_TEST_NO_NORSEQ: limits are no matter of slots.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/profiles.h"
#include "../support/statm.h"

#define KIB   ((size_t)1 << 10)
#define ROOMS 10 /* what the limit leaves: from 1.3 MiB on, in steps of 300 KiB */

static const char *const profiles[] = { "exit_check:1", "check:1", "guard:1", "secure:1" };
static const size_t sizes[] = { 8, 16, 24, 48, 100, 500, 1000, 4000, 4104, 8000, 10000, 20000, 32000, 40000, 100000, 300000 };

__attribute__((weak)) void free_sized(void *block, size_t size);

static void limit_to(rlim_t bytes)
{
	struct rlimit limit = { bytes, RLIM_INFINITY };

	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

/* Until there is none; how many. */
static size_t fill(char ***chain, size_t size)
{
	size_t count = 0;
	char **block;

	errno = 0;
	for (; (block = malloc(size)) != NULL; count++) {
		CHECK((uintptr_t)block % 16 == 0 && malloc_usable_size(block) >= size);
		memset(block, 0x5a, size);
		*block = (char *)*chain;
		*chain = block;
	}
	CHECK(errno == ENOMEM);
	return count;
}

static void empty(char **chain, size_t size)
{
	for (char **next; chain != NULL; chain = next) {
		next = (char **)*chain;
		CHECK(size == sizeof(char *) || ((char *)chain)[size - 1] == 0x5a);
		if (free_sized != NULL && (uintptr_t)chain / 64 % 2 == 0)
			free_sized(chain, size);
		else
			free(chain);
	}
}

/* As long as it can, as a vector does. */
static void grow(void)
{
	size_t bytes = 64;
	char *block = malloc(bytes), *more;

	CHECK(block != NULL);
	while ((more = realloc(block, bytes + bytes / 2)) != NULL) {
		block = more;
		bytes += bytes / 2;
		memset(block, 1, bytes);
	}
	free(block);
}

static void run(size_t left)
{
	char *array = malloc(64);

	limit_to(test_address_space() + left);
	for (int round = 0; round < 3; round++) {
		char **big = NULL, **small = NULL;
		grow();
		/* grows, so that every class has had blocks; it stays, so that its slab does */
		for (size_t bytes = 64; bytes <= (round == 1 ? 32768u : 8192u); bytes *= 2)
			CHECK((array = realloc(array, bytes)) != NULL);
		fill(&big, 4104);
		CHECK(big != NULL);
		size_t count = fill(&small, 8);
		for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			void *block = malloc(sizes[i]);
			if (block != NULL)
				fprintf(stderr, "round %d: %zu bytes after %zu of 8 were all\n", round, sizes[i], count);
			CHECK(block == NULL);
		}
		empty(small, 8);
		empty(big, 4104);
	}
	free(array);
	limit_to(RLIM_INFINITY);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		run(strtoul(argv[1], NULL, 10));
		return 0;
	}
	for (unsigned i = 0; i < ROOMS * sizeof(profiles) / sizeof(profiles[0]); i++) {
		const char *profile = profiles[i / ROOMS];
		size_t left = KIB * (1300 + 300 * (i % ROOMS));
		char bytes[32];

		snprintf(bytes, sizeof(bytes), "%zu", left);
		int status = test_again(profile, bytes, NULL);
		if (status != 0)
			fprintf(stderr, "%s, %zu bytes: status %d\n", profile, left, status);
		CHECK(status == 0);
	}
	return 0;
}
