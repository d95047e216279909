/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * For test_apart.sh: a program of two threads that uses the library beside libc's malloc, and confines itself, which the library is
 * not told. What it freed goes back in its calls; there is no other thread, and nothing is called that its filter kills for.
 */
#include <drystone/drystone.h>
#include <pthread.h>
#include <time.h>

#include "../support/seccomp.h"
#include "../support/statm.h"
#include "../support/status.h"

enum { N = 60000, SIZE = 1000 };
static void *blocks[N];

static void *sit(void *arg)
{
	pause();
	return arg;
}

static void fill_and_empty(void)
{
	for (size_t i = 0; i < N; i++)
		CHECK((blocks[i] = dry_alloc(NULL, SIZE)) != NULL && memset(blocks[i], 1, SIZE));
	for (size_t i = 0; i < N; i++)
		dry_free(NULL, blocks[i]);
}

/* Some calls of all sizes, as a program makes that goes on. */
static void go_on(void)
{
	for (size_t i = 0; i < 3000; i++)
		blocks[i] = dry_alloc(NULL, 100 + i);
	for (size_t i = 0; i < 3000; i++)
		dry_free(NULL, blocks[i]);
}

int main(void)
{
	pthread_t thread;
	unsigned tries = 0;

	fill_and_empty();
	CHECK_EQ(pthread_create(&thread, NULL, sit, NULL), 0);
	fill_and_empty();
	CHECK_EQ(status_number("\nThreads:"), 2);
	seccomp_forbid(SYS_membarrier);
	seccomp_forbid(SYS_clone3);
	seccomp_forbid(SYS_clone);
	fill_and_empty();
	for (; test_resident() > N * (size_t)SIZE / 3 && tries < 100; tries++) {
		go_on();
		nanosleep(&(struct timespec){ .tv_nsec = 50 * 1000 * 1000 }, NULL);
	}
	CHECK(tries < 100);
	CHECK_EQ(status_number("\nThreads:"), 2);
	_exit(0);
}
