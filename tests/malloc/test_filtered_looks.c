/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A filter that comes for all threads while one of them looks at what the kernel tells waits for the end of that, for it is several
 * calls, and the filter kills for them: how much of a big block was filled (mincore), and whether the kernel promises no more
 * memory than it has (a file of /proc).
 * DRY_TEST_NO_POSIX: that port knows no filters.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/seccomp.h"

#define STATUS 7
#define BYTES  ((size_t)32 << 20)
#define LONG   20 /* ms */

static const int own[] = { LEAST, THREADS };
enum { NOTHING, DENSITY, SETTING };
static _Atomic int what;
static _Atomic int asked, done;

static long ms_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000;
}

/* The first of the library's calls take long. */
static void linger(void)
{
	struct timespec start;

	if (asked >= 5)
		return;
	asked++;
	clock_gettime(CLOCK_MONOTONIC, &start);
	while (ms_since(&start) < LONG)
		;
}

/* They come here. */
int mincore(void *addr, size_t size, unsigned char *there)
{
	if (what == DENSITY)
		linger();
	return (int)syscall(SYS_mincore, addr, size, there);
}

#if defined(__x86_64__) && !defined(__ILP32__)
#define HAS_SETTING 1

long syscall(long number, ...)
{
	long arg[6], result;
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(list, long);
	va_end(list);
	register long fourth __asm__("r10") = arg[3];
	register long fifth __asm__("r8") = arg[4];
	register long sixth __asm__("r9") = arg[5];

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(arg[0]), "S"(arg[1]), "d"(arg[2]), "r"(fourth), "r"(fifth), "r"(sixth)
			 : "rcx", "r11", "memory");
	if (what == SETTING && number == SYS_openat && strstr((const char *)arg[1], "overcommit_memory"))
		linger();
	if (result < 0 && result > -4096) {
		errno = (int)-result;
		result = -1;
	}
	return result;
}
#else
#define HAS_SETTING 0
#endif

static void *fill(void *arg)
{
	what = *(int *)arg;
	for (int i = 0; i < 8; i++) {
		char *block = malloc(BYTES + (size_t)i * 65536);

		CHECK(block);
		memset(block, 1, BYTES);
		free(block);
	}
	done = 1;
	return arg;
}

static void run(int look)
{
	pthread_t id;

	CHECK(!pthread_create(&id, NULL, fill, &look));
	while (asked == 0 && !done)
		;
	CHECK(asked != 0);
	seccomp_install(own, sizeof(own) / sizeof(own[0]), 1, 1);
	CHECK(!pthread_join(id, NULL));
	_exit(STATUS);
}

static void expect(int look)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0)
		run(look);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == STATUS);
}

int main(void)
{
	expect(DENSITY);
	if (HAS_SETTING)
		expect(SETTING);
	return 0;
}
