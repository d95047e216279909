/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * secure:1: children of one process, and their children, choose other places for the same allocations: one that was seen, or
 * crashed, tells nothing of where the next one's blocks lie.
 */
#define _GNU_SOURCE 1
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drystone/drystone.h>

#include "../support/check.h"
#include "../support/profiles.h"

#define CHILDREN 3 /* and a child of each */
#define BLOCKS   32

extern __typeof__(dry_version) dry_version __attribute__((weak));

struct places {
	uintptr_t block[BLOCKS];
};

static void choose(int fd)
{
	struct places places;

	for (int i = 0; i < BLOCKS; i++)
		places.block[i] = (uintptr_t)malloc(100);
	CHECK(write(fd, &places, sizeof(places)) == sizeof(places));
}

static void in_child(void (*run)(int fd), int fd)
{
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		run(fd);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void choose_and_fork(int fd)
{
	in_child(choose, fd);
	choose(fd);
}

/* That many of the blocks lie in other places. */
static int differ(const struct places *one, const struct places *other)
{
	int count = 0;

	for (int i = 0; i < BLOCKS; i++)
		count += one->block[i] != other->block[i];
	return count;
}

static void run(uint64_t seed)
{
	static struct places places[2 * CHILDREN];
	int ends[2];

	(void)seed;
	for (int i = 0; i < 1000; i++) { /* the first ones are guarded */
		void *block = malloc(100);
		OPAQUE(block);
		free(block);
	}
	CHECK(pipe(ends) == 0);
	for (int i = 0; i < CHILDREN; i++) {
		in_child(choose_and_fork, ends[1]);
		for (int k = 0; k < 2; k++)
			CHECK(read(ends[0], &places[2 * i + k], sizeof(places[0])) == sizeof(places[0]));
	}
	/* Choices that were drawn before are few. */
	for (int i = 0; i < 2 * CHILDREN; i++)
		for (int k = 0; k < i; k++)
			CHECK(differ(&places[i], &places[k]) > BLOCKS / 2);
}

int main(int argc, char **argv)
{
	static const char *const profiles[] = { "secure:1" };

	if (dry_version == NULL)
		return 0;
	return test_in_profiles(argc, argv, profiles, 1, run);
}
