/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * secure:1: a child that is forked while other threads give blocks their sizes ends without a report: what these threads
 * were in the middle of stays so in the child, where nobody finishes it.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/profiles.h"

#define THREADS 3
#define FORKS   200

static atomic_bool stop;

static void *resize(void *arg)
{
	char *block = malloc(2000);

	(void)arg;
	while (!atomic_load(&stop)) {
		for (size_t size = 2000; size > 1800; size -= 60) {
			CHECK((block = realloc(block, size)) != NULL);
			memset(block, 1, size);
		}
		void *aligned = aligned_alloc(64, 1800); /* gets its size when it is its thread's already */
		OPAQUE(aligned);
		free(aligned);
	}
	free(block);
	return NULL;
}

static void run(uint64_t seed)
{
	pthread_t thread[THREADS];

	(void)seed;
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&thread[i], NULL, resize, NULL) == 0);
	for (int i = 0; i < FORKS; i++) {
		int status;
		pid_t child = fork();
		CHECK(child >= 0);
		if (child == 0)
			exit(0);
		CHECK(waitpid(child, &status, 0) == child);
		CHECK_EQ(status, 0);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
	static const char *const profiles[] = { "secure:1" };

	return test_in_profiles(argc, argv, profiles, 1, run);
}
