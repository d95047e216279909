/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Under RLIMIT_AS and RLIMIT_DATA a big block grows in small steps until it can no more, and is kept: what a thread, a library and
 * small blocks need is left.
 * DRY_TEST_NO_POSIX: it reserves all at once. DRY_TEST_NO_NORSEQ: limits are no matter of slots.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/plugin.h"
#include "../support/statm.h"

#define STEP ((size_t)16 << 10)
#define ROOM ((size_t)300 << 20)

static char library_name[64] = "libresolv.so.2";

static void *allocate(void *arg)
{
	void *block = malloc(5000);

	CHECK(block != NULL);
	free(block);
	return arg;
}

static void run(int resource)
{
	static void *small[1000];
	struct rlimit limit = { test_statm(0) + ROOM, RLIM_INFINITY };
	size_t size = (size_t)8 << 20;
	char *block, *more;
	pthread_attr_t attr;
	pthread_t id;

	CHECK(setrlimit(resource, &limit) == 0);
	CHECK(block = malloc(size));
	while ((more = realloc(block, size + STEP)) != NULL) {
		block = more;
		size += STEP;
		block[size - 1] = 1;
	}
	printf("%zu MiB of 300\n", size >> 20);
	fflush(stdout);
	CHECK(size > ROOM / 10 * 7);
	CHECK(pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, (size_t)256 << 10) == 0);
	CHECK(pthread_create(&id, &attr, allocate, NULL) == 0);
	CHECK(pthread_join(id, NULL) == 0);
	for (size_t i = 0; i < 1000; i++)
		CHECK(small[i] = malloc(1000));
	CHECK(dlopen(library_name, RTLD_NOW) != NULL);
	CHECK(block[size - 1] == 1);
}

int main(void)
{
	static const int limits[] = { RLIMIT_AS, RLIMIT_DATA };

#ifndef __GLIBC__ /* musl is one library */
	plugin_build(library_name, sizeof(library_name), "plugin", "int answer(void) { return 42; }\n", "");
#endif
	for (size_t i = 0; i < 2; i++) {
		int status;
		pid_t child = fork();

		CHECK(child >= 0);
		if (child == 0) {
			run(limits[i]);
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child);
		CHECK_EQ(status, 0);
	}
#ifndef __GLIBC__
	CHECK(!unlink(library_name) && !rmdir(plugin_directory));
#endif
	return 0;
}
