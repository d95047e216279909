/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Blocks that a profile has noted lie in a heap of their own, and are the program's as all others are: mallinfo2() counts them, big
 * and small, malloc_trim() gives back what is free of them, and so does housekeeping in the calls of a program of one thread.
 */
#include <string.h>
#include <time.h>

#include "../support/check.h"
#include "../support/glibc.h"
#include "../support/profiles.h"
#include "../support/statm.h"

#define MIB    ((size_t)1 << 20)
#define BLOCKS 20
#define SMALL  1000

static void burst(void)
{
	void *block[BLOCKS];

	for (int i = 0; i < BLOCKS; i++) {
		CHECK(block[i] = malloc(3 * MIB));
		memset(block[i], 1, 3 * MIB);
	}
	for (int i = 0; i < BLOCKS; i++)
		free(block[i]);
}

/* Calls that miss, as those of a program that goes on do. */
static void go_on(size_t until)
{
	time_t end = time(NULL) + 20;
	void *some[SMALL];

	while (test_resident() > until) {
		CHECK(time(NULL) < end);
		for (int i = 0; i < SMALL; i++)
			CHECK(some[i] = malloc((size_t)i + 3000));
		for (int i = 0; i < SMALL; i++)
			free(some[i]);
	}
}

static void run(uint64_t seed)
{
	struct mallinfo2 before = mallinfo2(), now;
	void *small[SMALL];
	size_t resident;

	(void)seed;
	void *big = malloc(10 * MIB);
	for (int i = 0; i < SMALL; i++)
		CHECK(small[i] = malloc(1000));
	now = mallinfo2();
	CHECK(now.hblkhd - before.hblkhd >= 10 * MIB && now.hblkhd - before.hblkhd < 11 * MIB);
	CHECK(now.uordblks - before.uordblks >= SMALL * (size_t)1000);
	for (int i = 0; i < SMALL; i++)
		free(small[i]);
	free(big);
	malloc_trim(0);
	CHECK(mallinfo2().hblkhd == before.hblkhd);
	resident = test_resident();
	for (int round = 0; round < 3; round++) {
		burst();
		malloc_trim(0); /* or housekeeping was before it */
		CHECK(test_resident() < resident + 4 * MIB);
	}
	burst();
	go_on(resident + 16 * MIB);
}

int main(int argc, char **argv)
{
	static const char *const profiles[] = { "decay_ms:100", "profile:524288,decay_ms:100", "profile:1,decay_ms:100" };

	return test_in_profiles(argc, argv, profiles, sizeof(profiles) / sizeof(profiles[0]), run);
}
