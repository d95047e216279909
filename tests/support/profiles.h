/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A test that runs itself anew in each of some profiles, with one seed. Programs of malloc/ may include it, too. */
#ifndef DRY_TESTS_PROFILES_H
#define DRY_TESTS_PROFILES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "random.h"

/* This program anew, with a DRYSTONE_CONF and one word or (second: not NULL) two: as it ended (waitpid()). */
static inline int test_again(const char *conf, const char *first, const char *second)
{
	int status = 0;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		setenv("DRYSTONE_CONF", conf, 1);
		execl("/proc/self/exe", "again", first, second, (char *)NULL);
		_exit(9);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

/* From main(), which returns what this does: run() in a process of its own under each DRYSTONE_CONF. */
static inline int test_in_profiles(int argc, char **argv, const char *const *profiles, size_t count, void (*run)(uint64_t seed))
{
	char number[24];

	if (argc > 2) {
		run(strtoull(argv[1], NULL, 10));
		return 0;
	}
	snprintf(number, sizeof(number), "%llu", (unsigned long long)test_seed(argc, argv));
	for (size_t i = 0; i < count; i++) {
		int status = test_again(profiles[i], number, "once");
		if (status != 0)
			fprintf(stderr, "%s: status %#x\n", profiles[i], (unsigned)status);
		CHECK_EQ(status, 0);
	}
	return 0;
}

#endif
