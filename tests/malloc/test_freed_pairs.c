/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * free(p); free(p) gives no two live blocks one address where housekeeping comes in frees: in a program of one thread, and in the
 * child that a process with a helper thread has forked. In each profile.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/profiles.h"

#define MOST 6000

static char *block[MOST];

static int compare(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)*(char *const *)a, y = (uintptr_t)*(char *const *)b;

	return (x > y) - (x < y);
}

static void free_twice(size_t size, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		CHECK(block[i] = malloc(size));
		memset(block[i], (int)i, size < 64 ? size : 64);
	}
	for (size_t i = 0; i < count; i++) {
		void *volatile again = block[i];
		free(block[i]);
		free(again);
		if (i % (count / 16) == 0)
			usleep(12000);
	}
	for (size_t i = 0; i < count; i++)
		CHECK(block[i] = malloc(size));
	qsort(block, count, sizeof(block[0]), compare);
	for (size_t i = 1; i < count; i++)
		CHECK(block[i] != block[i - 1]);
	for (size_t i = 0; i < count; i++)
		free(block[i]);
}

static void run(uint64_t seed)
{
	(void)seed;
	free_twice(1000, MOST);
	free_twice(48, MOST);
	free_twice(9000, MOST / 10);
	/* bigger, so that the helper has begun; its child has none, and does in its calls what that would */
	for (int i = 0; i < 16; i++) {
		char *held = malloc(10 << 20);
		CHECK(held != NULL);
		memset(held, 1, 10 << 20);
	}
	free(malloc(3 << 20));
	usleep(200000);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		free_twice(1000, MOST);
		_exit(0);
	}
	int status;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

int main(int argc, char **argv)
{
	static const char *const profiles[] = { "abort:0,log:/dev/null,decay_ms:10", "check:1,abort:0,log:/dev/null,decay_ms:10",
						"secure:1,abort:0,log:/dev/null,decay_ms:10" };

	return test_in_profiles(argc, argv, profiles, sizeof(profiles) / sizeof(profiles[0]), run);
}
