// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What may come while the library writes files. written within: exit() in a handler that interrupts allocations. written two FILE:
 * threads that write one profile. written long: a path too long. written rate: 100,000 allocations of 16 bytes. written late: a
 * line in a buffer of libc's.
 */
#define _GNU_SOURCE 1
#include <drystone/drystone.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#pragma weak dry_profile_write

static void leave(int signal)
{
	(void)signal;
	exit(0);
}

static int within(void)
{
	struct itimerval soon = { .it_value = { .tv_usec = 2000 } };
	void *volatile block;

	signal(SIGALRM, leave);
	setitimer(ITIMER_REAL, &soon, NULL);
	for (;;) {
		block = malloc(300000); /* each time under a lock */
		free(block);
	}
}

static const char *common;
static int refused;

static void *write_it(void *unused)
{
	for (int i = 0; i < 200; i++)
		if (dry_profile_write(common) != 0)
			__atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
	return unused;
}

static int two(const char *path)
{
	pthread_t thread;

	common = path;
	for (int i = 0; i < 20000; i++)
		if (malloc(100) == NULL)
			return 2;
	pthread_create(&thread, NULL, write_it, NULL);
	write_it(NULL);
	pthread_join(thread, NULL);
	if (refused != 0)
		printf("%d of 400 refused\n", refused);
	return refused != 0;
}

static int long_path(void)
{
	static char path[600];

	memset(path, 'x', sizeof(path) - 1);
	memcpy(path, "/tmp/", 5);
	return dry_profile_write(path) == 0;
}

static int rate(void)
{
	void *volatile block;

	for (int i = 0; i < 100000; i++) {
		block = malloc(16);
		free(block);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "within") == 0)
		return within();
	if (strcmp(argv[1], "two") == 0)
		return two(argv[2]);
	if (strcmp(argv[1], "long") == 0)
		return long_path();
	if (strcmp(argv[1], "late") == 0)
		return printf("late\n") != 5; /* which libc writes when all else is done */
	if (strcmp(argv[1], "rate") == 0)
		return rate();
	return 2;
}
